"""Time for stages: a real clock, and one that a test turns by hand."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from typing import TYPE_CHECKING, Protocol

from rstream._checks import check_seconds
from rstream._condition import Condition

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Clock", "SystemClock", "VirtualClock")

#: How long the thread of a clock stays when it has nothing to call.
IDLE_S = 1.0


class Clock(Protocol):
    """The time of a stage, and calls at a later time."""

    def now_ns(self) -> int:
        """Nanoseconds since some moment; never goes back."""
        ...

    def call_at(self, when_ns: int, function: Callable[[], None]) -> None:
        """Call ``function`` once, not before ``when_ns``. It may come when it is not needed any
        more.
        """
        ...


class SystemClock:
    """The real time. Calls come from a daemon thread of this clock, which ends when it is idle.

    Thread rule: any thread. A function that takes long delays the later ones of this clock; stages
    have one clock for each subscriber.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._has_thread = False

    def now_ns(self) -> int:
        """``time.monotonic_ns()``."""
        return time.monotonic_ns()

    def call_at(self, when_ns: int, function: Callable[[], None]) -> None:
        """As :meth:`Clock.call_at`."""
        with self._changed:
            heapq.heappush(self._calls, (when_ns, next(self._count), function))
            if not self._has_thread:
                self._has_thread = True
                threading.Thread(target=self._run, name="rstream-clock", daemon=True).start()
            else:
                self._changed.notify_all()

    def _run(self) -> None:
        while (function := self._next()) is not None:
            function()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next call that is due; None: there was none for a while."""
        with self._changed:
            while True:
                if not self._calls:
                    if not self._changed.wait(IDLE_S) and not self._calls:
                        self._has_thread = False
                        return None
                    continue
                left_ns = self._calls[0][0] - time.monotonic_ns()
                if left_ns <= 0:
                    return heapq.heappop(self._calls)[2]
                self._changed.wait(left_ns / 1e9)


class VirtualClock:
    """A clock that stands still until a test turns it. Calls come from :meth:`advance`.

    Example::

        clock = stages.VirtualClock()
        slow = stages.pipe(source, stages.throttle(10, clock=clock))
        slow.subscribe(subscriber)
        clock.advance(0.1)  # the next element goes out here
    """

    def __init__(self) -> None:
        self._now_ns = 0
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def now_ns(self) -> int:
        """Nanoseconds that the test has let pass."""
        return self._now_ns

    def call_at(self, when_ns: int, function: Callable[[], None]) -> None:
        """As :meth:`Clock.call_at`."""
        heapq.heappush(self._calls, (when_ns, next(self._count), function))

    def advance(self, seconds: float) -> None:
        """Let time pass, and make the calls that become due, each at its time.

        Raises:
            ConfigError: no number of seconds.
        """
        check_seconds("seconds", seconds)
        end_ns = self._now_ns + round(seconds * 1e9)
        while self._calls and self._calls[0][0] <= end_ns:
            when_ns, _, function = heapq.heappop(self._calls)
            self._now_ns = max(self._now_ns, when_ns)
            function()
        self._now_ns = max(self._now_ns, end_ns)
