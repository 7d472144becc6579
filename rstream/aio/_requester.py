"""The caller's side for event loops: requests, and streams of answers.

No task of our own runs in the background: one of the tasks that wait reads for all
(:mod:`rstream.service._asking`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio
import anyio.lowlevel

from rstream._with_hints import refuses_with
from rstream.aio._run import Performer, run
from rstream.service._internal import PREFETCH, TIMEOUT_S, Answers, AskingRequester

if TYPE_CHECKING:
    from types import TracebackType

    from rstream.service._internal import ServicePlace

A = TypeVar("A")


@refuses_with("`async with rstream.aio.requester(...) as asks:`")
class Requester(AskingRequester[A]):
    """Asks one service; made by :func:`rstream.aio.requester`. The tasks of one event loop use it.

    See :class:`rstream.service.Requester`, which is the same for threads.
    """

    def __init__(self, place: ServicePlace, **options: Any) -> None:
        super().__init__(place, **options)
        self._perform = Performer()

    async def request(self, query: Any = None, *, timeout_s: float | None = TIMEOUT_S) -> A:
        """Ask, and wait for the answer. Cancelling it tells the server.

        Args:
            query, timeout_s: as for :meth:`rstream.service.Requester.request`.
        Raises:
            RStreamError: as there.
        """
        return await run(self._request_steps(query, timeout_s), self._perform)

    def request_stream(
        self, query: Any = None, *, prefetch: int = PREFETCH, timeout_s: float | None = TIMEOUT_S
    ) -> AnswerStream[A]:
        """Ask for a stream of answers: ``async for answer in asks.request_stream(query)``.

        Args:
            query, prefetch, timeout_s: as for :meth:`rstream.service.Requester.request_stream`.
        Raises:
            ConfigError: an argument cannot be used. All other errors come out of the loop, which
                asks when it begins.
        """
        return AnswerStream(self, query, prefetch=prefetch, timeout_s=timeout_s)

    async def close(self) -> None:
        """Give up what is outstanding, whose callers get an error. Idempotent."""
        if not self._forget_inherited():
            with anyio.CancelScope(shield=True):
                await run(self._close_steps(), self._perform)

    def abandon(self) -> None:
        """Close it where nothing can be awaited: its event loop has ended."""
        if not self._forget_inherited():
            self._closed = True
            self._close_line()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


@refuses_with("`async with requester.request_stream(...) as answers:`")
class AnswerStream(Answers[A]):
    """The answers to one request, in order: ``async for answer in stream``. One task at a time.

    Leaving it tells the server: ``async with``, :meth:`close`, a cancellation or an error in the
    wait for an answer, or when it is collected. After an interrupt (a signal handler that raises)
    the next loop goes on.
    """

    def __init__(
        self, owner: Requester[A], query: Any, *, prefetch: int, timeout_s: float | None
    ) -> None:
        super().__init__(owner, query, prefetch=prefetch, timeout_s=timeout_s)
        self._perform = owner._perform  # pyright: ignore[reportPrivateUsage]

    def request(self, n: int) -> None:
        """Let the server make ``n`` more answers.

        Raises:
            ConfigError: ``n`` is no whole number above 0.
        """
        self._ask_more(n)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> A:
        if self._is_closed:
            raise StopAsyncIteration
        if not self._answers:
            try:
                await run(self._await_steps(), self._perform)
            except BaseException as error:
                if isinstance(error, (GeneratorExit, anyio.get_cancelled_exc_class())):
                    self._drop()
                raise
            if not self._answers:
                raise StopAsyncIteration
        return self._take()

    async def close(self) -> None:
        """Tell the server to make no more, and drop what has come. Idempotent."""
        self._drop()
        await anyio.lowlevel.checkpoint()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._drop()
