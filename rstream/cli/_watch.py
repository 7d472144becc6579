"""``rstream watch``: prints the messages of a stream while others read it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from rstream import _core, metrics
from rstream.cli._directory import ALIVE, tell_missing
from rstream.cli._watch_lines import Shown, is_message, line_of
from rstream.cli._watch_targets import is_of, what_is_missing
from rstream.cli._watcher import SeenMessage, Watcher
from rstream.driver import resolve_dir
from rstream.errors import RStreamError

if TYPE_CHECKING:
    import argparse

#: The printer hands the interpreter to the reading thread after this time.
SWITCH_S: Final = 0.0005
WAIT_S: Final = 0.1
#: After so long without anything it says what it waits for.
SILENT_S: Final = 1.0


def run(options: argparse.Namespace) -> int:
    """Print until Ctrl-C, until the driver ends, or until ``--count`` messages are printed."""
    driver_dir = resolve_dir(options.dir)
    if _core.probe(driver_dir) < ALIVE:
        return tell_missing(driver_dir)
    shown = Shown(is_raw=options.raw, is_json=options.json)
    sys.setswitchinterval(SWITCH_S)
    watcher = Watcher(driver_dir, is_of(options.stream), alone=options.alone)
    watcher.start()
    try:
        return _print(watcher, shown, options)
    finally:
        watcher.stop()


def _print(watcher: Watcher, shown: Shown, options: argparse.Namespace) -> int:
    printed, count = 0, options.count
    silent_until_s: float | None = time.monotonic() + SILENT_S
    while count is None or printed < count:
        seen = watcher.next(0.0)
        if seen is None:
            sys.stdout.flush()
            if watcher.is_over:
                return 1
            seen = watcher.next(WAIT_S)
        if seen is not None:
            silent_until_s = None
        elif silent_until_s is not None and time.monotonic() >= silent_until_s:
            silent_until_s = None
            _tell_waiting(watcher.driver_dir, options.stream)
        if isinstance(seen, str):
            print(f"rstream watch: {seen}", file=sys.stderr, flush=True)
        elif isinstance(seen, SeenMessage):
            _tell_skipped(seen)
            print(line_of(seen, shown))
            printed += is_message(seen)
    sys.stdout.flush()
    return 0


def _tell_waiting(driver_dir: str, stream: str) -> None:
    try:
        text = what_is_missing(
            stream, *metrics.sessions(driver_dir), metrics.subscriptions(driver_dir)
        )
    except RStreamError:
        return  # the driver has gone, which the watcher tells
    print(f"rstream watch: {text}", file=sys.stderr, flush=True)


def _tell_skipped(seen: SeenMessage) -> None:
    if seen.skipped_bytes:
        sys.stdout.flush()
        print(
            f"rstream watch: session {seen.session_id}: {seen.skipped_bytes:,} bytes not shown",
            file=sys.stderr,
            flush=True,
        )
