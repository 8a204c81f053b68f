"""Files that are opened, appended to and closed again and again, and cut now and then."""

import os

from content import draw_size, expect

PIECES = [1, 100, 4_000, 70_000, 300_000]
# Beyond it a file is cut, so that many cycles stay readable in time.
LIMIT = 8 << 20
APPENDS_A_CYCLE = 10


def run(here, there, cycles, draw):
    expected = {piece: bytearray() for piece in PIECES}
    for append_number in range(cycles * APPENDS_A_CYCLE):
        for piece, content in expected.items():
            append(draw.choice([here, there]) / str(piece), content, draw.randbytes(piece))
            if len(content) > LIMIT or draw.random() < 0.02:
                cut(draw.choice([here, there]) / str(piece), content, draw)
        if append_number % 16 == 0:
            compare(here, there, expected)
    compare(here, there, expected)


def append(path, content, added):
    """Appends, as `cat piece >> file` does, but looks at the position, too."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    assert os.write(descriptor, added) == len(added)
    content += added
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == len(content), path
    os.close(descriptor)


def cut(path, content, draw):
    """Cuts the file, often to nothing, as rotation by copying does."""
    size = draw.choice([0, min(len(content), draw_size(draw, LIMIT))])
    os.truncate(path, size)
    del content[size:]


def compare(here, there, expected):
    for piece, content in expected.items():
        expect(here / str(piece), content)
        expect(there / str(piece), content)
