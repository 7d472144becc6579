"""``rstream watch``: prints the messages of a stream while others read it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from rstream import _core
from rstream.cli._directory import ALIVE, tell_missing
from rstream.cli._watch_lines import Shown, is_message, line_of
from rstream.cli._watch_targets import is_of
from rstream.cli._watcher import Seen, Watcher
from rstream.driver import resolve_dir

if TYPE_CHECKING:
    import argparse

#: The printer hands the interpreter to the reading thread after this time.
SWITCH_S: Final = 0.0005
WAIT_S: Final = 0.1


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
        return _print(watcher, shown, options.count)
    finally:
        watcher.stop()


def _print(watcher: Watcher, shown: Shown, count: int | None) -> int:
    printed = 0
    while count is None or printed < count:
        seen = watcher.next(0.0)
        if seen is None:
            sys.stdout.flush()
            if watcher.is_over:
                return 1
            seen = watcher.next(WAIT_S)
        if isinstance(seen, str):
            print(f"rstream watch: {seen}", file=sys.stderr, flush=True)
        elif isinstance(seen, Seen):
            _tell_skipped(seen)
            print(line_of(seen, shown))
            printed += is_message(seen)
    sys.stdout.flush()
    return 0


def _tell_skipped(seen: Seen) -> None:
    if seen.skipped_bytes:
        sys.stdout.flush()
        print(
            f"rstream watch: session {seen.session_id}: {seen.skipped_bytes:,} bytes not shown",
            file=sys.stderr,
            flush=True,
        )
