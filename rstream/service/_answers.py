"""Streams of answers: what threads and event loops share, and the one for threads."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from rstream._checks import check_timeout
from rstream._process import park_at_exit, quiet_when_torn_down
from rstream._waits import Deadline, run
from rstream._with_hints import refuses_async_with
from rstream.errors import ClosedError, CodecError, RStreamError
from rstream.service._requester_base import check_demand, check_prefetch
from rstream.service._wire import MessageKind

if TYPE_CHECKING:
    from types import TracebackType

    from rstream._waits import Steps
    from rstream.service._asking import AskingRequester
    from rstream.service._calls import Call
    from rstream.service._line import Line

A = TypeVar("A")


class Answers(Generic[A]):
    """The part of a stream of answers that never waits, and the steps that do.

    Raises:
        ConfigError: an argument cannot be used.
    """

    def __init__(
        self, owner: AskingRequester[A], query: Any, *, prefetch: int, timeout_s: float | None
    ) -> None:
        self._call: Call | None = None
        check_timeout(timeout_s)
        check_prefetch(prefetch)
        self._owner = owner
        self._query = query
        self._line: Line
        self._answers: deque[tuple[int, bytes]] = deque()
        self._prefetch = prefetch
        self._timeout_s = timeout_s
        self._granted = prefetch
        self._must_tell = False
        self._taken = 0
        self._is_closed = False

    def _ask_more(self, n: int) -> None:
        check_demand(n)
        self._grant(self._granted + n)

    def _grant(self, granted: int) -> None:
        call = self._call
        if call is None:
            self._granted = granted
        elif not call.is_over:
            # Without room now, or after an interrupt, it is told in the wait for the next answer.
            self._granted, self._must_tell = granted, True
            self._must_tell = not self._line.tell(MessageKind.MORE, call.call_id, granted)

    def _ask_steps(self, deadline: Deadline) -> Steps[Call]:
        ask = self._owner._ask_steps  # pyright: ignore[reportPrivateUsage]
        line, call = yield from ask(
            MessageKind.ASK_STREAM, self._query, self._granted, self._timeout_s, deadline
        )
        # Without a call: a signal handler that raises must not leave a request that nobody has.
        self._line = line
        if call.answers is not None:
            self._answers = call.answers
        self._call = call
        return call

    def _await_steps(self) -> Steps[None]:
        """Wait for an answer, or the end of the stream.

        Raises:
            RStreamError: the stream has ended with it. After an interrupt it goes on.
        """
        owner, timeout_s, call = self._owner, self._timeout_s, self._call
        deadline = Deadline(timeout_s)
        try:
            if call is None:
                call = yield from self._ask_steps(deadline)
            wait = owner._wait_steps  # pyright: ignore[reportPrivateUsage]
            if not (yield from wait(self._line, self._is_ready, deadline)):
                error = owner._timeout(timeout_s)  # pyright: ignore[reportPrivateUsage]
                if self._granted <= self._taken:
                    error.hint = (
                        "no answer was requested: call request(n), or give a prefetch above 0"
                    )
                raise error
        except RStreamError:
            self._drop()
            raise
        if not self._answers and call.error is not None:
            failure, call.error = call.error, None
            raise failure

    def _is_ready(self) -> bool:
        if self._must_tell:
            self._grant(self._granted)
        return bool(self._answers) or self._call is None or self._call.is_over

    def _take(self) -> A:
        """The next answer, which is here."""
        codec_id, body = self._answers[0]
        taken = self._taken + 1
        if 2 * (self._granted - taken) <= self._prefetch and self._prefetch:
            self._grant(taken + self._prefetch)
        try:
            answer = self._owner._decoded(codec_id, body)  # pyright: ignore[reportPrivateUsage]
        except CodecError:
            del self._answers[0]
            self._taken = taken
            raise
        # Without a call from here on: a signal handler that raises must lose no answer.
        del self._answers[0]
        self._taken = taken
        return answer

    def _drop(self) -> None:
        """Tell the server to make no more, and drop what has come."""
        self._is_closed = True
        call = self._call
        if call is not None:
            self._line.forget(call)
            call.is_over = True
            self._answers.clear()

    @quiet_when_torn_down
    def __del__(self) -> None:
        call = getattr(self, "_call", None)  # None: it has not asked
        if call is not None and not call.is_over:
            with suppress(Exception):  # at the end of the interpreter
                self._drop()


@refuses_async_with(
    "`with requester.request_stream(...)`, or use rstream.aio.requester(...) in an event loop"
)
class AnswerStream(Answers[A]):
    """The answers to one request, in order: ``for answer in stream``. One thread at a time.

    Leaving it, by :meth:`close` or ``with``, or when it is collected, tells the server, which
    closes its generator. After an interrupt in the wait for an answer the next loop goes on.
    """

    @property
    def is_over(self) -> bool:
        """Whether all has been taken, or it was closed."""
        return (self._call is None or self._call.is_over) and not self._answers

    def request(self, n: int) -> None:
        """Let the server make ``n`` more answers.

        Raises:
            ConfigError: ``n`` is no whole number above 0.
        """
        self._ask_more(n)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> A:
        if not self._answers:
            try:
                run(self._await_steps())
            except ClosedError:
                park_at_exit()
                raise
            if not self._answers:
                raise StopIteration
        return self._take()

    def close(self) -> None:
        """Tell the server to make no more, and drop what has come. Idempotent; never waits."""
        self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
