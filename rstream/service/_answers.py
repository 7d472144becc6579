"""A stream of answers, for threads."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from rstream._process import park_at_exit, quiet_when_torn_down
from rstream._with_hints import refuses_async_with
from rstream.errors import ClosedError, CodecError, RStreamError
from rstream.service._caller import check_demand
from rstream.service._wire import Kind

if TYPE_CHECKING:
    from types import TracebackType

    from rstream.service._calls import Call
    from rstream.service._line import Line
    from rstream.service._requester import Requester

A = TypeVar("A")


@refuses_async_with(
    "`with requester.request_stream(...)`, or use rstream.aio.requester(...) in an event loop"
)
class AnswerStream(Generic[A]):
    """The answers to one request, in order: ``for answer in stream``. One thread at a time.

    Leaving it, by :meth:`close` or ``with``, or when it is collected, tells the server, which
    closes its generator. After an interrupt in the wait for an answer the next loop goes on.
    """

    def __init__(
        self, owner: Requester[A], line: Line, call: Call, *, prefetch: int, timeout_s: float | None
    ) -> None:
        self._owner = owner
        self._line = line
        self._call = call
        self._answers: deque[tuple[int, bytes]] = deque() if call.answers is None else call.answers
        self._prefetch = prefetch
        self._timeout_s = timeout_s
        self._granted = prefetch
        self._must_tell = False
        self._taken = 0

    @property
    def is_over(self) -> bool:
        """Whether all has been taken, or it was closed."""
        return self._call.is_over and not self._answers

    def request(self, n: int) -> None:
        """Let the server make ``n`` more answers.

        Raises:
            ConfigError: ``n`` is no whole number above 0.
        """
        check_demand(n)
        self._grant(self._granted + n)

    def _grant(self, granted: int) -> None:
        if not self._call.is_over:
            # Without room now, or after an interrupt, it is told in the wait for the next answer.
            self._granted, self._must_tell = granted, True
            self._must_tell = not self._line.tell(Kind.MORE, self._call.call_id, granted)

    def _is_ready(self) -> bool:
        if self._must_tell:
            self._grant(self._granted)
        return bool(self._answers) or self._call.is_over

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> A:
        call = self._call
        try:
            if not self._answers:
                self._await_answer(call)
            if not self._answers:
                error, call.error = call.error, None
                if error is not None:
                    raise error
                raise StopIteration
        except ClosedError:
            park_at_exit()
            raise
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

    def _await_answer(self, call: Call) -> None:
        owner, timeout_s = self._owner, self._timeout_s
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            wait = owner._wait  # pyright: ignore[reportPrivateUsage]
            is_here = wait(self._line, self._is_ready, deadline_s)
        except RStreamError:  # after an interrupt the stream goes on
            self.close()
            raise
        if not is_here:
            self.close()
            error = owner._timeout(timeout_s)  # pyright: ignore[reportPrivateUsage]
            if self._granted <= self._taken:
                error.hint = "no answer was requested: call request(n), or give a prefetch above 0"
            raise error

    def close(self) -> None:
        """Tell the server to make no more, and drop what has come. Idempotent; never waits."""
        call = self._call
        self._line.forget(call)
        call.is_over = True
        self._answers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @quiet_when_torn_down
    def __del__(self) -> None:
        call = getattr(self, "_call", None)  # None: its constructor was interrupted
        if call is not None and not call.is_over:
            with suppress(Exception):  # at the end of the interpreter
                self.close()
