"""One line on standard error that says how far a command is, where it takes longer than a second.

It is written only to a terminal, and is wiped at the end.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ("ProgressBar", "progress_line")

AFTER_S: Final = 1.0
EVERY_S: Final = 0.2
BAR_CELLS: Final = 24


class ProgressBar:
    """A context manager around the work. Any thread may call :meth:`add` and :meth:`reach`.

    Args:
        label: what is being done.
        unit: what is counted.
        total: how many there are; None: nobody knows.
    """

    def __init__(self, label: str, unit: str, total: float | None = None) -> None:
        self._label = label
        self._unit = unit
        self._total = total
        self._done = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._writer = threading.Thread(target=self._write, name="rstream-progress", daemon=True)

    def add(self, count: float = 1) -> None:
        """So many more are done."""
        with self._lock:
            self._done += count

    def reach(self, done: float) -> None:
        """So many are done in all."""
        with self._lock:
            self._done = done

    def _write(self) -> None:
        begin_s = time.monotonic()
        wait_s = AFTER_S
        while not self._over.wait(wait_s):
            wait_s = EVERY_S
            passed_s = time.monotonic() - begin_s
            line = progress_line(self._label, self._unit, self._done, self._total, passed_s)
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        if wait_s == EVERY_S:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._writer.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._writer.is_alive():
            self._writer.join()


def progress_line(label: str, unit: str, done: float, total: float | None, passed_s: float) -> str:
    """The line, without its end: a bar where the total is known."""
    if total is None:
        return f"{label}: {done:.0f} {unit}, {passed_s:.0f} s"
    share = min(1.0, done / total) if total > 0 else 1.0
    full = round(share * BAR_CELLS)
    return f"{label} [{'#' * full}{'.' * (BAR_CELLS - full)}] {done:.0f} of {total:.0f} {unit}"
