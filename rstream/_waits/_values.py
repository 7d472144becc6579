"""What can be waited for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

R = TypeVar("R")


class Watched(Protocol):
    """A descriptor that an event loop watches instead of blocking."""

    def fileno(self) -> int:
        """The descriptor; it is readable when something may be there."""
        ...

    def arm(self) -> bool:
        """Prepare to sleep. True: something is there already, do not sleep."""
        ...

    def disarm(self) -> None:
        """No more wake-ups until the next :meth:`arm`."""
        ...

    def wake(self) -> None:
        """End the sleep of now, or the next one; any thread."""
        ...


class Listens(Protocol):
    """What a thread or a task waits on for messages, as a reading of :mod:`rstream.stream`."""

    @property
    def watched(self) -> Watched:
        """For an event loop."""
        ...

    def is_ready(self) -> bool:
        """Whether something is there that the descriptor does not tell."""
        ...

    def wait(self, timeout_s: float | None = None) -> bool:
        """For a thread."""
        ...

    def wake(self) -> None:
        """End a wait; any thread."""
        ...


class Waker:
    """Ends one wait, :class:`Woken`. The runner says how.

    Attributes:
        is_woken: whether it was asked to.
        on_wake: ends the wait of now; None: nobody waits yet.
    """

    __slots__ = ("is_woken", "on_wake")

    def __init__(self) -> None:
        self.is_woken: bool = False
        self.on_wake: Callable[[], object] | None = None

    def wake(self) -> None:
        """End the wait. Any thread, or any task of the event loop of the one that waits."""
        self.is_woken = True
        on_wake = self.on_wake
        if on_wake is not None:
            on_wake()


@dataclass(frozen=True, slots=True)
class Pause:
    """Let that much time pass. No answer."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Room:
    """Wait until there is room, or readers came or went; at most that long.

    The answer is False when nothing happened within that time. DriverLost is thrown in.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class News:
    """Wait until a message or an event may be there for a reader; at most that long. No answer."""

    reader: Listens
    seconds: float


@dataclass(frozen=True, slots=True)
class Woken:
    """Wait until somebody calls ``waker.wake()``; at most that long. No answer."""

    waker: Waker
    seconds: float


@dataclass(frozen=True, slots=True)
class Unwatched:
    """Wait until no event loop watches a reader's descriptor, which is to be closed. No answer."""

    reader: Listens


@dataclass(frozen=True, slots=True)
class Work:
    """Call the function, which may block for seconds: it may start a driver. Answer: its result.

    In an event loop a thread calls it. It goes on when its task is cancelled.
    """

    function: Callable[[], object]


Step: TypeAlias = Pause | Room | News | Woken | Unwatched | Work
Steps: TypeAlias = Generator[Step, Any, R]
