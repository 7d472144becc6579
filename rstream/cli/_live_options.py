"""The options of the commands that look at a driver: stat, top, watch and metrics."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("add_metrics", "add_stat", "add_top", "add_watch", "goes_on", "interval_s")

DEFAULT_INTERVAL_S: Final = 1.0
FOLLOW: Final = "go on until Ctrl-C also into a pipe or a file, where one print is the default"


def _interval(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0.01 <= (seconds := float(text)) <= 86_400:
            return seconds
    raise argparse.ArgumentTypeError(f"{text}: must be 0.01 to 86400 seconds")


def _add_interval(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--interval",
        type=_interval,
        metavar="S",
        help="seconds between prints, 0.01 or more (default 1); goes on as --follow does",
    )


def interval_s(options: argparse.Namespace) -> float:
    """Seconds between prints of ``stat`` and ``top``."""
    return DEFAULT_INTERVAL_S if options.interval is None else options.interval


def goes_on(options: argparse.Namespace) -> bool:
    """Whether ``stat`` or ``top`` prints again and again: in a terminal, or when told to."""
    if options.once:
        return False
    return options.follow or options.interval is not None or sys.stdout.isatty()


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        with contextlib.suppress(ValueError):
            if least <= (number := int(text)) <= most:
                return number
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number, {least} to {most}")

    return parse


def add_stat(stat: argparse.ArgumentParser) -> None:
    ends = stat.add_mutually_exclusive_group()
    ends.add_argument("--once", action="store_true", help="print once and end")
    ends.add_argument(
        "--json",
        action="store_true",
        help="print everything as one JSON object and end; its keys stay the same",
    )
    ends.add_argument("--follow", action="store_true", help=FOLLOW)
    _add_interval(stat)
    stat.add_argument("--all", action="store_true", help="also print the counters that are zero")


def add_top(top: argparse.ArgumentParser) -> None:
    ends = top.add_mutually_exclusive_group()
    ends.add_argument(
        "--once", action="store_true", help="look twice, an interval apart, print once, and end"
    )
    ends.add_argument("--follow", action="store_true", help=FOLLOW)
    _add_interval(top)


def add_watch(watch: argparse.ArgumentParser) -> None:
    watch.add_argument("stream", metavar="STREAM", help="the stream's name, or its stream id")
    watch.add_argument(
        "--raw", action="store_true", help="print the bytes of each message, not decoded"
    )
    watch.add_argument("--json", action="store_true", help="print a JSON object for each message")
    watch.add_argument(
        "--count", type=_whole(1, 2**63), metavar="N", help="end after so many messages"
    )
    watch.add_argument(
        "--alone",
        action="store_true",
        help="also read a stream in shared memory that has no other reader: the publisher then "
        "takes this command for one, and no reader gets the messages again",
    )


def add_metrics(served: argparse.ArgumentParser) -> None:
    served.add_argument(
        "--port",
        type=_whole(0, 65535),
        default=9857,
        help="TCP port of the page /metrics (default 9857; 0: any free one)",
    )
    served.add_argument(
        "--address",
        default="127.0.0.1",
        help="address to listen at (default 127.0.0.1; 0.0.0.0: all of this host)",
    )
    served.add_argument(
        "--streams-max",
        type=_whole(1, 100_000),
        default=256,
        metavar="N",
        help="most publications, readers and losses with samples of their own (default 256)",
    )
    served.add_argument(
        "--once", action="store_true", help="print the page once, without serving it, and end"
    )
