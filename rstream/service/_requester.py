"""The caller's side for threads: requests, and streams of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from rstream._process import park_at_exit, quiet_at_exit
from rstream._waits import Deadline, run
from rstream._with_hints import refuses_async_with
from rstream.errors import ClosedError
from rstream.service._answers import AnswerStream
from rstream.service._asking import AskingRequester
from rstream.service._requester_base import PREFETCH, TIMEOUT_S

if TYPE_CHECKING:
    from types import TracebackType

A = TypeVar("A")


@refuses_async_with(
    "`with rstream.service.requester(...)`, or `async with rstream.aio.requester(...)` in an event "
    "loop"
)
class Requester(AskingRequester[A]):
    """Asks one service; made by :func:`rstream.service.requester`. Any thread may use it.

    It keeps a line to the server. A server that closes or dies ends every request that waits
    (:class:`rstream.errors.ServerLost`); the next request finds the next server.
    """

    def request(self, query: Any = None, *, timeout_s: float | None = TIMEOUT_S) -> A:
        """Ask, and wait for the answer.

        Args:
            query: what the codec of queries takes.
            timeout_s: most seconds until the answer is there, the wait for a server included;
                None: as long as a server is there.
        Raises:
            NoServer: nobody serves the name.
            RequestTimeout: no answer in time. The server is told.
            RemoteError: the server's function raised; also an instance of the class of that error
                if it is known (:func:`rstream.errors.register`).
            ServerLost: the server closed or died before it answered.
            BackPressured: no room, or too many requests have no answer.
            CodecError, MessageTooLarge: the query or the answer cannot be sent or read.
            ClosedError: closed here.
        Cost: some 5 µs more than a round trip of two streams (docs/reference/performance.md).
        """
        try:
            return run(self._request_steps(query, timeout_s))
        except ClosedError:
            park_at_exit()
            raise

    @quiet_at_exit
    def request_stream(
        self, query: Any = None, *, prefetch: int = PREFETCH, timeout_s: float | None = TIMEOUT_S
    ) -> AnswerStream[A]:
        """Ask for a stream of answers.

        Args:
            query: what the codec of queries takes.
            prefetch: answers that the server may make ahead of what the loop has taken. 0: none;
                it makes as many as :meth:`AnswerStream.request` asks for.
            timeout_s: most seconds to wait for the next answer; None: as long as the server is
                there.
        Raises:
            RStreamError: as :meth:`request`; those of the server come out of the loop.
        """
        stream: AnswerStream[A] = AnswerStream(self, query, prefetch=prefetch, timeout_s=timeout_s)
        try:
            run(stream._ask_steps(Deadline(timeout_s)))  # pyright: ignore[reportPrivateUsage]
        except BaseException:
            stream.close()
            raise
        return stream

    def close(self) -> None:
        """Give up what is outstanding, whose callers get ClosedError. Idempotent. In a forked child
        it does nothing.
        """
        if not self._forget_inherited():  # another thread may have held the lock
            run(self._close_steps())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
