"""The reading engine: polls, waits and the end. What users see of it is in _subscriber.py.

    StreamReading       reads a stream (_stream_reading.py)
    BufferedReading     takes from the queue of a policy, which a thread fills (_buffered.py)
    CommittedReading    hands out what was committed (rstream/ledger/_reading.py)
    ObservableReading   reads an Observable (rstream/rx/_to_publisher.py)

Loops (_pump.py), event loops (rstream/aio/_feed.py) and other rooms use it by these names.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Generic, TypeVar

from rstream._process import is_inherited, quiet_when_torn_down
from rstream._unclosed import call_site, warn_unclosed
from rstream.errors import RStreamError
from rstream.stream import _pump
from rstream.stream._reading._rest import NOTHING, Rest

if TYPE_CHECKING:
    from rstream._waits import Watched
    from rstream.stream._events import StreamEvent
    from rstream.stream._tally import Tally

__all__ = ("WAIT_FOREVER_S", "Reading")

T = TypeVar("T")

WAIT_FOREVER_S = 3600.0
#: Seconds after which an event loop looks again, should a wake-up ever be lost.
LOOK_AGAIN_S = 10.0


class Reading(ABC, Generic[T]):
    """Reads objects; one thread at a time, but for :meth:`wake` and :meth:`close`.

    Args:
        prefetch: most objects handed over at once.
        in_hand: as of the rest.

    Attributes:
        prefetch: as the argument.
        rest: what was polled and not handed out yet.
        is_closed: it was closed here.
        made_at: where it was opened, for the warning about one that was not closed.
        joins_in_poll: whether a poll that finds the driver lost joins again itself. False: it
            returns nothing, and the owner, who must not block, has a thread call
            :meth:`join_again` while ``must_join``.
        closes_slowly: whether :meth:`close` may wait for a thread of its own, so that a loop must
            not call it.
        part_most: most objects that a loop counts as consumed at once.
    """

    is_closed: bool = True  # __del__ runs even when the constructor raises
    joins_in_poll: bool = True
    closes_slowly: bool = False
    part_most: int = _pump.PART_MOST

    def __init__(self, prefetch: int, *, in_hand: int = 0, made_at: str | None = None) -> None:
        self.prefetch: int = prefetch
        self.rest: Rest[T] = Rest(in_hand)
        self.made_at: str = made_at or call_site()
        self._pid = os.getpid()

    @property
    def title(self) -> str:
        """The stream and where it is read, for people."""
        return repr(self)

    def hint_of_timeout(self, timeout_s: float) -> str:
        """What to look at when no message came; of a short wait only the directory is told."""
        return "`rstream stat` shows whether a publisher sends to this reader"

    # ---- polls ----

    @abstractmethod
    def poll(self, limit: int | None = None) -> list[T]:
        """As :meth:`rstream.stream.Subscriber.poll`: what it returns counts as consumed."""

    @abstractmethod
    def poll_demanded(self, demand: int) -> list[T]:
        """As :meth:`poll`, but at most ``demand`` objects, which may be 0; for reactive sources.

        Errors and the end need no demand (§2.9). They come after every object before them, so they
        stay back while an object waits for demand.
        """

    def poll_held(self, limit: int | None) -> list[T]:
        """As :meth:`poll`, but the objects count as consumed with :meth:`consume`, or at the next
        poll. A caller that is interrupted before it has them gets them from the next call.
        """
        return self.poll(limit)

    def fill(self, limit: int | None) -> None:
        """Poll, when nothing is left, and leave the objects in :attr:`rest`. They count as consumed
        with :meth:`consume`, or at the next poll.
        """
        self.rest.put(self.poll_held(limit))

    def take_rest(self, limit: int) -> list[T]:
        """Take from what is left, before anything else is read."""
        rest = self.rest
        if rest.left is NOTHING or self.is_closed:
            return []
        self.consume(rest.handed_out())
        base = rest.end - length_hint(rest.left)
        chosen = islice(rest.left, limit)
        rest.base, rest.polled = base, None
        return [*chosen]  # no signal handler runs before the return

    def consume(self, count: int) -> None:
        """Count the first objects of the last :meth:`poll_held`, :meth:`take_rest` or :meth:`fill`
        as consumed. Idempotent.
        """

    def lend_to(self, tally: Tally) -> bool:
        """From now on the tally says what counts as consumed (_tally.py). False: that cannot be.

        Thread rule: the thread that reads.
        """
        return False

    def raise_demand(self, n: int) -> None:
        """Tell publishers that ``n`` more objects are wanted; any thread.

        :meth:`poll_demanded` tells it too, but only when earlier objects have been handled.
        """

    # ---- waits ----

    @abstractmethod
    def wait(self, timeout_s: float | None = None) -> bool:
        """As :meth:`rstream.stream.Subscriber.wait`."""

    @abstractmethod
    def wake(self) -> None:
        """End a :meth:`wait` under way; any thread."""

    def nudge(self) -> None:
        """End a :meth:`wait` for a ``__del__``: without a lock, so it may be missed."""
        with suppress(RStreamError):
            self.wake()

    @property
    @abstractmethod
    def watched(self) -> Watched:
        """The descriptor that becomes readable when a poll may find something; another one after
        :meth:`join_again`.
        """

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether a poll finds something that the descriptor does not tell, such as an error that
        was kept back.
        """

    def patience_s(self) -> float:
        """Most seconds to watch the descriptor before :meth:`note_quiet`."""
        return LOOK_AGAIN_S

    def note_quiet(self) -> None:
        """Look at what only time brings about: publishers that do not come back, and the like."""

    # ---- joining again ----

    def set_joins_in_poll(self, joins: bool) -> None:
        """Set :attr:`joins_in_poll`."""
        self.joins_in_poll = joins

    @property
    def must_join(self) -> bool:
        """Whether the driver was lost and no poll goes on before :meth:`join_again`."""
        return False

    def join_again(self) -> None:
        """Join again; may start a driver. One thread at a time, and none polls meanwhile.

        Raises:
            RStreamError: as :meth:`poll`; the next poll tries again.
        """

    def stop_joining(self) -> None:
        """End :meth:`join_again` of another thread soon: it is about to be closed."""

    # ---- facts ----

    @abstractmethod
    def events(self) -> list[StreamEvent]:
        """The events since the last call, oldest first."""

    @abstractmethod
    def statistics(self) -> dict[str, int | float | bool]:
        """As :meth:`rstream.stream.Subscriber.statistics`."""

    def window_bytes(self) -> int:
        """The window of its publishers; 0: there is none, or it is not known."""
        return 0

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether a publisher is there."""

    @property
    @abstractmethod
    def is_ended(self) -> bool:
        """Whether every publisher seen has completed or failed, and all was handed out."""

    # ---- life ----

    @abstractmethod
    def close(self) -> None:
        """As :meth:`rstream.stream.Subscriber.close`."""

    def note_failure(self, error: BaseException | None) -> None:
        """Before :meth:`close`: the error with which it leaves. Publishers and tools show it; it
        fails nobody. None: it leaves without one.
        """

    @property
    def is_inherited(self) -> bool:
        """Whether another process made it, and this one is a forked child."""
        return is_inherited(self._pid)

    def forget_inherited(self) -> bool:
        """In a forked child: closed from now on, and nothing else. False: this process made it."""
        if not self.is_inherited:
            return False
        self.is_closed = True
        return True

    @quiet_when_torn_down
    def __del__(self) -> None:
        if not (self.is_closed or self.forget_inherited()):
            warn_unclosed(self, self.made_at)
