"""A git repository that is worked on through both mounts, and a bare one that both push to at once."""

import functools

from content import draw_size, expect
from programs import run as run_program
from programs import run_at_once

SETTINGS = ["-c", "user.name=Cycles", "-c", "user.email=cycles@example.org", "-c", "gc.auto=0"]


def run(here, there, cycles, draw):
    git(here, "init", "--quiet", "--initial-branch=main", "work")
    git(here, "init", "--quiet", "--bare", "shared.git")
    contents = {}
    for cycle in range(max(1, cycles // 2)):
        change(draw.choice([here, there]) / "work", cycle, contents, draw)
        push_at_once(here, there, cycle)
    for mount in (here, there):
        for name, content in contents.items():
            expect(mount / "work" / name, content)
    git(there / "work", "gc", "--quiet")
    git(here / "work", "fsck", "--strict", "--no-progress")
    git(there / "shared.git", "fsck", "--strict", "--no-progress")


def git(directory, *words):
    return run_program("git", *SETTINGS, "-C", directory, *words)


def change(work, cycle, contents, draw):
    """Commits a changed file and a new one; afterwards nothing is left to commit."""
    for name in (f"file-{draw.randrange(10)}", f"new-{cycle}"):
        contents[name] = draw.randbytes(draw_size(draw, 50_000))
        (work / name).write_bytes(contents[name])
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", f"cycle {cycle}")
    left = git(work, "status", "--porcelain")
    assert left == b"", f"git sees changes after the commit: {left}"


def push_at_once(here, there, cycle):
    """Both mounts push a branch of their own at the same time."""
    push = functools.partial(push_command, cycle)
    run_at_once(push(here, "here"), push(there, "there"))
    found = git(here / "shared.git", "rev-parse", f"here-{cycle}", f"there-{cycle}").split()
    assert found[0] == found[1], "both pushed the same commit"


def push_command(cycle, mount, name):
    target = f"HEAD:refs/heads/{name}-{cycle}"
    return ["git", *SETTINGS, "-C", mount / "work", "push", "--quiet", mount / "shared.git", target]
