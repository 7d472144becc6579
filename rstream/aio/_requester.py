"""The caller's side for event loops: requests, and streams of answers.

As in :mod:`rstream.service._requester` one of the waiting tasks reads for all, and hands its part
on when it has its answer or is cancelled. So no task of our own runs in the background.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import anyio
import anyio.lowlevel

from rstream._checks import check_timeout
from rstream._core import NOT_CONNECTED
from rstream._process import quiet_when_torn_down
from rstream._with_hints import refuses_with
from rstream.aio._sleeper import Sleeper
from rstream.aio._thread_call import ThreadCall
from rstream.errors import CodecError, RStreamError
from rstream.service._caller import (
    PREFETCH,
    TIMEOUT_S,
    Caller,
    check_demand,
    check_prefetch,
)
from rstream.service._line import LOOK_S, Line, seconds_left
from rstream.service._wire import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rstream.service._calls import Call
    from rstream.service._place import Place

A = TypeVar("A")

_PAUSE_S = 0.001


@refuses_with("`async with rstream.aio.requester(...) as asks:`")
class Requester(Caller[A]):
    """Asks one service; made by :func:`rstream.aio.requester`. The tasks of one event loop use it.

    See :class:`rstream.service.Requester`, which is the same for threads.
    """

    def __init__(self, place: Place, **options: Any) -> None:
        super().__init__(place, **options)
        self._is_opening = False  # a task is; no Lock, which an interrupted task might keep
        self._is_led = False
        self._sleeper = Sleeper()  # of the task that leads
        self._followers: dict[anyio.Event, Callable[[], bool]] = {}

    # ---- asking ----

    async def request(self, query: Any = None, *, timeout_s: float | None = TIMEOUT_S) -> A:
        """Ask, and wait for the answer. Cancelling it tells the server.

        Args:
            query, timeout_s: as for :meth:`rstream.service.Requester.request`.
        Raises:
            RStreamError: as there.
        """
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        number = 0 if timeout_s is None else max(1, int(timeout_s * 1e6))
        line, call = await self._ask(Kind.ASK, query, number, timeout_s, deadline_s)
        try:
            while not call.is_over:
                if not await self._wait(line, lambda: call.is_over, deadline_s):
                    raise self._timeout(timeout_s)
        finally:
            if not call.is_over:
                line.calls.by_id.pop(call.call_id, None)  # first: no handler runs before
                line.forget(call)
        if call.error is not None:
            raise call.error
        return self._decoded(call.codec_id, call.body)

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
        check_timeout(timeout_s)
        check_prefetch(prefetch)
        return AnswerStream(self, query, prefetch=prefetch, timeout_s=timeout_s)

    async def _ask(
        self,
        kind: int,
        query: Any,
        number: int,
        timeout_s: float | None,
        deadline_s: float | None,
    ) -> tuple[Line, Call]:
        body = self._encoded(query)
        line = self._line
        if line is not None and line.is_quiet and not self._is_led:
            while not line.is_dead and line.take():
                pass
        if line is None or line.is_dead or self._closed:
            line = await self._open()
        calls = line.calls
        while (call := calls.add(is_stream=kind == Kind.ASK_STREAM)) is None:
            if not await self._wait(line, lambda: calls.has_room, deadline_s):
                raise self._full(timeout_s)
        try:
            message = line.message(kind, self._query_codec.codec_id, call.call_id, number, body)
            began_s = time.monotonic()
            if line.is_large(message):
                await self._send_large(line, message, deadline_s)
                return line, call
            while (position := line.offer(message)) <= 0:
                if self._closed:
                    raise self._closed_error()
                if seconds_left(deadline_s) <= 0:
                    raise line.refused(position, time.monotonic() - began_s)
                await anyio.sleep(_PAUSE_S)
        except BaseException:
            line.forget(call)  # an interrupt may have come when it was sent
            raise
        return line, call

    async def _send_large(self, line: Line, message: bytes, deadline_s: float | None) -> None:
        """Send a message in parts, in a thread."""
        began_s = time.monotonic()
        while not line.is_connected:
            if seconds_left(deadline_s) <= 0 or self._closed:
                raise line.refused(NOT_CONNECTED, time.monotonic() - began_s)
            await anyio.sleep(_PAUSE_S)

        def send() -> None:
            line.send_large(message, seconds_left(deadline_s))

        await ThreadCall(send).result()

    async def _open(self) -> Line:
        while self._is_opening:  # noqa: ASYNC110 - as the wait for a leader that leaves
            await anyio.sleep(_PAUSE_S)
        self._is_opening = True
        try:
            if self._closed:
                raise self._closed_error()
            old = self._line
            if old is not None and not old.is_dead:
                return old
            if old is not None:
                await self._leave(old)

            def make() -> Line:
                return Line(self.place, self._dir, self.outstanding)

            self._line = line = await ThreadCall(make, Line.close).result()
            return line
        finally:
            self._is_opening = False

    # ---- waiting ----

    async def _wait(
        self, line: Line, is_ready: Callable[[], bool], deadline_s: float | None
    ) -> bool:
        try:
            while not is_ready():
                if line.is_dead:
                    return is_ready()
                left_s = seconds_left(deadline_s)
                if left_s <= 0:
                    return False
                if self._is_led:
                    # An interrupted leader may have woken nobody.
                    await self._follow(is_ready, min(left_s, LOOK_S))
                    continue
                self._is_led = True
                try:
                    await self._lead(line, is_ready, deadline_s)
                finally:
                    self._is_led = False
            return True
        finally:
            if not self._is_led:  # also when it was woken to lead, and is cancelled or late
                self._wake_followers(anyone=True)

    async def _lead(
        self, line: Line, is_ready: Callable[[], bool], deadline_s: float | None
    ) -> None:
        while not (is_ready() or line.is_dead):
            if line.take():
                self._wake_followers(anyone=False)
                continue
            left_s = seconds_left(deadline_s)
            if left_s <= 0:
                return
            with suppress(RStreamError):  # the driver was lost: the next take says so
                await self._sleeper.sleep(line.answers.watched, min(left_s, LOOK_S))

    async def _follow(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        event = anyio.Event()
        self._followers[event] = is_ready
        try:
            with anyio.move_on_after(timeout_s):
                await event.wait()
        finally:
            del self._followers[event]

    def _wake_followers(self, *, anyone: bool) -> None:
        for event, is_ready in list(self._followers.items()):
            if is_ready():
                event.set()
            elif anyone:
                event.set()
                anyone = False

    # ---- life ----

    async def _leave(self, line: Line) -> None:
        """Close a line in a thread, when no task waits on its descriptor any more."""
        self._wake_followers(anyone=True)
        with anyio.CancelScope(shield=True):
            while self._is_led:
                with suppress(RStreamError):
                    line.answers.wake()
                await anyio.sleep(_PAUSE_S)
            await ThreadCall(line.close).result()

    async def close(self) -> None:
        """Give up what is outstanding, whose callers get an error. Idempotent."""
        if self._forget_inherited():
            return
        self._closed = True
        line, self._line = self._line, None
        if line is not None:
            line.give_up(self._closed_error())
            await self._leave(line)

    def abandon(self) -> None:
        """Close it where nothing can be awaited: its event loop has ended."""
        if self._forget_inherited():
            return
        self._closed = True
        line, self._line = self._line, None
        if line is not None:
            line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _is_end(error: BaseException) -> bool:
    """Whether a stream of answers ends with it. After an interrupt it goes on."""
    if isinstance(error, (RStreamError, StopAsyncIteration, GeneratorExit)):
        return True
    return isinstance(error, anyio.get_cancelled_exc_class())


@refuses_with("`async with requester.request_stream(...) as answers:`")
class AnswerStream(Generic[A]):
    """The answers to one request, in order: ``async for answer in stream``. One task at a time.

    Leaving it tells the server: ``async with``, :meth:`close`, a cancellation or an error in the
    wait for an answer, or when it is collected. After an interrupt (a signal handler that raises)
    the next loop goes on.
    """

    def __init__(
        self, owner: Requester[A], query: Any, *, prefetch: int, timeout_s: float | None
    ) -> None:
        self._owner = owner
        self._query = query
        self._prefetch = prefetch
        self._timeout_s = timeout_s
        self._line: Line | None = None
        self._call: Call | None = None
        self._answers: deque[tuple[int, bytes]] = deque()
        self._granted = prefetch
        self._must_tell = False
        self._taken = 0
        self._is_closed = False

    def request(self, n: int) -> None:
        """Let the server make ``n`` more answers.

        Raises:
            ConfigError: ``n`` is no whole number above 0.
        """
        check_demand(n)
        self._grant(self._granted + n)

    def _grant(self, granted: int) -> None:
        self._granted = granted
        if self._line is not None and self._call is not None and not self._call.is_over:
            # Without room now, or after an interrupt, it is told in the wait for the next answer.
            self._must_tell = True
            self._must_tell = not self._line.tell(Kind.MORE, self._call.call_id, granted)

    def _is_ready(self) -> bool:
        if self._must_tell:
            self._grant(self._granted)
        return bool(self._answers) or self._call is None or self._call.is_over

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> A:
        if self._is_closed:
            raise StopAsyncIteration
        owner = self._owner
        try:
            if not self._answers:
                await self._await_answer(owner, self._timeout_s)
            if not self._answers:
                self._end()
        except BaseException as error:
            if _is_end(error):
                self._drop()
            raise
        codec_id, body = self._answers[0]
        taken = self._taken + 1
        if self._prefetch and 2 * (self._granted - taken) <= self._prefetch:
            self._grant(taken + self._prefetch)
        try:
            answer = owner._decoded(codec_id, body)  # pyright: ignore[reportPrivateUsage]
        except CodecError:
            del self._answers[0]
            self._taken = taken
            raise
        # Without a call from here on: a signal handler that raises must lose no answer.
        del self._answers[0]
        self._taken = taken
        return answer

    def _end(self) -> None:
        error = None if self._call is None else self._call.error
        if error is not None:
            raise error
        raise StopAsyncIteration

    async def _await_answer(self, owner: Requester[A], timeout_s: float | None) -> None:
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        if self._call is None:
            self._line, self._call = await owner._ask(  # pyright: ignore[reportPrivateUsage]
                Kind.ASK_STREAM, self._query, self._granted, timeout_s, deadline_s
            )
            if self._call.answers is not None:
                self._answers = self._call.answers
        line = self._line
        if line is None or await owner._wait(  # pyright: ignore[reportPrivateUsage]
            line, self._is_ready, deadline_s
        ):
            return
        raise owner._timeout(timeout_s)  # pyright: ignore[reportPrivateUsage]

    def _drop(self) -> None:
        self._is_closed = True
        if self._line is not None and self._call is not None:
            self._line.forget(self._call)

    async def close(self) -> None:
        """Tell the server to make no more, and drop what has come. Idempotent."""
        self._drop()
        self._answers.clear()
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

    @quiet_when_torn_down
    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the interpreter
            self._drop()
