"""A long file that stays open in both mounts, written and read in places, cut and lengthened."""

import os

from content import draw_size, expect, expect_bytes

LENGTH = 24 << 20
BLOCK = 1 << 20


def run(here, there, cycles, draw):
    content = bytearray()
    flags = os.O_RDWR | os.O_CREAT
    descriptors = [os.open(mount / "long", flags) for mount in (here, there)]
    for _ in range(cycles):
        for _ in range(8):
            write(draw.choice(descriptors), content, draw)
            read(draw.choice(descriptors), content, draw)
        if draw.random() < 0.3:
            resize(draw.choice(descriptors), content, draw)
    for descriptor in descriptors:
        os.close(descriptor)
    expect(here / "long", content)
    expect(there / "long", content)


def write(descriptor, content, draw):
    offset = draw.randrange(LENGTH)
    block = draw.randbytes(draw_size(draw, BLOCK))
    assert os.pwrite(descriptor, block, offset) == len(block)
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(block)] = block


def read(descriptor, content, draw):
    offset = draw.randrange(LENGTH)
    length = draw_size(draw, BLOCK)
    found = os.pread(descriptor, length, offset)
    expect_bytes(found, content[offset : offset + length], f"long at {offset}")


def resize(descriptor, content, draw):
    size = draw.randrange(LENGTH)
    os.ftruncate(descriptor, size)
    content.extend(bytes(max(0, size - len(content))))
    del content[size:]
