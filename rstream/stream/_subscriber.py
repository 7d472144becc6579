"""The common base of all subscribers: iteration over ``poll``, ``wait`` and the end."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from rstream._checks import check_timeout
from rstream._pickling import refuse_pickling
from rstream._process import is_inherited, quiet_when_torn_down
from rstream._unclosed import warn_unclosed
from rstream._with_hints import refuses_async_with
from rstream.errors import ReadTimeout, RStreamError, StreamEnded
from rstream.stream import _pump
from rstream.stream._rest import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rstream._waits import Watched
    from rstream.stream._events import StreamEvent
    from rstream.stream._rest import Rest
    from rstream.stream._tally import Tally

T = TypeVar("T")

WAIT_FOREVER_S = 3600.0
#: Seconds after which an event loop looks again, should a wake-up ever be lost.
LOOK_AGAIN_S = 10.0


@refuses_async_with(
    "`with rstream.subscriber(...)`, or `async with rstream.aio.subscriber(...)` in an event loop"
)
class Subscriber(ABC, Generic[T]):
    """Receives the objects of a stream; made by :func:`rstream.subscriber`.

    ``for item in subscriber`` ends when every publisher seen has completed; before the first
    publisher comes it waits. With ``stays=True`` it waits for the next publisher as well. It may be
    left and begun again: the next loop, :meth:`poll` or :meth:`get` goes on behind the last item
    that the loop handed out. After the end a new loop ends at once, unless another publisher has
    come.

    The item whose handling raised counts as consumed and never comes again, with or without a
    ``with`` block. To keep items until they are done, use :mod:`rstream.work` with
    ``acknowledge="explicit"``. What :meth:`get` and :meth:`poll` returned belongs to the program
    and counts as consumed, even if a signal handler raises before the program has assigned it.

    Thread rule: one thread reads; :meth:`wake` and :meth:`close` from any, and from a signal
    handler of the thread that reads.
    """

    #: Most objects handed over at once.
    prefetch: int
    #: The process that made it.
    _pid: int
    _closed: bool = True
    #: Where it was opened, for the warning about one that was not closed.
    made_at: str = "?"
    #: What was polled and not handed out yet.
    rest: Rest[T]
    #: Whether a poll that finds the driver lost joins again itself. False: it returns nothing, and
    #: the owner, who must not block, has a thread call :meth:`join_again` while ``must_join``.
    joins_in_poll: bool = True
    #: Whether :meth:`close` may wait for a thread of its own, so that a loop must not call it.
    closes_slowly: bool = False
    #: Most objects that a loop counts as consumed at once.
    part_most: int = _pump.PART_MOST

    @abstractmethod
    def poll(self, limit: int | None = None) -> list[T]:
        """Return up to ``limit`` objects that have arrived; never waits for messages.

        It takes longer only when the media driver died: then it starts a driver and joins again.

        A poll may return fewer objects than have arrived. What earlier calls of :meth:`get` or a
        loop have left comes first, and alone. Errors keep their place among the objects, and what
        stands behind one is for the polls that follow.

        Args:
            limit: most objects; None: :attr:`prefetch`.
        Raises:
            PublisherLost: a publisher of rstream went without completing; everything that arrived
                from it was handed out before.
            RemoteError: a publisher ended its stream with an error.
            NameMismatch: a message of another name; it is skipped. Raised once per publisher.
            CodecError: a message that cannot be decoded; it is skipped.
            MessagesLost: its group went on without this reader (``on_gap="raise"``); the next poll
                goes on behind the gap.
            SlowConsumer: this consumer was slower than its policy allows; the stream was left, and
                every later poll raises it again.
            ClosedError: closed here.
            ConcurrentUseError: another thread is reading.
        """

    @abstractmethod
    def poll_demanded(self, demand: int) -> list[T]:
        """As :meth:`poll`, but at most ``demand`` objects, which may be 0; for reactive sources.

        Errors and the end need no demand (§2.9). They come after every object before them, so they
        stay back while an object waits for demand.
        """

    def raise_demand(self, n: int) -> None:
        """Tell publishers that ``n`` more objects are wanted; any thread.

        :meth:`poll_demanded` tells it too, but only when earlier objects have been handled.
        """

    @abstractmethod
    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until something may be there (messages, events, the end, :meth:`wake`).

        Args:
            timeout_s: None waits as long as it takes; Ctrl-C ends it.
        Returns:
            False: nothing within ``timeout_s``.
        """

    def _hint_of_timeout(self, timeout_s: float) -> str:
        return "`rstream stat` shows whether a publisher sends to this reader"

    @abstractmethod
    def wake(self) -> None:
        """End a :meth:`wait` under way; any thread."""

    def nudge(self) -> None:
        """End a :meth:`wait` for a ``__del__``: without a lock, so it may be missed."""
        with suppress(RStreamError):
            self.wake()

    @abstractmethod
    def events(self) -> list[StreamEvent]:
        """The events since the last call (publishers come and gone, gaps), oldest first."""

    @abstractmethod
    def statistics(self) -> dict[str, int | float | bool]:
        """Counts since the start; fill and window of the fullest image, in bytes; and ``demand``:
        messages that publishers were asked for and that no poll has taken. A large message in
        shared memory counts with its bytes in ``fill_bytes`` and ``view_bytes``; ``window_bytes``
        is what the log may hold beside it.

        Of the policy for a slow consumer: ``waiting`` and ``capacity`` of its queue (0: it has
        none), ``dropped``, ``conflated``, ``evicted``, ``overruns``, ``gaps`` and
        ``skipped_bytes`` (docs/how-to/slow-consumers.md). Of a codec with ``view=True``:
        ``view_bytes`` that kept views hold back from a publisher, and ``view_holds``, how often
        these came to be more than half of its window, or of its shared memory.
        """

    @abstractmethod
    def close(self) -> None:
        """Leave the stream; ends a loop in another thread, or the one that a signal handler has
        interrupted. Idempotent. In a forked child it does nothing: the stream is the parent's.
        """

    @property
    def is_inherited(self) -> bool:
        """Whether another process made it, and this one is a forked child."""
        return is_inherited(self._pid)

    def forget_inherited(self) -> bool:
        """In a forked child: closed from now on, and nothing else. False: this process made it."""
        if not self.is_inherited:
            return False
        self._closed = True
        return True

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether a publisher is there."""

    @property
    @abstractmethod
    def is_ended(self) -> bool:
        """Whether every publisher seen has completed or failed, and all was handed out. With
        ``stays=True`` it is always False.

        A reader that gets failures as events only (``on_lost="event"``) waits for a completion.
        """

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed

    def get(self, *, timeout_s: float | None = None) -> T:
        """Wait for the next object and return it; ``for`` and :meth:`batches` cost less.

        What it returned belongs to the program and counts as consumed, even if a signal handler
        raises before the program has assigned it. After a handler that raised inside, the object
        comes with the next call. So it is with :meth:`poll`.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes. 0: only what is there.
        Raises:
            ReadTimeout: nothing came within ``timeout_s``.
            StreamEnded: every publisher seen has completed or failed.
            RStreamError: as :meth:`poll`.
        """
        deadline_s = None
        if timeout_s is not None:
            check_timeout(timeout_s)
            deadline_s = time.monotonic() + timeout_s
        while not (items := self.poll(1)):
            if self.is_ended:
                raise StreamEnded(
                    f"{self._stream_title}: the stream has ended; every publisher has completed "
                    "it or failed",
                    hint="with stays=True a subscriber waits for the next publisher",
                )
            left_s = None if deadline_s is None else deadline_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                raise ReadTimeout(
                    f"{self._stream_title}: no message within {timeout_s:g} s",
                    hint=self._hint_of_timeout(timeout_s or 0.0),
                )
            self.wait(left_s)
        return items[0]

    @property
    def _stream_title(self) -> str:
        """The stream and where it is read, for people."""
        return repr(self)

    def batches(self) -> Iterator[list[T]]:
        """Iterate over lists of 1 to :attr:`prefetch` objects, as they have arrived.

        Raises:
            RStreamError: as :meth:`poll`; iteration may go on afterwards.
        """
        return _pump.batches(self, lambda: self._closed)

    def __iter__(self) -> Iterator[T]:
        return _pump.items(self, lambda: self._closed)

    # ---- for event loops (rstream/aio) ----

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
        """End :meth:`join_again` of another thread soon: the subscriber is about to be closed."""

    # ---- for the read loop (_pump.py) ----

    def fill(self, limit: int | None) -> None:
        """Poll, when nothing is left, and leave the objects in :attr:`rest`. They count as consumed
        with :meth:`consume`, or at the next poll.
        """
        self.rest.put(self.poll_held(limit))

    def poll_held(self, limit: int | None) -> list[T]:
        """As :meth:`poll`, but the objects count as consumed with :meth:`consume`, or at the next
        poll. A caller that is interrupted before it has them gets them from the next call.
        """
        return self.poll(limit)

    def consume(self, count: int) -> None:
        """Count the first objects of the last :meth:`poll_held`, :meth:`take_rest` or :meth:`fill`
        as consumed. Idempotent.
        """

    def lend_to(self, tally: Tally) -> bool:
        """From now on the tally says what counts as consumed (_tally.py). False: that cannot be.

        Thread rule: the thread that reads.
        """
        return False

    def window_bytes(self) -> int:
        """The window of its publishers; 0: there is none, or it is not known."""
        return 0

    def take_rest(self, limit: int) -> list[T]:
        """Take from what is left, before anything else is read."""
        rest = self.rest
        if rest.left is NOTHING or self._closed:
            return []
        self.consume(rest.handed_out())
        base = rest.end - length_hint(rest.left)
        chosen = islice(rest.left, limit)
        rest.base, rest.polled = base, None
        return [*chosen]  # no signal handler runs before the return

    def __reduce__(self) -> NoReturn:
        refuse_pickling(
            self,
            "pass the stream's name and open a subscriber there; in a Ray actor, "
            "rstream.ray.reader(name), whose handle can be pickled",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.note_failure(exc)
        self.close()

    def note_failure(self, error: BaseException | None) -> None:
        """For the faces, before :meth:`close`: the error with which it leaves. Publishers and tools
        show it; it fails nobody. None: it leaves without one.
        """

    @quiet_when_torn_down
    def __del__(self) -> None:
        if not (self._closed or self.forget_inherited()):
            warn_unclosed(self, self.made_at)


def title_of(subscriber: Subscriber[Any]) -> str:
    """The stream and where it is read, for people."""
    return subscriber._stream_title  # pyright: ignore[reportPrivateUsage] - same file


def hint_of_timeout(subscriber: Subscriber[Any], timeout_s: float) -> str:
    """What to look at when no message came; of a short wait only the directory is told."""
    return subscriber._hint_of_timeout(timeout_s)  # pyright: ignore[reportPrivateUsage] - same file
