"""The cases, a module each: `run(here, there, cycles, draw)` raises an exception when something is
wrong. `here` and `there` are one new directory seen through two mounts; `draw` is where chance comes
from.
"""
