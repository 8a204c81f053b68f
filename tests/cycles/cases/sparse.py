"""A file with holes, written, punched and cut in places beside a local copy, and copied with its holes."""

import ctypes
import os
import tempfile

from content import Different, draw_size
from programs import run as run_program

LENGTH = 16 << 20
# What a local file system may need to tell where the data is.
METADATA = 64 << 10
KEEP_SIZE_AND_PUNCH_HOLE = 3
LIBC = ctypes.CDLL(None, use_errno=True)


def run(here, there, cycles, draw):
    with tempfile.NamedTemporaryFile(prefix="cycles.") as local:
        for cycle in range(cycles):
            for _ in range(8):
                change([draw.choice([here, there]) / "sparse", local.name], draw)
            if cycle % 8 == 0:
                compare(here, there, local.name)
        compare(here, there, local.name)


def change(paths, draw):
    """Makes one drawn change to the file and to its local copy."""
    offset, length = draw.randrange(LENGTH), draw_size(draw, 4 << 20)
    kind = draw.choice(["write", "write", "punch", "punch", "resize"])
    block = draw.randbytes(min(length, 1 << 18))
    for path in paths:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if kind == "write":
            assert os.pwrite(descriptor, block, offset) == len(block)
        elif kind == "punch":
            punch_hole(descriptor, offset, length)
        else:
            os.ftruncate(descriptor, offset)
        os.close(descriptor)


def punch_hole(descriptor, offset, length):
    if LIBC.fallocate(
        descriptor, KEEP_SIZE_AND_PUNCH_HOLE, ctypes.c_int64(offset), ctypes.c_int64(length)
    ):
        raise OSError(ctypes.get_errno(), "fallocate")


def compare(here, there, local):
    """Through both mounts, and a copy that `cp` made of what it was told is data."""
    run_program("cmp", here / "sparse", local)
    run_program("cmp", there / "sparse", local)
    run_program("cp", "--sparse=always", here / "sparse", there / "copy")
    run_program("cmp", here / "copy", local)
    data, allocated = data_bytes(here / "sparse"), (there / "sparse").stat().st_blocks * 512
    if not data <= allocated <= data + METADATA:
        raise Different(f"sparse: {allocated} bytes are allocated, {data} are data")


def data_bytes(path):
    """How many bytes lie in what SEEK_DATA and SEEK_HOLE call data, in whole blocks of 512."""
    total, end = 0, 0
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        while end < length:
            try:
                begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            total += end - begin
    return -(-total // 512) * 512
