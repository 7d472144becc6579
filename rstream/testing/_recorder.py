"""What a subscriber was signalled, in order, and which rules that broke.

One lock guards all of it. No code of the user runs under it.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from rstream._waits import FOREVER_S, Deadline
from rstream.abc import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")

#: A wait looks at the signals again after so many seconds at most when it has a pump to run.
PUMP_PAUSE_S = 0.001


@dataclass(frozen=True, slots=True)
class Next(Generic[T]):
    """``on_next(value)`` was signalled."""

    value: T


@dataclass(frozen=True, slots=True)
class Error:
    """``on_error(error)`` was signalled."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Complete:
    """``on_complete()`` was signalled."""


#: One signal that can be read: an element or an end.
Signal: TypeAlias = Next[T] | Error | Complete


class Recorder(Generic[T]):
    """Signals in their order, and violations of the contract by the publisher.

    Args:
        pump: called again and again by a wait, in its thread; for publishers that do their work in
            the caller's thread. None: another thread signals.
    """

    def __init__(self, pump: Callable[[], object] | None) -> None:
        self._changed = threading.Condition()
        self._pump = pump
        self._owner: int | None = None  # the thread inside a signal
        self.signals: list[Signal[T]] = []
        self.violations: list[str] = []
        self.read_count = 0  # signals that an expectation has taken
        self.requested = 0
        self.next_count = 0
        self.is_subscribed = False
        self.has_ended = False

    @contextmanager
    def inside(self, signal: str, is_end: bool = False) -> Generator[None]:
        """Mark the time of one signal; finds overlaps and signals out of order."""
        me = threading.get_ident()
        with self._changed:
            before, self._owner = self._owner, me
            if before not in (None, me):
                self._violate(f"§1.3: {signal} began in one thread while another was in a signal")
            if self.has_ended:
                self._violate(f"§1.7: {signal} after the end")
            if not self.is_subscribed and signal != "on_subscribe":
                self._violate(f"§1.9: {signal} before on_subscribe")
            self.has_ended = self.has_ended or is_end
        try:
            yield
        finally:
            with self._changed:
                self._owner = me if before == me else None
                self._changed.notify_all()

    def subscribed(self) -> bool:
        """Note a subscription. False: there was one already."""
        with self._changed:
            if self.is_subscribed:
                self._violate("§2.12: a second on_subscribe")
                return False
            self.is_subscribed = True
            return True

    def requesting(self, n: int) -> None:
        """Note a request that is about to be made."""
        with self._changed:
            self.requested = min(UNBOUNDED, self.requested + max(n, 0))

    def record(self, signal: Signal[T]) -> None:
        """Note an element or an end."""
        with self._changed:
            self.signals.append(signal)
            if isinstance(signal, Next):
                self.next_count += 1
                if self.next_count > self.requested:
                    self._violate(
                        f"§1.1: element {self.next_count} with {self.requested} requested in all"
                    )

    def refuse_none(self, value: Any, signal: str) -> None:
        """Raise as rule 2.13 asks for, and note who broke it."""
        if value is None:
            with self._changed:
                self._violate(f"§2.13: {signal}(None)")
            raise TypeError(f"§2.13: {signal}(None)")

    def _violate(self, what: str) -> None:
        self.violations.append(what)

    # ---- reading ----

    def take(self, timeout_s: float, wanted: str) -> Signal[T]:
        """The next signal that was not taken; waits for it.

        Raises:
            AssertionError: none within ``timeout_s`` seconds.
        """
        self.wait(lambda: len(self.signals) > self.read_count, timeout_s, wanted)
        self.read_count += 1
        return self.signals[self.read_count - 1]

    def wait(self, is_there: Callable[[], bool], timeout_s: float, wanted: str) -> None:
        """Wait until ``is_there()``, which is looked at after each signal.

        Raises:
            AssertionError: not within ``timeout_s`` seconds.
        """
        if not self.until(is_there, timeout_s):
            raise AssertionError(f"{wanted}: not within {timeout_s} s; {self.story()}")

    def until(self, is_there: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until ``is_there()``. False: not within ``timeout_s`` seconds."""
        deadline = Deadline(timeout_s)
        while True:
            if self._pump is not None:
                self._pump()
            with self._changed:
                if is_there():
                    return True
                if deadline.is_over:
                    return False
                most_s = FOREVER_S if self._pump is None else PUMP_PAUSE_S
                self._changed.wait(deadline.left_s(most_s))

    def story(self) -> str:
        """What happened so far, for the text of a failure."""
        with self._changed:
            last = ", ".join(repr(signal) for signal in self.signals[-5:])
            count = len(self.signals)
            if count == 0:
                signals = "no signal so far" if self.is_subscribed else "no on_subscribe so far"
            else:
                signals = f"{count} signals so far, the last of them {last}"
            broken = f"; violations: {'; '.join(self.violations)}" if self.violations else ""
            return f"{signals}; {self.requested} requested{broken}"
