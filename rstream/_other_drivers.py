"""The driver directories beside one: a second directory is the usual reason why nothing arrives."""

from __future__ import annotations

import difflib
import os
from typing import Final

from rstream import _core

__all__ = ("ALIVE", "NAMED_MAX", "missing_parent", "nearest", "other_drivers", "tell_others")

#: Answer of ``_core.probe`` from which on a driver lives.
ALIVE: Final = 2
#: Directories that are named, of the living and of the dead; more are counted.
NAMED_MAX: Final = 3
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


def nearest(driver_dir: str, found: list[str]) -> list[str]:
    """Of these directories the few whose names are most like this one's."""
    name = os.path.basename(driver_dir)

    def likeness(path: str) -> float:
        return difflib.SequenceMatcher(None, name, os.path.basename(path)).ratio()

    return sorted(found, key=likeness, reverse=True)[:NAMED_MAX]


def tell_others(driver_dir: str) -> str:
    """The other living drivers of this host, for people; empty: there are none that can be seen.

    Cost: some milliseconds.
    """
    alive = other_drivers(driver_dir)[0]
    named = ", ".join(nearest(driver_dir, alive))
    more = f" and {len(alive) - NAMED_MAX} more" if len(alive) > NAMED_MAX else ""
    return f"other drivers of this host live in {named}{more}" if alive else ""


def missing_parent(path: str) -> str:
    """For people, that no driver can make this directory; empty: its parent is there."""
    parent = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(parent):
        return ""
    return f"{parent} does not exist, and a driver makes the last folder only: mkdir -p {parent}"
