#!/usr/bin/env python3
"""A mosaic of Montage with real mounts of this machine: 6 mounts of one cluster, whose programs share the tasks.

The workflow of Debian's package `montage`: project each image, subtract each pair that overlaps and fit a plane to the
difference, model the backgrounds, correct each image, add all. The tasks of a step go to the mounts by turns, so most
of them read what a program at another mount has written. The images are made here: a field of stars, with noise and
a background of its own in each. With 1 and 7 servers, with and without cooperative caching. Needs root.

    experiments/cooperative/montage.py [--across N] [--pixels N] [--rounds N] [--servers N ...] [--data DIR]

--across: images in a row and in a column.     --pixels: of a row of an image.     --data: servers on disk, there.
$FUTAGO may name another program than target/release/futago.
"""

import argparse
import array
import concurrent.futures
import itertools
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from mounts import Cluster

CLIENTS = 6
# Degrees a pixel, as 2MASS has it; neighbours share a fifth of their pixels.
SCALE = 1 / 3600
OVERLAP = 0.2
CENTRE = (210.0, 20.0)
STARS = 40
BLOCK = 2880
FITTED = (
    "plus minus a b c crpix1 crpix2 xmin xmax ymin ymax xcenter ycenter npixel rms boxx boxy boxwidth boxheight boxang"
).split()


def card(key, value):
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return f"{key:8}= {text:>20}".ljust(80)


