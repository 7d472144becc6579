"""What commands say of a driver directory without a driver."""

from __future__ import annotations

import os
import shlex
import sys

from rstream import _core
from rstream._other_drivers import ALIVE, NAMED_MAX, missing_parent, nearest, other_drivers
from rstream.errors import RStreamError

__all__ = ("ALIVE", "tell_missing", "why_unusable")


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
    return missing_parent(driver_dir)


def _others(driver_dir: str) -> list[str]:
    """Lines about the driver directories beside this one, those with the most similar names.

    A second directory is the usual reason why nothing arrives.
    """
    alive, dead = other_drivers(driver_dir)
    lines = _named(driver_dir, alive, "alive", "rstream stat --dir")
    lines = lines or ["  no other driver is alive"]
    return lines + _named(driver_dir, dead, "dead", "rstream driver --clean --dir")


def _named(driver_dir: str, found: list[str], state: str, command: str) -> list[str]:
    lines = [
        f"  {state}: {path}   ({command} {shlex.quote(path)})"
        for path in nearest(driver_dir, found)
    ]
    if len(found) > NAMED_MAX:
        parents = dict.fromkeys(os.path.dirname(path) for path in found)
        where = " ".join(shlex.quote(parent) + "/*/cnc.dat" for parent in parents)
        lines.append(f"  {state}: {len(found) - NAMED_MAX} more   (ls {where})")
    return lines
