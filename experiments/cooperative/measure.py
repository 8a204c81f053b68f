#!/usr/bin/env python3
"""IOR with real mounts of this machine: 6 clients write a file each, and read the one of their neighbour.

Like `ior -t 1MiB -F -C -e` with 6 mounts of one cluster and 1 server with its data on disk, with and without
cooperative caching. `--memory` limits the server's cache, and a control group (cgroup v1) the pages that the system
caches for it and how fast it reads the disk. So the data of one row fits there and that of the next one does not.
Needs root.

    experiments/cooperative/measure.py [--sizes MIB ...] [--rounds N] [--memory MIB] [--cache MIB] [--rate MB/S] [--data DIR]

--sizes: what each client writes.          --memory: of the server.          --cache: of each client that shares it.
--rate: what the disk reads at most.       --data: where the server has its data.
$FUTAGO may name another program than target/release/futago.
"""

import argparse
import json
import mmap
import os
import pathlib
import sys
import tempfile
import time

from mounts import Cluster

CGROUPS = pathlib.Path("/sys/fs/cgroup")
GROUP = "futago-ior"
# What a server needs besides its cache, with what the system has cached of its disk.
BESIDES_MIB = 160
CLIENTS = 6
PIECE = 1 << 20


class Limits:
    """The control groups of the server."""

    def __init__(self, memory_mib, rate, data):
        device = os.stat(data).st_dev
        disk = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
        if (disk / "partition").exists():
            disk = disk.resolve().parent
        number = (disk / "dev").read_text().strip()
        self.settings = {
            "memory": ("memory.limit_in_bytes", str((memory_mib + BESIDES_MIB) << 20)),
            "blkio": ("blkio.throttle.read_bps_device", f"{number} {rate * 1_000_000}"),
        }

    def __enter__(self):
        for controller, (key, value) in self.settings.items():
            group = CGROUPS / controller / GROUP
            group.mkdir(exist_ok=True)
            (group / key).write_text(value)
        return self

    def take_server(self, cluster):
        process = cluster.status()["servers"][0]["counters"]["process_id"]
        for controller in self.settings:
            (CGROUPS / controller / GROUP / "cgroup.procs").write_text(str(process))

    def __exit__(self, *_):
        for controller in self.settings:
            (CGROUPS / controller / GROUP).rmdir()


def contents(client, piece):
    pattern = f"{client} {piece} ".encode()
    return (pattern * (PIECE // len(pattern) + 1))[:PIECE]


def write(path, client, pieces):
    # At a page, as IOR has it. A kernel divides what lies across one page more.
    buffer = mmap.mmap(-1, PIECE)
    with open(path, "wb", buffering=0) as file:
        for piece in range(pieces):
            buffer[:] = contents(client, piece)
            file.write(buffer)
        os.fsync(file.fileno())


def read(path, client, pieces):
    with open(path, "rb", buffering=0) as file:
        for piece in range(pieces):
            if file.read(PIECE) != contents(client, piece):
                raise ValueError(f"wrong data in piece {piece}")


def perform(work, path, owner, pieces):
    """Ends this process."""
    try:
        work(path, owner, pieces)
    except Exception as problem:
        print(f"{path}: {problem}", file=sys.stderr)
        os._exit(1)
    os._exit(0)


def in_parallel(work, mounts, shift, pieces):
    """Runs one process for each client. Returns the time until all are done."""
    begun = time.monotonic()
    children = []
    for number, mount in enumerate(mounts):
        owner = (number + shift) % CLIENTS
        child = os.fork()
        if child == 0:
            perform(work, mount / f"client-{owner}", owner, pieces)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    if failed:
        sys.exit("a client has failed")
    return time.monotonic() - begun


def measure(place, memory_mib, shares, limits, pieces):
    settings = ["--servers", "1", "--data", str(place / "data"), "--memory", f"{memory_mib}MiB"]
    with Cluster(place, *settings, "--cooperative", shares) as cluster:
        limits.take_server(cluster)
        mounts = [cluster.mount() for _ in range(CLIENTS)]
        written_s = in_parallel(write, mounts, 0, pieces)
        before = cluster.counted("sent_bytes")
        read_s = in_parallel(read, mounts, 1, pieces)
        sent = (cluster.counted("sent_bytes") - before) / (CLIENTS * pieces * PIECE)
    megabytes = CLIENTS * pieces * PIECE / 1e6
    return {"written": round(megabytes / written_s, 1), "read": round(megabytes / read_s, 1), "from server": round(sent, 3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 128, 384])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--memory", type=int, default=384)
    parser.add_argument("--cache", type=int, default=256)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--data", default=None)
    wanted = parser.parse_args()
    for number in range(wanted.rounds):
        for pieces in wanted.sizes:
            for shares in ["off", f"size={wanted.cache}MiB"]:
                with tempfile.TemporaryDirectory(dir=wanted.data) as name:
                    place = pathlib.Path(name)
                    with Limits(wanted.memory, wanted.rate, place) as limits:
                        row = measure(place, wanted.memory, shares, limits, pieces)
                print(json.dumps({"round": number, "MiB each": pieces, "cooperative": shares} | row), flush=True)


if __name__ == "__main__":
    main()
