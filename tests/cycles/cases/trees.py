"""Trees that are made, copied, moved and removed through both mounts at once."""

from content import draw_size
from programs import run as run_program
from programs import run_at_once


def run(here, there, cycles, draw):
    source = here / "source"
    plant(source, draw)
    for cycle in range(cycles):
        deep = f"made/{cycle}/" + "/".join("abcdef")
        run_at_once(["mkdir", "-p", here / deep], ["mkdir", "-p", there / deep])
        run_at_once(
            ["cp", "-r", source, here / deep / "first"],
            ["cp", "-r", there / "source", there / deep / "second"],
        )
        run_at_once(
            ["mv", here / deep / "first", here / f"first-{cycle}"],
            ["mv", there / deep / "second", there / f"second-{cycle}"],
        )
        run_program("diff", "-r", there / "source", there / f"first-{cycle}")
        run_program("diff", "-r", here / "source", here / f"second-{cycle}")
        # Both remove the same trees: each must take it that the other one was first.
        gone = ["made", f"first-{cycle}", f"second-{cycle}"]
        run_at_once(*[["rm", "-rf", *(mount / name for name in gone)] for mount in (here, there)])
        left = sorted(path.name for path in there.iterdir())
        assert left == ["source"], f"rm -rf left {left}"


def plant(directory, draw):
    """A small tree of directories and files."""
    directory.mkdir()
    for branch in range(4):
        (directory / str(branch) / "deeper").mkdir(parents=True)
        for leaf in range(5):
            content = draw.randbytes(draw_size(draw, 20_000))
            (directory / str(branch) / "deeper" / f"leaf-{leaf}").write_bytes(content)
