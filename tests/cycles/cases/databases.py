"""An SQLite database with each kind of rollback journal, written through both mounts at once."""

import contextlib
import multiprocessing
import sqlite3

ROWS = 20


def run(here, there, cycles, _draw):
    for journal in ("delete", "truncate", "persist"):
        name = f"{journal}.db"
        prepare(here / name, journal)
        with multiprocessing.Pool(2) as pool:
            writers = [
                pool.apply_async(write, [str(mount / name), writer, journal, cycles])
                for writer, mount in enumerate((here, there))
            ]
            for writer in writers:
                writer.get()
        look_at(there / name, cycles)


def connect(path):
    """Waits for the other writer as long as it takes."""
    return contextlib.closing(sqlite3.connect(path, timeout=600, isolation_level=None))


def prepare(path, journal):
    with connect(path) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("CREATE TABLE entries (writer, cycle, number, content)")
        database.execute("CREATE TABLE counter (value)")
        database.execute("INSERT INTO counter VALUES (0)")


def write(path, writer, journal, cycles):
    """A transaction a cycle; both writers raise the same counter."""
    for cycle in range(cycles):
        with connect(path) as database:
            database.execute(f"PRAGMA journal_mode = {journal}")
            database.execute("BEGIN IMMEDIATE")
            rows = [(writer, cycle, number, number % 9) for number in range(ROWS)]
            database.executemany("INSERT INTO entries VALUES (?, ?, ?, zeroblob(100 * ?))", rows)
            database.execute("UPDATE counter SET value = value + 1")
            database.execute("COMMIT")


def look_at(path, cycles):
    with connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT value FROM counter").fetchone() == (2 * cycles,)
        found = database.execute("SELECT count(*) FROM entries").fetchone()
        assert found == (2 * cycles * ROWS,), f"{found} rows"
