"""Files that are mapped, stored into and cut below the mapping, and a database that is mapped."""

import contextlib
import mmap
import sqlite3

from content import expect

PAGES = 64
PAGE = mmap.PAGESIZE


def run(here, there, cycles, draw):
    content = bytearray()
    for _ in range(cycles):
        maps, reads = draw.sample([here, there], 2)
        store(maps / "mapped", content, draw)
        expect(reads / "mapped", content)
    fill_database(here / "mapped.db", cycles, draw)
    look_at_database(there / "mapped.db", cycles)


def store(path, content, draw):
    """Stores into some pages, cuts the file while they are dirty, and lengthens it again."""
    with open(path, "a+b") as file:
        file.truncate(PAGES * PAGE)
        content.extend(bytes(PAGES * PAGE - len(content)))
        with mmap.mmap(file.fileno(), PAGES * PAGE) as mapping:
            for _ in range(8):
                begin = draw.randrange(PAGES * PAGE - 1)
                bytes_ = draw.randbytes(min(draw.randint(1, 3 * PAGE), len(content) - begin))
                mapping[begin : begin + len(bytes_)] = bytes_
                content[begin : begin + len(bytes_)] = bytes_
            if draw.random() < 0.5:
                size = draw.randrange(PAGES * PAGE)
                file.truncate(size)
                del content[size:]
            elif draw.random() < 0.5:
                mapping.flush()


@contextlib.contextmanager
def opened(path):
    """The database, mapped."""
    database = sqlite3.connect(path, timeout=60)
    database.execute("PRAGMA mmap_size = 268435456")
    with contextlib.closing(database):
        yield database


def fill_database(path, cycles, draw):
    for cycle in range(cycles):
        with opened(path) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS rows (cycle, number, content)")
            rows = [(cycle, number, draw.randbytes(300)) for number in range(50)]
            database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
            database.execute("UPDATE rows SET content = zeroblob(500) WHERE number % 7 = ?", [cycle % 7])
        if cycle % 20 == 19:
            with opened(path) as database:
                database.execute("VACUUM")


def look_at_database(path, cycles):
    with opened(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM rows").fetchone() == (cycles * 50,)