def header(pixels, across, column, row):
    """The header of the image in a column and a row of the field."""
    step = pixels * (1 - OVERLAP) * SCALE
    middle = (across - 1) / 2
    right = CENTRE[0] + (column - middle) * step / math.cos(math.radians(CENTRE[1]))
    cards = [
        ("BITPIX", -32), ("NAXIS", 2), ("NAXIS1", pixels), ("NAXIS2", pixels),
        ("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN"), ("EQUINOX", 2000.0),
        ("CRVAL1", round(right, 9)), ("CRVAL2", round(CENTRE[1] + (row - middle) * step, 9)),
        ("CRPIX1", (pixels + 1) / 2), ("CRPIX2", (pixels + 1) / 2),
        ("CDELT1", -SCALE), ("CDELT2", SCALE), ("CROTA2", (column - row) * 1.5),
    ]
    text = f"{'SIMPLE':8}= {'T':>20}".ljust(80) + "".join(card(*it) for it in cards) + "END".ljust(80)
    return text.ljust(-(-len(text) // BLOCK) * BLOCK).encode()


def image(pixels, draw):
    """Noise on a tilted background, and some stars."""
    level, slope_x, slope_y = (draw.uniform(50, 150), draw.uniform(-9, 9), draw.uniform(-9, 9))
    noise = [draw.gauss(0, 1) for _ in range(4099)]
    data = array.array("f", bytes(4 * pixels * pixels))
    for y in range(pixels):
        line = level + slope_y * y / pixels
        for x in range(pixels):
            data[y * pixels + x] = line + slope_x * x / pixels + noise[(y * 31 + x * 7) % 4099]
    for _ in range(STARS):
        x, y, flux = draw.randrange(5, pixels - 5), draw.randrange(5, pixels - 5), draw.uniform(50, 5000)
        for by_y, by_x in itertools.product(range(-4, 5), repeat=2):
            data[(y + by_y) * pixels + x + by_x] += flux * math.exp(-(by_x**2 + by_y**2) / 4)
    if sys.byteorder == "little":
        data.byteswap()
    return data.tobytes()


def make_images(directory, across, pixels):
    draw = random.Random(1)
    for column, row in itertools.product(range(across), repeat=2):
        data = header(pixels, across, column, row) + image(pixels, draw)
        (directory / f"image-{column}-{row}.fits").write_bytes(data.ljust(-(-len(data) // BLOCK) * BLOCK, b"\0"))


def tool(at, command):
    """What a program of Montage answers that works in a directory. It says in its answer whether it has failed.
    Names are relative, because tables have them as they were given, and each mount has a path of its own."""
    done = subprocess.run(command.split(), cwd=at, stdout=subprocess.PIPE, text=True, check=False)
    if 'stat="OK"' not in done.stdout:
        sys.exit(f"{at}: {command}: {done.stdout.strip()}")
    return dict(re.findall(r"(\w+)=([^,\]]+)", done.stdout))


def rows(table):
    lines = [line for line in table.read_text().splitlines() if line[:1] not in "|\\"]
    return [line.split() for line in lines]


class Mosaic:
    """The workflow in one directory, which each of some mounts shows."""

    def __init__(self, places, images):
        self.places = places
        self.first = places[0]
        for name in ("projected", "differences", "corrected"):
            (self.first / name).mkdir()
        shutil.copytree(images, self.first / "raw")

    def spread(self, task, subjects):
        """Runs a task for each subject, one at a time at each mount."""
        def work(at):
            return [task(self.places[at], subject) for subject in subjects[at :: len(self.places)]]

        with concurrent.futures.ThreadPoolExecutor(len(self.places)) as workers:
            done = list(workers.map(work, range(len(self.places))))
        return [result for row in itertools.zip_longest(*done) for result in row if result is not None]

    def list_images(self, directory):
        """Has the images in the order of their names. Sums of numbers depend on it, and directories have one of their own."""
        tool(self.first, f"mImgtbl -t names.tbl {directory} {directory}.tbl")

    def project(self):
        names = sorted(path.name for path in (self.first / "raw").iterdir())
        (self.first / "names.tbl").write_text(f"|{'fname':20}|\n" + "".join(f" {name:20} \n" for name in names))
        self.list_images("raw")
        tool(self.first, "mMakeHdr raw.tbl region.hdr")
        self.spread(lambda at, name: tool(at, f"mProjectPP raw/{name} projected/{name} region.hdr"), names)
        self.list_images("projected")

    def fit(self, at, pair):
        plus, minus, first, second, name = pair
        tool(at, f"mDiff projected/{first} projected/{second} differences/{name} region.hdr")
        return tool(at, f"mFitplane differences/{name}") | {"plus": plus, "minus": minus}

    def fit_all(self):
        tool(self.first, "mOverlaps projected.tbl differences.tbl")
        fitted = self.spread(self.fit, rows(self.first / "differences.tbl"))
        lines = ["|" + "|".join(f"{name:>16}" for name in FITTED) + "|"]
        lines += [" " + " ".join(f"{fit[name]:>16}" for name in FITTED) for fit in fitted]
        (self.first / "fits.tbl").write_text("\n".join(lines) + "\n")

    def correct(self):
        tool(self.first, "mBgModel projected.tbl fits.tbl corrections.tbl")
        planes = {number: " ".join(plane) for number, *plane in rows(self.first / "corrections.tbl")}
        names = {number: name for number, *_, name in rows(self.first / "projected.tbl")}

        def subtract(at, number):
            name, plane = names[number], planes.get(number, "0 0 0")
            return tool(at, f"mBackground projected/{name} corrected/{name} {plane}")

        self.spread(subtract, list(names))
        self.list_images("corrected")

    def add(self):
        tool(self.first, "mAdd -p corrected corrected.tbl region.hdr mosaic.fits")

    def run(self):
        """Makes the mosaic of the raw images. Returns its pixels, and how long each step took, in seconds."""
        steps, begun = {}, time.monotonic()

        def ends(step):
            nonlocal begun
            steps[step], begun = round(time.monotonic() - begun, 2), time.monotonic()

        self.project()
        ends("project")
        self.fit_all()
        ends("fit")
        self.correct()
        ends("correct")
        self.add()
        ends("add")
        return (self.first / "mosaic.fits").read_bytes(), steps


def sources(cluster):
    """For each client that shares its cache, which part of what it had not cached itself came from another one."""
    rates = []
    for client in cluster.status("--clients")["clients"]:
        peers, servers = client["bytes_from_peers"], client["bytes_from_servers"]
        rates.append(round(peers / max(peers + servers, 1), 3))
    return rates


def measure(place, images, servers, shares, on_disk):
    settings = ["--servers", str(servers), "--cooperative", shares]
    settings += ["--data", str(place / "data")] if on_disk else []
    with Cluster(place, *settings) as cluster:
        mosaic = Mosaic([cluster.mount() for _ in range(CLIENTS)], images)
        made, steps = mosaic.run()
        rates = sources(cluster) if shares == "on" else []
    return made, {"seconds": round(sum(steps.values()), 2)} | steps | {"from other clients": rates}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--across", type=int, default=5)
    parser.add_argument("--pixels", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 7])
    parser.add_argument("--data", default=None)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=wanted.data) as name:
        images, local = pathlib.Path(name) / "images", pathlib.Path(name) / "local"
        images.mkdir()
        make_images(images, wanted.across, wanted.pixels)
        local.mkdir()
        expected, steps = Mosaic([local] * CLIENTS, images).run()
        print(json.dumps({"local": True, "seconds": round(sum(steps.values()), 2)} | steps), flush=True)
        for number, servers, shares in itertools.product(range(wanted.rounds), wanted.servers, ("off", "on")):
            place = pathlib.Path(name) / f"cluster-{number}-{servers}-{shares}"
            place.mkdir()
            made, row = measure(place, images, servers, shares, wanted.data is not None)
            if made != expected:
                sys.exit(f"{servers} servers, cooperative={shares}: the mosaic differs from the one of a local directory")
            print(json.dumps({"round": number, "servers": servers, "cooperative": shares} | row), flush=True)


if __name__ == "__main__":
    main()
