"""What a program sees of a reader: a thin face over its engine (_reading.py)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Generic, NoReturn, Self, TypeVar

from rstream._checks import check_timeout
from rstream._pickling import refuse_pickling
from rstream._with_hints import refuses_async_with
from rstream.errors import ReadTimeout, StreamEnded
from rstream.stream import _pump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rstream.stream._events import StreamEvent
    from rstream.stream._reading._reading import Reading

__all__ = ("INSTEAD_OF_PICKLING", "Subscriber")

T = TypeVar("T")

INSTEAD_OF_PICKLING: Final = (
    "pass the stream's name and open a subscriber there; in a Ray actor, "
    "rstream.ray.reader(name), whose handle can be pickled"
)


@refuses_async_with(
    "`with rstream.subscriber(...)`, or `async with rstream.aio.subscriber(...)` in an event loop"
)
class Subscriber(Generic[T]):
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

    def __init__(self, reading: Reading[T]) -> None:
        self._reading = reading
        # This replaces the method of the same name below, which describes it: one call less.
        vars(self).update(poll=reading.poll)

    def __repr__(self) -> str:
        return repr(self._reading)

    # ---- facts ----

    @property
    def prefetch(self) -> int:
        """Most objects handed over at once."""
        return self._reading.prefetch

    @property
    def is_connected(self) -> bool:
        """Whether a publisher is there."""
        return self._reading.is_connected

    @property
    def is_ended(self) -> bool:
        """Whether every publisher seen has completed or failed, and all was handed out. With
        ``stays=True`` it is always False.

        A reader that gets failures as events only (``on_lost="event"``) waits for a completion.
        """
        return self._reading.is_ended

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._reading.is_closed

    def events(self) -> list[StreamEvent]:
        """The events since the last call (publishers come and gone, gaps), oldest first."""
        return self._reading.events()

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
        return self._reading.statistics()

    # ---- reading ----

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
        return self._reading.poll(limit)

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
        deadline_s, reading = None, self._reading
        if timeout_s is not None:
            check_timeout(timeout_s)
            deadline_s = time.monotonic() + timeout_s
        while not (items := reading.poll(1)):
            if reading.is_ended:
                raise StreamEnded(
                    f"{reading.title}: the stream has ended; every publisher has completed it or "
                    "failed",
                    hint="with stays=True a subscriber waits for the next publisher",
                )
            left_s = None if deadline_s is None else deadline_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                raise ReadTimeout(
                    f"{reading.title}: no message within {timeout_s:g} s",
                    hint=reading.hint_of_timeout(timeout_s or 0.0),
                )
            reading.wait(left_s)
        return items[0]

    def batches(self) -> Iterator[list[T]]:
        """Iterate over lists of 1 to :attr:`prefetch` objects, as they have arrived.

        Raises:
            RStreamError: as :meth:`poll`; iteration may go on afterwards.
        """
        reading = self._reading
        return _pump.batches(reading, lambda: reading.is_closed)

    def __iter__(self) -> Iterator[T]:
        reading = self._reading
        return _pump.items(reading, lambda: reading.is_closed)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until something may be there (messages, events, the end, :meth:`wake`).

        Args:
            timeout_s: None waits as long as it takes; Ctrl-C ends it.
        Returns:
            False: nothing within ``timeout_s``.
        """
        return self._reading.wait(timeout_s)

    def wake(self) -> None:
        """End a :meth:`wait` under way; any thread."""
        self._reading.wake()

    # ---- life ----

    def close(self) -> None:
        """Leave the stream; ends a loop in another thread, or the one that a signal handler has
        interrupted. Idempotent. In a forked child it does nothing: the stream is the parent's.
        """
        self._reading.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, INSTEAD_OF_PICKLING)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._reading.note_failure(exc)
        self._reading.close()
