#!/usr/bin/env python3
"""Clients that import one large Python package at once, with real mounts of this machine.

A mount writes the package and ends. Then each of some fresh mounts has a program of its own, and all import the package
at once. How often do the servers send it, and how many requests do they serve? With and without cooperative caching.
Needs root.

    experiments/cooperative/imports.py --packages DIR --module NAME [--clients N ...] [--servers N] [--rounds N]

--packages: a directory of packages, such as /usr/lib/python3/dist-packages.     --module: what is imported.
$FUTAGO may name another program than target/release/futago.
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from mounts import Cluster

COUNTERS = {"requests": "requests_total", "sent MB": "sent_bytes"}


def import_at_once(mounts, module):
    """Returns the time until all have imported a module, in seconds."""
    begun = time.monotonic()
    environments = [os.environ | {"PYTHONPATH": str(at / "packages")} for at in mounts]
    command = [sys.executable, "-B", "-c", f"import {module}"]
    programs = [subprocess.Popen(command, env=environment) for environment in environments]
    if any([program.wait() for program in programs]):
        sys.exit("a program could not import the module")
    return time.monotonic() - begun


def measure(place, packages, module, servers, clients, shares):
    with Cluster(place, "--servers", str(servers), "--cooperative", shares) as cluster:
        writer = cluster.mount()
        shutil.copytree(packages, writer / "packages", symlinks=True)
        cluster.unmount(writer)
        mounts = [cluster.mount() for _ in range(clients)]
        before = {name: cluster.counted(counter) for name, counter in COUNTERS.items()}
        seconds = import_at_once(mounts, module)
        counted = {name: cluster.counted(counter) - before[name] for name, counter in COUNTERS.items()}
    counted["sent MB"] = round(counted["sent MB"] / 1e6, 1)
    return {"seconds": round(seconds, 2)} | counted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--module", required=True)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--servers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=1)
    wanted = parser.parse_args()
    for number, clients, shares in itertools.product(range(wanted.rounds), wanted.clients, ("off", "on")):
        with tempfile.TemporaryDirectory() as name:
            row = measure(pathlib.Path(name), wanted.packages, wanted.module, wanted.servers, clients, shares)
        print(json.dumps({"round": number, "clients": clients, "cooperative": shares} | row), flush=True)


if __name__ == "__main__":
    main()
