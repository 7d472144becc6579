"""What commands say of a driver directory without a driver."""

from __future__ import annotations

import os
import shlex
import sys
from typing import Final

from rstream import _core
from rstream.errors import RStreamError

__all__ = ("ALIVE", "tell_missing", "why_unusable")

#: Answer of ``_core.probe`` from which on a driver lives.
ALIVE: Final = 2
#: Directories of dead drivers that are named; more are counted.
DEAD_NAMED_MAX: Final = 8


def tell_missing(driver_dir: str) -> int:
    """Say on standard error that there is no driver, why, and where others are.

    Returns:
        The exit code, 1.
    """
    problem = why_unusable(driver_dir, 0)
    if problem:
        what = f"no driver in {driver_dir}, and none can start: {problem}"
    elif _core.probe(driver_dir) == 0:
        what = f"no driver in {driver_dir} (one starts with the first publisher or subscriber)"
    else:
        what = f"the driver in {driver_dir} is dead (the next publisher or subscriber starts one)"
    print(f"rstream: {what}", file=sys.stderr)
    print("\n".join(_others(driver_dir)), file=sys.stderr)
    return 1


def why_unusable(driver_dir: str, life: int) -> str:
    """Why no driver can start in a directory; empty: one can, or lives there (``life``)."""
    if life >= ALIVE:
        return ""
    try:
        _core.check_dir(driver_dir)
    except RStreamError as error:
        return str(error)
    return ""


def _others(driver_dir: str) -> list[str]:
    """Lines about the driver directories beside this one, at most DEAD_NAMED_MAX dead ones.

    A second directory is the usual reason why nothing arrives.
    """
    alive: list[str] = []
    dead: list[str] = []
    for parent in dict.fromkeys((os.path.dirname(driver_dir), "/dev/shm")):
        if not os.path.isdir(parent):
            continue
        for name in sorted(os.listdir(parent)):
            path = os.path.join(parent, name)
            if path == driver_dir or not os.path.exists(os.path.join(path, "cnc.dat")):
                continue
            if _core.probe(path) >= ALIVE:
                alive.append(path)
            else:
                dead.append(path)
    lines = [f"  alive: {path}   (rstream stat --dir {shlex.quote(path)})" for path in alive] or [
        "  no other driver is alive"
    ]
    lines += [
        f"  dead: {path}   (rstream driver --clean --dir {shlex.quote(path)})"
        for path in dead[:DEAD_NAMED_MAX]
    ]
    if len(dead) > DEAD_NAMED_MAX:
        lines.append(f"  and {len(dead) - DEAD_NAMED_MAX} more directories of dead drivers")
    return lines
