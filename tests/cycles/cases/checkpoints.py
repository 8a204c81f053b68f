"""Checkpoints that are saved under another name and renamed, while other processes read them by name."""

import hashlib
import multiprocessing
import os

from content import Different, draw_size

LIMIT = 3 << 20
HEADER = 8 + 32


def run(here, there, cycles, draw):
    save(here, 0, draw)
    done = multiprocessing.Event()
    with multiprocessing.Pool(2, initializer=remember, initargs=[done]) as pool:
        readers = [pool.apply_async(read_until_done, [str(mount)]) for mount in (here, there)]
        for number in range(1, cycles * 5):
            save(draw.choice([here, there]), number, draw)
        done.set()
        for reader in readers:
            assert reader.get() > 0, "nothing was read"


def save(directory, number, draw):
    payload = draw.randbytes(draw_size(draw, LIMIT))
    digest = hashlib.sha256(payload).digest()
    with open(directory / "saving", "wb") as file:
        file.write(number.to_bytes(8, "big") + digest + payload)
        file.flush()
        os.fsync(file.fileno())
    os.rename(directory / "saving", directory / "checkpoint")


def remember(done):
    """Events reach the processes of a pool as globals alone."""
    global DONE
    DONE = done


def read_until_done(directory):
    """Every checkpoint is whole, and none is older than the one before; returns how many were read."""
    read, last = 0, 0
    while not DONE.is_set():
        with open(f"{directory}/checkpoint", "rb") as file:
            found = file.read()
        number = int.from_bytes(found[:8], "big")
        if hashlib.sha256(found[HEADER:]).digest() != found[8:HEADER]:
            raise Different(f"checkpoint {number}, {len(found)} bytes, is not whole")
        if number < last:
            raise Different(f"checkpoint {number} was read after {last}")
        read, last = read + 1, number
    return read
