"""An image of an ext4 file system, made through one mount, checked and unpacked through the other."""

from content import draw_size
from programs import run as run_program

FILES = 12


def run(here, there, cycles, draw):
    for cycle in range(max(1, cycles // 10)):
        source = here / f"source-{cycle}"
        source.mkdir()
        for file in range(FILES):
            (source / str(file)).write_bytes(draw.randbytes(draw_size(draw, 2 << 20)))
        makes, checks = draw.sample([here, there], 2)
        unpacked = checks / f"unpacked-{cycle}"
        unpacked.mkdir()
        run_program("mke2fs", "-q", "-t", "ext4", "-d", source, makes / "image", "64M")
        run_program("e2fsck", "-fn", checks / "image")
        run_program("debugfs", "-R", f"rdump / {unpacked}", checks / "image")
        run_program("diff", "-r", "--exclude=lost+found", source, unpacked)
        (checks / "image").unlink()
