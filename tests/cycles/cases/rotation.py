"""A log that a daemon holds open through one mount and that logrotate rotates through the other: by a
new file, and by a copy and a cut.
"""

import os

from content import Different, expect
from programs import run as run_program

SETTINGS = """{log} {{
    rotate 3
    size 1
    missingok
    {way}
}}
"""


def run(here, there, cycles, draw):
    for way in ("create", "copytruncate"):
        settings = there / f"{way}.conf"
        settings.write_text(SETTINGS.format(log=there / f"{way}.log", way=way))
        settings.chmod(0o644)
        rotate_often(Daemon(here / f"{way}.log", draw), way, there, cycles)


def rotate_often(daemon, way, there, cycles):
    log = there / f"{way}.log"
    for _ in range(cycles):
        daemon.write_lines()
        state = there / f"{way}.state"
        run_program("logrotate", "--force", "--state", state, there / f"{way}.conf")
        if way == "create":
            # It writes into the renamed file until it is told to open another one.
            daemon.write_lines()
            daemon.reopen()
        expect(there / f"{way}.log.1", daemon.take_written())
        expect(log, b"")
    daemon.write_lines()
    expect(log, daemon.take_written())


class Daemon:
    """Writes numbered lines into a log that it keeps open."""

    def __init__(self, path, draw):
        self.path, self.draw = path, draw
        self.lines = 0
        self.written = bytearray()
        self.descriptor = self.open()

    def open(self):
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def reopen(self):
        os.close(self.descriptor)
        self.descriptor = self.open()

    def write_lines(self):
        # A kernel that asks for the size knows what another mount made of it: the position is then true.
        os.fstat(self.descriptor)
        for _ in range(self.draw.randint(1, 30)):
            line = f"{self.lines} {'x' * self.draw.randint(0, 4000)}\n".encode()
            assert os.write(self.descriptor, line) == len(line)
            self.lines += 1
            self.written += line
        position = os.lseek(self.descriptor, 0, os.SEEK_CUR)
        if position != len(self.written):
            raise Different(f"{self.path}: position {position} instead of {len(self.written)}")

    def take_written(self):
        """What was written since the last rotation."""
        written, self.written = bytes(self.written), bytearray()
        return written
