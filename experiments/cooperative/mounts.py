"""A cluster and mounts of it on this machine, for the studies that measure real ones."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FUTAGO = os.environ.get("FUTAGO", str(ROOT / "target/release/futago"))


def run(*words):
    return subprocess.run([FUTAGO, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


class Cluster:
    """A cluster in a directory, with settings of `futago up`."""

    def __init__(self, place, *settings):
        self.place = place
        self.file = str(place / "cluster.toml")
        self.settings = settings
        self.mounts = []

    def __enter__(self):
        run("up", "--cluster", self.file, *self.settings)
        return self

    def mount(self):
        """A further client. Returns where its mount is."""
        at = self.place / f"mount-{len(self.mounts)}"
        at.mkdir()
        run("mount", str(at), "--cluster", self.file)
        self.mounts.append(at)
        return at

    def unmount(self, at):
        subprocess.run(["umount", str(at)], check=True)

    def status(self, *options):
        return json.loads(run("status", "--cluster", self.file, "--json", *options))

    def counted(self, counter):
        """The sum of a counter of the servers."""
        return sum(server["counters"][counter] for server in self.status()["servers"])

    def __exit__(self, *_):
        for at in filter(pathlib.Path.is_mount, self.mounts):
            self.unmount(at)
        run("down", "--cluster", self.file)
