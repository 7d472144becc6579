"""The driver directories beside one: a second directory is the usual reason why nothing arrives."""

from __future__ import annotations

import os
from typing import Final

from rstream import _core

__all__ = ("ALIVE", "other_drivers")

#: Answer of ``_core.probe`` from which on a driver lives.
ALIVE: Final = 2
#: Names in one folder that are looked at.
NAMES_MAX: Final = 10_000


def other_drivers(driver_dir: str) -> tuple[list[str], list[str]]:
    """The directories beside this one and in ``/dev/shm``, of living drivers and of dead ones."""
    alive: list[str] = []
    dead: list[str] = []
    for parent in dict.fromkeys((os.path.dirname(driver_dir), "/dev/shm")):
        try:
            names = sorted(os.listdir(parent))[:NAMES_MAX]
        except OSError:
            continue
        for name in names:
            path = os.path.join(parent, name)
            if path == driver_dir or not os.path.exists(os.path.join(path, "cnc.dat")):
                continue
            (alive if _core.probe(path) >= ALIVE else dead).append(path)
    return alive, dead
