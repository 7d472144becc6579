"""The readers of one publisher, whichever way they are known.

:class:`rstream.work._readers.ReportedReaders` knows them by their reports, :mod:`rstream.ray` by
their handles.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from rstream import _core
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from rstream._condition import Condition
    from rstream.errors import NotConnected
    from rstream.work._desk import Message, ReaderSeat, WorkDesk
    from rstream.work._protocol import ReaderReport

__all__ = ("LanePublisher", "Seating", "named")

log = logging.getLogger("rstream")

#: Messages that a text names by their numbers.
NAMED_MAX = 5


class LanePublisher(Protocol):
    """What a seat needs of the publisher to its reader."""

    @property
    def is_connected(self) -> bool:
        """Whether the reader is there."""
        ...

    @property
    def sent_position(self) -> int:
        """Position behind what :meth:`offer` took last; an offer that is refused leaves it."""
        ...

    def offer(self, obj: bytes, /) -> int:
        """Send at once; not above 0: not taken."""
        ...

    def fail(self, error: str, /, *, linger_s: float | None = None) -> None:
        """End it, but not as a complete one."""
        ...

    def close(self) -> None:
        """Complete it."""
        ...


class Seating(ABC):
    """Opens and closes the seats of a desk. One thread calls all methods, except :meth:`wake`.

    Args:
        desk: who has which message.
        changed: guards the desk.
        title: the publisher, for people.

    Attributes:
        refusal: why the last reader that came was refused; empty: none was.
        last_lost: how the last reader was lost that had a message in hand; empty: none was.
        more_hint: what helps when no reader has free demand.
    """

    more_hint: str = "add readers, or give them a larger prefetch"

    def __init__(self, desk: WorkDesk[LanePublisher], changed: Condition, title: str) -> None:
        self._desk = desk
        self._changed = changed
        self._title = title
        self.refusal: str = ""
        self.last_lost: str = ""

    @abstractmethod
    def update(self) -> bool:
        """Take what readers have told, and drop those that have gone. False: they told nothing."""

    @abstractmethod
    def wait(self, timeout_s: float) -> None:
        """Wait for news of a reader."""

    @abstractmethod
    def wake(self) -> None:
        """End a wait; any thread."""

    @abstractmethod
    def close(self) -> None:
        """Say that the work is complete, and leave."""

    @abstractmethod
    def alone_error(self, waited_s: float, why: str) -> NotConnected:
        """The error of a call that has found no reader for so long, and what is known of why."""

    def _drop(
        self,
        seat: ReaderSeat[LanePublisher],
        leave: ReaderReport | None = None,
        *,
        is_innocent: bool = False,
    ) -> None:
        """A reader has gone.

        Args:
            seat: which one.
            leave: its last report, if it left in good order.
            is_innocent: its driver has died, and it may live.
        """
        with self._changed:
            unseen = seat.unseen(leave) if leave is not None else set[int]()
            had = [message for number, message in seat.given.items() if number not in unseen]
            is_told = bool(had) and not is_innocent
            if is_told:
                how = "died" if leave is None else "left"
                self.last_lost = f"{seat.title} {how} with {named(had)} in hand"
                if leave is not None and leave.why:
                    self.last_lost += f": {_core.printable(leave.why)}"
            self._desk.drop(seat, leave, now_s=time.monotonic(), is_innocent=is_innocent)
        if is_told:  # without the lock: a handler may wait for a thread that sends
            log.warning("%s: %s", self._title, self.last_lost)
        # No complete end: a reader that lives after all, as when the driver was lost, waits for
        # another lane of this publisher.
        with suppress(RStreamError):
            seat.publisher.fail("it has given this reader up", linger_s=0)


def named(messages: list[Message]) -> str:
    """Messages by their numbers; of many the first ones."""
    numbers = ", ".join(str(message.number) for message in messages[:NAMED_MAX])
    if len(messages) > NAMED_MAX:
        numbers += f" and {len(messages) - NAMED_MAX} more"
    return f"message{'s' * (len(messages) > 1)} {numbers}"
