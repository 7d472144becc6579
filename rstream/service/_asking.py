"""Asking a service, in steps (:mod:`rstream._waits`) that a thread or an event loop performs.

Theory of operation. Many threads, or tasks, may wait for answers on one line, whose reader serves
one of them. So one of those that wait is the *leader*: it reads, and hands to every other one what
is its own. When it has its answer, or leaves without one, it wakes another one to lead. A caller
alone reads its answer itself, without a hand-over: that is the fast case.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rstream._checks import check_timeout
from rstream._core import NOT_CONNECTED, Turn
from rstream._waits import Deadline, News, Pause, Unwatched, Waker, Woken, Work
from rstream.errors import ClosedError, ConcurrentUseError, DriverError
from rstream.service._line import LOOK_S, Line
from rstream.service._requester_base import RequesterBase
from rstream.service._wire import MessageKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._waits import Steps
    from rstream.service._calls import Call
    from rstream.service._place import ServicePlace

A = TypeVar("A")

_PAUSE_S: Final = 0.001


class AskingRequester(RequesterBase[A]):
    """What callers in threads and in event loops share; they run its steps.

    What a step leaves behind is safe when a signal handler raises between any two instructions.
    """

    def __init__(self, place: ServicePlace, **options: Any) -> None:
        super().__init__(place, **options)
        self._opening = threading.RLock()  # reentrant: a signal handler may close it meanwhile
        self._leading = Turn(repr(self))  # held by the leader
        self._is_led = False  # for followers; an interrupt may leave it true for a moment
        self._followers: dict[Waker, Callable[[], bool]] = {}

    # ---- asking ----

    def _request_steps(self, query: Any, timeout_s: float | None) -> Steps[A]:
        """Ask, and wait for the answer."""
        check_timeout(timeout_s)
        deadline = Deadline(timeout_s)
        number = 0 if timeout_s is None else max(1, int(timeout_s * 1e6))
        line, call = yield from self._ask_steps(MessageKind.ASK, query, number, timeout_s, deadline)
        try:
            while not call.is_over:
                if not (yield from self._wait_steps(line, lambda: call.is_over, deadline)):
                    raise self._timeout(timeout_s)
        finally:
            if not call.is_over:
                line.calls.by_id.pop(call.call_id, None)  # first: no handler runs before
                line.forget(call)
        if call.error is not None:
            raise call.error
        return self._decoded(call.codec_id, call.body)

    def _ask_steps(
        self,
        kind: int,
        query: Any,
        number: int,
        timeout_s: float | None,
        deadline: Deadline,
    ) -> Steps[tuple[Line, Call]]:
        """Send a request. Without an answer that somebody waits for, it must be forgotten."""
        body = self._encoded(query)
        line = self._line
        if line is not None and line.is_quiet:
            self._refresh(line)
        if line is None or line.is_dead or self._closed:
            line = yield from self._open_steps()
        calls = line.calls
        while (call := calls.add(is_stream=kind == MessageKind.ASK_STREAM)) is None:
            if not (yield from self._wait_steps(line, lambda: calls.has_room, deadline)):
                raise self._full(timeout_s)
        try:
            message = line.message(kind, self._query_codec.codec_id, call.call_id, number, body)
            position = NOT_CONNECTED if line.is_large(message) else line.offer(message)
            if position <= 0:
                yield from self._send_later_steps(line, message, position, deadline)
        except BaseException:
            calls.by_id.pop(call.call_id, None)  # first: no handler runs before
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

    def _send_later_steps(
        self, line: Line, message: bytes, position: int, deadline: Deadline
    ) -> Steps[None]:
        """Send when there is a server, and room."""
        began_s, is_large = time.monotonic(), line.is_large(message)
        while position <= 0:
            if self._closed:
                raise self._closed_error()
            if deadline.is_over:
                raise line.refused(position, time.monotonic() - began_s)
            if is_large and line.is_connected:
                yield Work(lambda: line.send_large(message, deadline.left_s()))
                return
            yield Pause(_PAUSE_S)
            if not is_large:
                position = line.offer(message)

    # ---- waiting ----

    def _wait_steps(
        self, line: Line, is_ready: Callable[[], bool], deadline: Deadline
    ) -> Steps[bool]:
        """Wait until it is ready, as leader or behind one. False: not before the deadline.

        Raises:
            ClosedError: closed here meanwhile.
        """
        is_leader = is_over = False
        try:
            while not is_ready():
                if line.is_dead:  # its requests fail; a wait for room must end too
                    line.fail_rest()
                    return is_ready()
                left_s = deadline.left_s()
                if left_s <= 0:
                    return False
                if self._is_led:
                    yield from self._follow_steps(is_ready, min(left_s, LOOK_S))
                    continue
                try:
                    with self._leading:
                        is_leader = self._is_led = True
                        while left_s > 0 and not line.is_dead:
                            # It is over at once when something is here.
                            yield line.news if left_s > LOOK_S else News(line.answers, left_s)
                            if not line.is_dead and line.take() and self._followers:
                                self._wake_followers(anyone=False)
                            if is_ready():
                                is_over = True
                                return True
                            left_s = deadline.left_s()
                except ConcurrentUseError:
                    if is_leader:
                        raise
            is_over = True
            return True
        except ClosedError as error:
            raise self._closed_error() from error
        except DriverError as error:
            line.on_driver_lost(error)
            return is_ready()
        finally:
            if is_leader:
                self._is_led = False
            # One that is not ready may have been woken to lead.
            if self._followers and (is_leader or not is_over) and not self._is_led:
                self._wake_followers(anyone=True)

    def _follow_steps(self, is_ready: Callable[[], bool], timeout_s: float) -> Steps[None]:
        waker = Waker()
        self._followers[waker] = is_ready
        try:
            # The leader may have left before this one was on its list.
            if self._is_led and not is_ready():
                yield Woken(waker, timeout_s)
        finally:
            del self._followers[waker]

    def _wake_followers(self, *, anyone: bool) -> None:
        """Wake those whose answer is here, and one more if nobody leads now."""
        for waker, is_ready in list(self._followers.items()):
            if is_ready():
                waker.wake()
            elif anyone:
                waker.wake()
                anyone = False

    # ---- life ----

    def _open_steps(self) -> Steps[Line]:
        line = self._line
        if line is not None and line.is_dead:
            self._wake_followers(anyone=True)
            yield Unwatched(line.answers)
        return (yield Work(self._open_line))

    def _open_line(self) -> Line:
        with self._opening:
            line = self._line
            if self._closed:
                raise self._closed_error()
            if line is not None and not line.is_dead:
                return line
            if line is not None:
                line.close()
            self._line = line = Line(self.place, self._dir, self.outstanding)
            if self._closed:  # by a signal handler, or a task
                line.close()
                raise self._closed_error()
            return line

    def _close_steps(self) -> Steps[None]:
        """Give up what is outstanding, whose callers get ClosedError. Idempotent."""
        self._closed = True
        line = self._line
        if line is not None:
            line.give_up(self._closed_error())
            self._wake_followers(anyone=True)
            yield Unwatched(line.answers)
        yield Work(self._close_line)

    def _close_line(self) -> None:
        with self._opening:
            if self._line is not None:
                self._line.close(self._closed_error())
