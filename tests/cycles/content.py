"""What files must contain."""


class Different(Exception):
    """A file does not contain what it must."""


def expect(path, expected):
    """Compares a whole file."""
    expect_bytes(path.read_bytes(), expected, path)


def expect_bytes(found, expected, what):
    """Compares what was read, and says where the difference begins."""
    if found == expected:
        return
    at = next(
        (at for at, (one, other) in enumerate(zip(found, expected)) if one != other),
        min(len(found), len(expected)),
    )
    raise Different(
        f"{what}: {len(found)} bytes instead of {len(expected)}, different from byte {at} on: "
        f"{bytes(found[at:at + 16])!r} instead of {bytes(expected[at:at + 16])!r}"
    )


def draw_size(draw, limit):
    """A size from 1 to `limit`: small ones as likely as large ones."""
    return max(1, int(limit ** draw.random()))
