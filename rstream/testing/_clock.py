"""Time that passes when a test says so."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Final

from rstream._checks import check_seconds
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

#: Most calls of one ``advance_s``: more is a function that puts itself off by no time, for ever.
MOST_CALLS: Final = 100_000


class ManualClock:
    """A clock that stands still until :meth:`advance_s`.

    Thread rule: one thread. Example::

        clock = ManualClock()
        clock.call_later(1.5, lambda: source.next("late"))
        clock.advance_s(2)  # calls it, at 1.5
    """

    def __init__(self) -> None:
        self._now_ns = 0
        self._numbers = itertools.count()
        self._calls: list[tuple[int, int, Callable[[], object]]] = []

    @property
    def now_ns(self) -> int:
        """Nanoseconds since the clock was made."""
        return self._now_ns

    @property
    def now_s(self) -> float:
        """Seconds since the clock was made."""
        return self._now_ns * 1e-9

    def call_later(self, delay_s: float, function: Callable[[], object]) -> None:
        """Call ``function`` when ``delay_s`` seconds have passed.

        Functions of the same moment are called in the order of these calls.

        Raises:
            ConfigError: ``delay_s`` is negative or no number.
        """
        at_ns = self._now_ns + _nanoseconds("delay_s", delay_s)
        heapq.heappush(self._calls, (at_ns, next(self._numbers), function))

    def advance_s(self, seconds: float) -> None:
        """Let ``seconds`` pass: call what falls due meanwhile, each at its own time.

        Raises:
            ConfigError: ``seconds`` is negative or no number.
            RuntimeError: more than 100 000 calls fell due; the rest stays for the next advance.
        """
        until_ns = self._now_ns + _nanoseconds("seconds", seconds)
        for _ in range(MOST_CALLS):
            if not self._calls or self._calls[0][0] > until_ns:
                self._now_ns = until_ns
                return
            self._now_ns, _, function = heapq.heappop(self._calls)
            function()
        raise RuntimeError(
            f"ManualClock at {self.now_s} s: {MOST_CALLS} calls within {seconds} s; "
            "does a function put itself off by no time?"
        )


def _nanoseconds(name: str, seconds: float) -> int:
    check_seconds(name, seconds)
    if seconds < 0:
        raise ConfigError(f"{name}={seconds}: time does not go back; give 0 or more seconds")
    return round(seconds * 1e9)
