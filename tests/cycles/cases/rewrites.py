"""Files that are emptied, written anew and closed through one mount, and read through the other."""

from content import draw_size, expect

FILES = 4
LIMIT = 6 << 20


def run(here, there, cycles, draw):
    for _ in range(cycles):
        for file in range(FILES):
            content = draw.randbytes(draw_size(draw, LIMIT))
            writes, reads = draw.sample([here, there], 2)
            (writes / str(file)).write_bytes(content)
            expect(reads / str(file), content)
