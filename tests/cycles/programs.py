"""Running programs of the system."""

import subprocess


class Failed(Exception):
    """A program ended with another exit code than it must."""


def start(*command, stdout=subprocess.PIPE):
    """Starts a program; `finish` takes its end."""
    return subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def finish(process):
    """Waits for a started program, which must succeed; returns what it wrote."""
    output, errors = process.communicate()
    if process.returncode != 0:
        said = errors.decode(errors="replace")
        raise Failed(f"{process.args} ended with {process.returncode}: {said}")
    return output


def run(*command):
    """Runs a program, which must succeed; returns what it wrote."""
    return finish(start(*command))


def run_at_once(*commands):
    """Runs programs side by side; all must succeed."""
    for process in [start(*command) for command in commands]:
        finish(process)
