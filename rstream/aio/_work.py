"""Shared work in an event loop: the two ends of :mod:`rstream.work`, with waits that are awaited.

The steps are those of the ends for threads. In a wait a task sleeps on a descriptor, which the
thread of the publisher, or the transport, makes readable.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

import anyio
import anyio.lowlevel

from rstream._checks import check_timeout
from rstream._pickling import refuse_pickling
from rstream._with_hints import refuses_with
from rstream.aio._feed import Feed
from rstream.aio._run import Performer, run
from rstream.aio._thread_call import ThreadCall

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rstream.aio._turns import Turns
    from rstream.work import Job, Unfinished
    from rstream.work._internal import Giving, Taking

T = TypeVar("T")


@refuses_with("`async with rstream.aio.work_publisher(...) as jobs:`")
class WorkPublisher(Generic[T]):
    """Gives each message to one reader; :func:`rstream.aio.work_publisher` makes it.

    Thread rule: the loop's thread alone uses it; any number of its tasks may send. A cancelled
    ``send`` has sent nothing.

    Example::

        async with rstream.aio.work_publisher("jobs") as jobs:
            await jobs.send(path)
    """

    def __init__(self, giving: Giving[T]) -> None:
        self._giving = giving

    def __repr__(self) -> str:
        return f"<rstream.aio.WorkPublisher over {self._giving!r}>"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "open one there")

    # ---- facts ----

    @property
    def name(self) -> str:
        """The name of the work."""
        return self._giving.name

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return self._giving.readers

    @property
    def unacknowledged(self) -> int:
        """How many messages were sent and are not finished."""
        return self._giving.unacknowledged

    def events(self) -> list[Unfinished]:
        """What will not be sent again, as :meth:`rstream.work.Publisher.events`. Never waits."""
        return self._giving.events()

    def statistics(self) -> dict[str, int]:
        """Counts, as :meth:`rstream.work.Publisher.statistics`."""
        return self._giving.statistics()

    # ---- sending ----

    async def send(self, obj: T, *, timeout_s: float | None = None) -> int:
        """Give one object to a reader that has free demand; wait for one.

        Args:
            obj: what the codec takes.
            timeout_s: most seconds to wait for free demand; None: as long as readers are there.
        Returns:
            The number of the message, from 1 on.
        Raises:
            RStreamError: as :meth:`rstream.work.Publisher.send`.
        """
        await anyio.lowlevel.checkpoint()  # before: what was sent must not be cancelled
        message, steps = self._giving.begin(obj, timeout_s)
        if steps is not None:
            await run(steps, Performer())
        return message.number

    async def send_many(
        self, objects: Iterable[T] | AsyncIterable[T], *, timeout_s: float | None = None
    ) -> int:
        """Send each object of an iterable, also an async one; returns how many.

        Raises:
            RStreamError: as :meth:`send`; the objects before were sent.
        """
        count = 0
        if isinstance(objects, AsyncIterable):
            async for obj in objects:
                await self.send(obj, timeout_s=timeout_s)
                count += 1
            return count
        for obj in objects:
            await self.send(obj, timeout_s=timeout_s)
            count += 1
        return count

    def offer(self, obj: T) -> bool:
        """Give one object to a reader if one has free demand now; never waits.

        Returns:
            False: it was not taken.
        Raises:
            RStreamError: as :meth:`rstream.work.Publisher.offer`.
        """
        return self._giving.offer(obj)

    async def wait_acknowledged(self, *, timeout_s: float | None = None) -> bool:
        """Wait until every message that was sent is finished: acknowledged, or in :meth:`events`.

        Args:
            timeout_s: None: as long as it takes.
        Returns:
            False: not within ``timeout_s``.
        """
        await anyio.lowlevel.checkpoint()
        await run(self._giving.end_steps(timeout_s), Performer())
        return self.unacknowledged == 0

    # ---- the end ----

    async def close(self, *, linger_s: float | None = None) -> None:
        """Wait until every message is acknowledged, then say that the work is complete. Idempotent.

        A cancelled ``close`` does not wait any longer, and closes.

        Args:
            linger_s: most seconds to wait; None: as the publisher was made with.
        """
        giving = self._giving
        if not giving.begin_close(linger_s):
            return
        try:
            steps = giving.end_steps(giving.linger_s if linger_s is None else linger_s)
            await run(steps, Performer())
        finally:
            with anyio.CancelScope(shield=True):
                await ThreadCall(giving.let_go).result()

    def abandon(self) -> None:
        """Close it where nothing can be awaited."""
        if self._giving.begin_close():
            self._giving.let_go()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close(linger_s=self._giving.linger_after(exc))
        self._giving.check_finished(exc)


@refuses_with("`async with rstream.aio.work_subscriber(...) as jobs:`")
class WorkSubscriber(Generic[T]):
    """Takes jobs in an event loop; :func:`rstream.aio.work_subscriber` makes it.

    ``async for job in jobs`` ends when every publisher seen has completed. A cancellation in the
    wait for a job has taken none.

    Thread rule: the loop's thread alone uses it, and one task at a time takes jobs.
    :meth:`rstream.work.Job.ack` and ``give_back`` never wait; any task or thread.

    Example::

        async with rstream.aio.work_subscriber("jobs") as jobs:
            async for job in jobs:
                await convert(job.item)
    """

    def __init__(self, taking: Taking[T], *, turns: Turns) -> None:
        self._taking = taking
        taking.source.closes_slowly = True  # its reporter is a thread
        self._feed = Feed(taking.source, None, lambda _: taking.close(), turns)

    def __repr__(self) -> str:
        return f"<rstream.aio.WorkSubscriber over {self._taking!r}>"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "open one there")

    # ---- facts ----

    @property
    def name(self) -> str:
        """The name of the work."""
        return self._taking.name

    @property
    def endpoint(self) -> str:
        """``host:port`` where publishers send jobs to this reader; empty: shared memory."""
        return self._taking.endpoint

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._feed.is_closed

    def statistics(self) -> dict[str, int]:
        """Counts, as :meth:`rstream.work.Subscriber.statistics`."""
        return self._taking.statistics()

    # ---- taking ----

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Job[T]:
        job = await self._feed.run(self._taking.next_steps(None))
        if job is None:
            raise StopAsyncIteration
        return job

    async def get(self, *, timeout_s: float | None = None) -> Job[T]:
        """Wait for the next job.

        With ``acknowledge="next"`` it acknowledges the one before.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes.
        Raises:
            ReadTimeout: no job within ``timeout_s``.
            StreamEnded: every publisher seen has completed.
            ClosedError: closed here.
            ConcurrentUseError: another task takes jobs.
        """
        check_timeout(timeout_s)
        job = await self._feed.run(self._taking.next_steps(timeout_s))
        if job is None:
            self._feed.check_open()
            raise self._taking.why_none(timeout_s)
        return job

    # ---- the end ----

    async def close(self) -> None:
        """Leave. Jobs that are not acknowledged go to other readers: marked, unless nobody has seen
        them. Idempotent.
        """
        await self._feed.close()

    def abandon(self) -> None:
        """As :meth:`close`, but it waits for nothing."""
        self._feed.abandon()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._taking.leave_current(is_done=exc is None)
        self._taking.note_failure(exc)
        if exc is None or isinstance(exc, Exception):
            await self._feed.close()
        else:
            self._feed.abandon()
