"""``rstream driver``, ``rstream errors`` and ``rstream loss``."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rstream import _core, metrics
from rstream.driver import resolve_dir, rstreamd_path
from rstream.errors import DriverInUse

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Print a report, do what an option asks for, or become the driver itself."""
    if options.command == "errors":
        return errors(resolve_dir(options.dir))
    if options.command == "loss":
        return losses(resolve_dir(options.dir))
    if options.which:
        print(rstreamd_path())
        return 0
    if options.list_options:
        for option in _core.driver_options():
            print(f"{option.name:34} {option.default:>14}  {option.help}")
        return 0
    driver_dir = resolve_dir(options.dir)
    if options.clean:
        try:
            removed = _core.clean(driver_dir)
        except DriverInUse as error:
            error.hint = (
                "nothing was removed; the driver ends when no client has used it for a while, "
                "or kill it"
            )
            raise
        print(f"{driver_dir}: {removed} files of a dead driver removed")
        return 0
    if options.terminate:
        _core.terminate(driver_dir, options.token.encode())
        print(f"{driver_dir}: asked to end; if it goes on, `rstream errors` says why")
        return 0
    arguments = [rstreamd_path(), "--dir", driver_dir, "--verbose"]
    for option in options.options:
        name, equals, value = option.partition("=")
        if not equals:
            print(f"rstream driver: {option!r}: write name=value", file=sys.stderr)
            return 2
        arguments.append(f"--{name.lstrip('-')}={value}")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("AERON_")
    }
    os.execve(arguments[0], arguments, environment)


def local_time(epoch_ms: int) -> str:
    """A time as Aeron's tools print it: 2026-03-01 12:00:00.123+0000."""
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC).astimezone()
    return f"{moment:%Y-%m-%d %H:%M:%S}.{epoch_ms % 1000:03d}{moment:%z}"


def errors(driver_dir: str) -> int:
    """Print the distinct errors, oldest first, like Aeron's ErrorStat but for the singular."""
    found = _core.read_errors(driver_dir)
    for one in found:
        span = f"{local_time(one.first_ms)} to {local_time(one.last_ms)}"
        print(f"\n{one.observations} observations from {span} for:\n{one.text}")
    print(f"\n{len(found)} distinct error{'s' if len(found) != 1 else ''} observed.")
    return 0


def losses(driver_dir: str) -> int:
    """Print the losses as Aeron's LossStat does: a header, comma-separated lines, the count."""
    found = metrics.losses(driver_dir)
    print(
        "#OBSERVATION_COUNT,TOTAL_BYTES_LOST,FIRST_OBSERVATION,LAST_OBSERVATION,"
        "SESSION_ID,STREAM_ID,CHANNEL,SOURCE"
    )
    for one in found:
        print(
            f"{one.observations},{one.bytes_lost},"
            f"{local_time(one.first_ms)},{local_time(one.last_ms)},"
            f"{one.session_id},{one.stream_id},{one.channel},{one.source}"
        )
    print(f"{len(found)} loss entries")
    return 0
