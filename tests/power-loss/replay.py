"""Makes disks as a loss of power may leave them, from a log of all writes to a disk (dm-log-writes).

    replay.py LOG DISK COUNT SEED FIRST END OUTPUT

DISK is the disk from before the log began, and goes on with it. Of COUNT moments, OUTPUT gets the disks of
those from FIRST to END, named by numbers, and beside each a file of the marks that the log has before it.
The log has writes in the order in which they were flushed. All before the last flush is there; of the later
ones that were not forced (FUA), any part is, and the last of these may be torn. With $LIES, the disk forgets
that many flushes, and what was forced since.
"""

import os, random, struct, subprocess, sys
from typing import NamedTuple

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
SECTOR = 512
LIES = int(os.environ.get("LIES") or 0)


class Entry(NamedTuple):
    offset: int
    length: int
    flags: int
    mark: str
    data: int  # Where the log has it.


def read_log(log):
    magic, version, count, sector = struct.unpack("<QQQI", log.read(28))
    assert (magic, version) == (MAGIC, 1), "no log of writes"
    position = sector
    for _ in range(count):
        log.seek(position)
        head = log.read(sector)
        offset, length, flags, mark = struct.unpack("<QQQQ", head[:32])
        yield Entry(offset * sector, length * sector, flags, head[32 : 32 + mark].decode(), position + sector)
        position += sector if flags & (DISCARD | MARK) else sector + length * sector


def apply(entry, log, disk, length):
    """Writes the first bytes of an entry."""
    log.seek(entry.data)
    data = bytes(length) if entry.flags & DISCARD else log.read(length)
    os.pwrite(disk.fileno(), data, entry.offset)


def lose(entries, draw):
    """The writes that reached the disk, as pairs of an entry and a length."""
    forced = 0 if LIES else FUA
    left = [(entry, entry.length) for entry in entries if entry.flags & forced or draw.random() < 0.5]
    if left and not left[-1][0].flags & forced:
        entry, length = left.pop()
        left.append((entry, draw.randrange(length // SECTOR + 1) * SECTOR))
    return left


def last_flush(entries, end):
    flushes = [i for i in range(end) if entries[i].flags & FLUSH]
    return flushes[-1 - LIES] if len(flushes) > LIES else 0


def choose(entries, count, draw):
    """A third of the moments are marks, when most must be there, a third are before flushes, when most may
    be lost, and a third are any."""
    start = next(i for i, entry in enumerate(entries) if entry.mark == "ready") + 1
    later = range(start, len(entries))
    marks = [i + 1 for i in later if entries[i].mark]
    flushes = [i for i in later if entries[i].flags & FLUSH]
    moments = draw.sample(marks, count // 3) + draw.sample(flushes, count // 3)
    return sorted(moments + draw.sample(later, count - len(moments)))


def tell(entries):
    marks = sum(1 for entry in entries if entry.mark)
    flushes = sum(1 for entry in entries if entry.flags & FLUSH)
    print(f"the log has {len(entries)} entries, {marks} marks, {flushes} flushes")


def main():
    path, disk_path, count, seed, first, end, output = sys.argv[1:]
    with open(path, "rb") as log, open(disk_path, "r+b") as disk:
        entries = list(read_log(log))
        if first == "0":
            tell(entries)
        done = 0
        moments = choose(entries, int(count), random.Random(seed))
        for number in range(int(first), int(end)):
            moment = moments[number]
            flushed = last_flush(entries, moment)
            for entry in entries[done:flushed]:
                apply(entry, log, disk, entry.length)
            done = max(done, flushed)
            disk.flush()
            name = os.path.join(output, f"{number:03}")
            subprocess.run(["cp", "--sparse=always", disk_path, name], check=True)
            with open(name, "r+b") as lost:
                for entry, length in lose(entries[flushed:moment], random.Random(f"{seed} {number}")):
                    apply(entry, log, lost, length)
            with open(name + ".marks", "w") as marks:
                marks.writelines(entry.mark + "\n" for entry in entries[:moment] if entry.mark)
            print(f"moment {number:03}: entry {moment}, {moment - flushed} after the last flush")


main()
