"""A file that grows through one mount while `tail -f` follows it through the other."""

import multiprocessing
import os
import pathlib
import random
import tempfile

from content import draw_size, expect
from programs import finish, start


def run(here, there, cycles, draw):
    (here / "growing").touch()
    seed = draw.random()
    writer = multiprocessing.Process(target=write, args=[here / "growing", cycles, seed])
    writer.start()
    with tempfile.NamedTemporaryFile(prefix="cycles.") as followed:
        follow = ["tail", "-c", "+1", "-f", "-s", "0.02", f"--pid={writer.pid}", there / "growing"]
        follower = start(*follow, stdout=followed)
        # As a process that nobody waited for it would not be gone.
        writer.join()
        finish(follower)
        assert writer.exitcode == 0, "the writer failed"
        expect(pathlib.Path(followed.name), b"".join(pieces(cycles, seed)))


def pieces(cycles, seed):
    draw = random.Random(seed)
    return [draw.randbytes(draw_size(draw, 200_000)) for _ in range(cycles * 5)]


def write(path, cycles, seed):
    """Appends some pieces to the open file and opens it anew for others."""
    descriptor = None
    for number, piece in enumerate(pieces(cycles, seed)):
        if number % 7 == 0:
            if descriptor is not None:
                os.close(descriptor)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        assert os.write(descriptor, piece) == len(piece)
