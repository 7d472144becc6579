"""The subscriber for event loops: its waits are awaited. :mod:`rstream.aio._feed` explains how."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

from rstream._checks import check_timeout
from rstream._pickling import refuse_pickling
from rstream._unclosed import call_site
from rstream._with_hints import refuses_with
from rstream.aio._feed import Feed
from rstream.aio._iterators import Batches, Items
from rstream.aio._turns import turns_here
from rstream.errors import ReadTimeout, StreamEnded
from rstream.stream._internal import INSTEAD_OF_PICKLING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from rstream.aio._turns import Turns
    from rstream.stream._internal import Reading, StreamEvent

T = TypeVar("T")


@refuses_with("`async with rstream.aio.subscriber(...) as sub:`")
class Subscriber(Generic[T]):
    """Receives the objects of a stream in an event loop; :func:`rstream.aio.subscriber` makes it.

    ``async for item in subscriber`` ends when every publisher seen has completed; before the first
    one comes it waits. With ``stays=True`` it waits for the next one as well. A loop that is left,
    cancelled or failed loses nothing: the next loop, :meth:`poll` or :meth:`get` goes on behind the
    last object that was handed out.

    Objects that are there already are handed out without a turn of the event loop for 0.2 ms, and
    at most 128 at a time. The first turn comes after the first object.

    Thread rule: the loop's thread alone uses it, and one task at a time reads. Any number of
    subscribers may be read in one loop.

    Example::

        async with rstream.aio.subscriber("ticks") as sub:
            async for tick in sub:
                print(tick)
    """

    def __init__(
        self,
        source: Reading[T],
        *,
        is_ended: Callable[[], bool] | None = None,
        leave: Callable[[BaseException | None], None] | None = None,
        turns: Turns | None = None,
        made_at: str | None = None,
    ) -> None:
        source.made_at = made_at or call_site()
        self._source = source
        self._feed = Feed(source, is_ended, leave, turns or turns_here())

    def __repr__(self) -> str:
        return f"<rstream.aio.Subscriber over {self._source!r}>"

    # ---- facts ----

    @property
    def prefetch(self) -> int:
        """Most objects handed over at once."""
        return self._source.prefetch

    @property
    def is_connected(self) -> bool:
        """Whether a publisher is there."""
        return not self.is_closed and self._source.is_connected

    @property
    def is_ended(self) -> bool:
        """Whether every publisher seen has completed or failed, and all was handed out. With
        ``stays=True`` it is always False.
        """
        return self._feed.is_ended

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._feed.is_closed

    def events(self) -> list[StreamEvent]:
        """The events since the last call (publishers come and gone, gaps), oldest first. Never
        waits.
        """
        return self._source.events()

    def statistics(self) -> dict[str, int | float | bool]:
        """Counts since the start, as :meth:`rstream.stream.Subscriber.statistics`."""
        return self._source.statistics()

    # ---- reading ----

    def __aiter__(self) -> AsyncIterator[T]:
        """Iterate over single objects.

        Raises:
            RStreamError: as :meth:`poll`; a new iteration goes on behind the error.
        """
        return Items(self._feed)

    def batches(self) -> AsyncIterator[list[T]]:
        """Iterate over lists of 1 to :attr:`prefetch` objects, as they have arrived.

        A list counts as consumed when the loop asks for the next one, or is left.

        Raises:
            RStreamError: as :meth:`poll`; a new iteration goes on behind the error.

        Example::

            async for ticks in sub.batches():
                total += len(ticks)
        """
        return Batches(self._feed)

    def poll(self, limit: int | None = None) -> list[T]:
        """Return up to ``limit`` objects that have arrived; never waits, gives the loop no turn.

        Args:
            limit: most objects; None: :attr:`prefetch`.
        Raises:
            PublisherLost, RemoteError, NameMismatch, CodecError, MessagesLost, SlowConsumer: as
                :meth:`rstream.stream.Subscriber.poll`.
            ClosedError: closed here.
            ConcurrentUseError: another task is reading.
        """
        return self._feed.poll(limit)

    async def get(self, *, timeout_s: float | None = None) -> T:
        """Wait for the next object and return it; ``async for`` and :meth:`batches` cost less.

        A cancelled ``get`` has taken nothing.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes. 0: only what is there.
        Raises:
            ReadTimeout: nothing came within ``timeout_s``.
            StreamEnded: every publisher seen has completed or failed.
            RStreamError: as :meth:`poll`.

        Example::

            tick = await sub.get(timeout_s=1.0)
        """
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        items = await self._feed.next(lambda: self._source.poll(1), deadline_s)
        if items:
            return items[0]
        self._feed.check_open()
        if self.is_ended:
            raise StreamEnded(
                f"{self._source.title}: the stream has ended; every publisher has completed it "
                "or failed",
                hint="with stays=True a subscriber waits for the next publisher",
            )
        raise ReadTimeout(
            f"{self._source.title}: no message within {timeout_s:g} s",
            hint=self._source.hint_of_timeout(timeout_s or 0.0),
        )

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until something may be there: messages, events, the end.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes.
        Returns:
            False: nothing within ``timeout_s``.
        Raises:
            ClosedError: closed here. ConcurrentUseError: another task is reading.
            RStreamError: a lost driver could not be joined again.
        """
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        return await self._feed.wait(deadline_s)

    # ---- the end ----

    async def close(self) -> None:
        """Leave the stream; ends a loop in another task. Idempotent.

        A cancelled ``close`` leaves all the same.
        """
        await self._feed.close()

    def abandon(self) -> None:
        """As :meth:`close`, but it does not wait for a task that reads to leave."""
        self._feed.abandon()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, INSTEAD_OF_PICKLING)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, Exception):
            await self._feed.fail(exc)
        elif exc is not None:
            self._feed.abandon()  # a thread that starts a driver would hold the cancelled task
        else:
            await self._feed.close()
