"""The caller's side for threads: requests, and streams of answers.

Theory of operation. Many threads may wait for answers on one line, whose reader serves one thread.
So one of the waiting threads is the *leader*: it reads, and hands to every other one what is its
own. When it has its answer it wakes another one to lead. A thread alone reads its answer itself,
without a hand-over: that is the fast case.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from rstream._checks import check_timeout
from rstream._core import NOT_CONNECTED, Turn
from rstream._process import park_at_exit, quiet_at_exit
from rstream._with_hints import refuses_async_with
from rstream.errors import ClosedError, ConcurrentUseError
from rstream.service._answers import AnswerStream
from rstream.service._caller import PREFETCH, TIMEOUT_S, Caller, check_prefetch
from rstream.service._line import LOOK_S, Line, seconds_left
from rstream.service._wire import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rstream.service._calls import Call
    from rstream.service._place import Place

A = TypeVar("A")

_PAUSE_S: Final = 0.001


@refuses_async_with(
    "`with rstream.service.requester(...)`, or `async with rstream.aio.requester(...)` in an event "
    "loop"
)
class Requester(Caller[A]):
    """Asks one service; made by :func:`rstream.service.requester`. Any thread may use it.

    It keeps a line to the server. A server that closes or dies ends every request that waits
    (:class:`rstream.errors.ServerLost`); the next request finds the next server.
    """

    def __init__(self, place: Place, **options: Any) -> None:
        super().__init__(place, **options)
        self._opening = threading.RLock()  # reentrant: a signal handler may close it meanwhile
        self._leading = Turn(repr(self))  # held by the leader
        self._is_led = False  # for followers; an interrupt may leave it true for a moment
        self._followers: dict[Any, Callable[[], bool]] = {}  # by the lock that each sleeps on

    # ---- asking ----

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
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        number = 0 if timeout_s is None else max(1, int(timeout_s * 1e6))
        try:
            line, call = self._ask(Kind.ASK, query, number, timeout_s, deadline_s)
            try:
                while not call.is_over:
                    if not self._wait(line, lambda: call.is_over, deadline_s):
                        raise self._timeout(timeout_s)
            finally:
                if not call.is_over:
                    line.calls.by_id.pop(call.call_id, None)  # first: no handler runs before
                    line.forget(call)
            if call.error is not None:
                raise call.error
        except ClosedError:
            park_at_exit()
            raise
        return self._decoded(call.codec_id, call.body)

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
        check_timeout(timeout_s)
        check_prefetch(prefetch)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        line, call = self._ask(Kind.ASK_STREAM, query, prefetch, timeout_s, deadline_s)
        try:
            return AnswerStream(self, line, call, prefetch=prefetch, timeout_s=timeout_s)
        except BaseException:
            line.forget(call)
            raise

    def _ask(
        self,
        kind: int,
        query: Any,
        number: int,
        timeout_s: float | None,
        deadline_s: float | None,
    ) -> tuple[Line, Call]:
        body = self._encoded(query)
        line = self._line
        if line is not None and line.is_quiet:
            self._refresh(line)
        if line is None or line.is_dead or self._closed:
            line = self._open()
        calls = line.calls
        while (call := calls.add(is_stream=kind == Kind.ASK_STREAM)) is None:
            if not self._wait(line, lambda: calls.has_room, deadline_s):
                raise self._full(timeout_s)
        try:
            message = line.message(kind, self._query_codec.codec_id, call.call_id, number, body)
            is_large = line.is_large(message)
            position = NOT_CONNECTED if is_large else line.offer(message)
            if position <= 0:
                self._send_later(line, message, position, deadline_s)
            if is_large:
                line.send_large(message, seconds_left(deadline_s))
        except BaseException:
            line.forget(call)  # an interrupt may have come when it was sent
            raise
        return line, call

    def _refresh(self, line: Line) -> None:
        """See what has happened to the server since the last request, unless a leader does."""
        with suppress(ConcurrentUseError), self._leading:
            try:
                while not line.is_dead and line.take():
                    pass
            except ClosedError as error:
                raise self._closed_error() from error

    def _send_later(
        self, line: Line, message: bytes, position: int, deadline_s: float | None
    ) -> None:
        """Send when there is a server, and room; a large one is left to the caller then."""
        began_s, is_large = time.monotonic(), line.is_large(message)
        while position <= 0:
            if self._closed:
                raise self._closed_error()
            if seconds_left(deadline_s) <= 0:
                raise line.refused(position, time.monotonic() - began_s)
            if is_large and line.is_connected:
                return
            time.sleep(_PAUSE_S)
            if not is_large:
                position = line.offer(message)

    def _open(self) -> Line:
        with self._opening:
            if self._closed:
                raise self._closed_error()
            line = self._line
            if line is not None and not line.is_dead:
                return line
            if line is not None:
                line.close()
            line = Line(self.place, self._dir, self.outstanding)
            if self._closed:  # by a signal handler
                line.close()
                raise self._closed_error()
            self._line = line
            return line

    # ---- waiting ----

    def _wait(self, line: Line, is_ready: Callable[[], bool], deadline_s: float | None) -> bool:
        """Wait until it is ready, as leader or behind one. False: not before the deadline.

        Raises:
            ClosedError: closed here meanwhile.
        """
        while not is_ready():
            if line.is_dead:  # its requests fail; a wait for room must end too
                line.fail_rest()
                return is_ready()
            left_s = seconds_left(deadline_s)
            if left_s <= 0:
                return False
            if not self._try_lead(line, is_ready, deadline_s):
                self._follow(is_ready, min(left_s, LOOK_S))
        return True

    def _try_lead(self, line: Line, is_ready: Callable[[], bool], deadline_s: float | None) -> bool:
        """Lead until it is ready. False: another thread leads."""
        has_led = False
        try:
            with self._leading:
                has_led = self._is_led = True
                self._lead(line, is_ready, deadline_s)
        except ClosedError as error:
            raise self._closed_error() from error
        except ConcurrentUseError:
            if has_led:
                raise
        finally:
            if has_led:
                self._is_led = False
                self._wake_followers(anyone=True)
        return has_led

    def _lead(self, line: Line, is_ready: Callable[[], bool], deadline_s: float | None) -> None:
        while not (is_ready() or line.is_dead):
            # It returns at once when something is here.
            line.wait(max(0.0, seconds_left(deadline_s)))
            if line.take():
                if self._followers:
                    self._wake_followers(anyone=False)
            elif seconds_left(deadline_s) <= 0:
                return

    def _follow(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        bell = threading.Lock()  # not an Event: an interrupted set() may keep its lock
        bell.acquire()
        self._followers[bell] = is_ready
        try:
            # The leader may have left before this thread was on its list.
            if self._is_led and not is_ready():
                bell.acquire(timeout=timeout_s)
        finally:
            del self._followers[bell]

    def _wake_followers(self, *, anyone: bool) -> None:
        """Wake those whose answer is here, and one more if nobody leads now."""
        for bell, is_ready in list(self._followers.items()):
            has_what_it_waits_for = is_ready()
            if has_what_it_waits_for or anyone:
                anyone = anyone and has_what_it_waits_for
                with suppress(RuntimeError):  # it was rung before
                    bell.release()

    # ---- life ----

    def close(self) -> None:
        """Give up what is outstanding, whose callers get ClosedError. Idempotent. In a forked child
        it does nothing.
        """
        if self._forget_inherited():  # another thread may have held the lock
            return
        with self._opening:
            self._closed = True
            if self._line is not None:
                self._line.close(self._closed_error())
                self._wake_followers(anyone=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
