"""``rstream driver`` and ``rstream errors``."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rstream import _core
from rstream.driver import resolve_dir, rstreamd_path
from rstream.errors import DriverInUse

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """``--which``, ``--clean``, ``--list-options``, the errors, or the driver itself in the foreground."""
    if options.command == "errors":
        return errors(resolve_dir(options.dir))
    if options.which:
        print(rstreamd_path())
        return 0
    if options.list_options:
        for name, default, text in _core.driver_options():
            print(f"{name:34} {default:>14}  {text}")
        return 0
    driver_dir = resolve_dir(options.dir)
    if options.clean:
        try:
            removed = _core.clean(driver_dir)
        except DriverInUse as error:
            error.hint = "nothing was removed; it ends by itself when nobody has used it for a while, or kill it"
            raise
        print(f"{driver_dir}: {removed} files of a dead driver removed")
        return 0
    arguments = [rstreamd_path(), "--dir", driver_dir, "--verbose"]
    for option in options.options:
        name, equals, value = option.partition("=")
        if not equals:
            print(f"rstream driver: {option!r}: write name=value", file=sys.stderr)
            return 2
        arguments.append(f"--{name.lstrip('-')}={value}")
    os.execv(arguments[0], arguments)


def errors(driver_dir: str) -> int:
    """Distinct errors, oldest first."""
    found = _core.read_errors(driver_dir)
    for observations, first_ms, last_ms, text in found:
        first, last = (datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds") for ms in (first_ms, last_ms))
        print(f"{observations} x, first {first}, last {last}\n  {text}")
    print(f"{driver_dir}: {len(found)} distinct errors")
    return 0
