"""The caller's side for threads: requests, and streams of answers.

Theory of operation. Many threads may wait for answers on one line, whose reader serves one thread.
So one of the waiting threads is the *leader*: it reads, and hands to every other one what is its
own. When it has its answer it wakes another one to lead. A thread alone reads its answer itself,
without a hand-over: that is the fast case.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from rstream._checks import check_timeout, is_whole
from rstream._unclosed import call_site, warn_unclosed
from rstream.errors import BackPressured, ClosedError, CodecError, ConfigError, RequestTimeout
from rstream.service._line import LOOK_S, Line, joined, seconds_left
from rstream.service._wire import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rstream.codecs import Codec
    from rstream.service._calls import Call
    from rstream.service._place import Place

A = TypeVar("A")

#: Most requests of one caller without an answer.
OUTSTANDING: Final = 256
#: Answers of a stream that the server may be ahead of its caller.
PREFETCH: Final = 64
TIMEOUT_S: Final = 10.0
_PAUSE_S: Final = 0.001


class Caller(Generic[A]):
    """What the callers in threads and in event loops share: codecs, and the texts of errors."""

    def __init__(
        self,
        place: Place,
        *,
        query_codec: Codec[Any],
        codec: Codec[A],
        outstanding: int,
        dir: str | None,
    ) -> None:
        if not is_whole(outstanding) or outstanding < 1:
            raise ConfigError(
                f"outstanding={outstanding!r}: must be a number of requests, 1 or more"
            )
        self.place = place
        self.outstanding = outstanding
        self._dir = dir
        self._query_codec = query_codec
        self._codec = codec
        self._codec_lock = threading.Lock()  # a codec serves one thread at a time
        self._line: Line | None = None
        self._closed = False
        self._made_at = call_site()

    @property
    def name(self) -> str:
        """The name of the service."""
        return self.place.name

    @property
    def is_closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed

    def statistics(self) -> dict[str, int]:
        """``outstanding`` requests, requests ``answered``, and answers that came too ``late``, on
        the line to the server of now.
        """
        line = self._line
        return {"outstanding": 0, "answered": 0, "late": 0} if line is None else line.statistics()

    def _encoded(self, query: Any) -> bytes:
        try:
            with self._codec_lock:
                return joined(self._query_codec.encode(query))
        except CodecError:
            raise
        except Exception as error:
            raise CodecError(f"request to {self.name!r}: {query!r:.100}: {error}") from error

    def _decoded(self, codec_id: int, body: bytes) -> A:
        wanted = self._codec.codec_id
        if codec_id != wanted:
            from rstream.codecs import describe_codec

            raise CodecError(
                f"answer of {self.name!r}: written with codec {describe_codec(codec_id)}, "
                f"this caller has {describe_codec(wanted)}; use the same codec= at both ends"
            )
        with self._codec_lock:
            return self._codec.decode_many([body])[0]

    def _timeout(self, timeout_s: float | None, what: str = "no answer") -> RequestTimeout:
        return RequestTimeout(
            f"service {self.name!r} on {self.place.channel}: {what} within {timeout_s:g} s",
            hint="the server was told to give it up; allow more time, or look why it is slow",
            channel=self.place.channel,
        )

    def _full(self, timeout_s: float | None) -> BackPressured:
        return BackPressured(
            f"service {self.name!r}: {self.outstanding} requests have no answer, and none came "
            f"within {timeout_s:g} s",
            hint="ask for less at a time, or raise outstanding=",
            channel=self.place.channel,
        )

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"requester of {self.name!r}: closed here", channel=self.place.channel)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} {self.name!r}>"

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self._line is not None:
            warn_unclosed(self, self._made_at)


class Requester(Caller[A]):
    """Asks one service; made by :func:`rstream.service.requester`. Any thread may use it.

    It keeps a line to the server. A server that closes or dies ends every request that waits
    (:class:`rstream.errors.ServerLost`); the next request finds the next server.
    """

    def __init__(self, place: Place, **options: Any) -> None:
        super().__init__(place, **options)
        self._opening = threading.Lock()
        self._leading = threading.Lock()
        self._followers: dict[threading.Event, Callable[[], bool]] = {}

    # ---- asking ----

    def request(self, query: Any, *, timeout_s: float | None = TIMEOUT_S) -> A:
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
        Cost: a round trip is at most 1.5 times that of two streams (docs/reference/performance.md).
        """
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        number = 0 if timeout_s is None else max(1, int(timeout_s * 1e6))
        line, call = self._ask(Kind.ASK, query, number, timeout_s, deadline_s)
        try:
            while not call.is_over:
                if not self._wait(line, lambda: call.is_over, deadline_s):
                    raise self._timeout(timeout_s)
        finally:
            if not call.is_over:
                line.forget(call)
        if call.error is not None:
            raise call.error
        return self._decoded(call.codec_id, call.body)

    def request_stream(
        self, query: Any, *, prefetch: int = PREFETCH, timeout_s: float | None = TIMEOUT_S
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
        if not is_whole(prefetch) or prefetch < 0:
            raise ConfigError(f"prefetch={prefetch!r}: must be a number of answers, 0 or more")
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        line, call = self._ask(Kind.ASK_STREAM, query, prefetch, timeout_s, deadline_s)
        return AnswerStream(self, line, call, prefetch=prefetch, timeout_s=timeout_s)

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
        message = line.message(kind, self._query_codec.codec_id, call.call_id, number, body)
        try:
            position = line.offer(message)
            if position <= 0:
                self._send_later(line, message, position, deadline_s)
        except BaseException:
            calls.by_id.pop(call.call_id, None)
            raise
        return line, call

    def _refresh(self, line: Line) -> None:
        """See what has happened to the server since the last request, unless a leader does."""
        if self._leading.acquire(blocking=False):
            try:
                while not line.is_dead and line.take():
                    pass
            except ClosedError as error:
                raise self._closed_error() from error
            finally:
                self._leading.release()

    def _send_later(
        self, line: Line, message: bytes, position: int, deadline_s: float | None
    ) -> None:
        began_s = time.monotonic()
        while position <= 0:
            if self._closed:
                raise self._closed_error()
            if seconds_left(deadline_s) <= 0:
                raise line.refused(position, time.monotonic() - began_s)
            time.sleep(_PAUSE_S)
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
            self._line = line = Line(self.place, self._dir, self.outstanding)
            return line

    # ---- waiting ----

    def _wait(self, line: Line, is_ready: Callable[[], bool], deadline_s: float | None) -> bool:
        """Wait until it is ready, as leader or behind one. False: not before the deadline.

        Raises:
            ClosedError: closed here meanwhile.
        """
        while not is_ready():
            if line.is_dead:  # its requests have failed; a wait for room must end too
                return is_ready()
            left_s = seconds_left(deadline_s)
            if left_s <= 0:
                return False
            if self._leading.acquire(blocking=False):
                try:
                    self._lead(line, is_ready, deadline_s)
                except ClosedError as error:
                    raise self._closed_error() from error
                finally:
                    self._leading.release()
                    self._wake_followers(anyone=True)
            else:
                self._follow(is_ready, min(left_s, LOOK_S))
        return True

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
        event = threading.Event()
        self._followers[event] = is_ready
        try:
            # The leader may have left before this thread was on its list.
            if self._leading.locked() and not is_ready():
                event.wait(timeout_s)
        finally:
            del self._followers[event]

    def _wake_followers(self, *, anyone: bool) -> None:
        """Wake those whose answer is here, and one more if nobody leads now."""
        for event, is_ready in list(self._followers.items()):
            if is_ready():
                event.set()
            elif anyone:
                event.set()
                anyone = False

    # ---- life ----

    def close(self) -> None:
        """Give up what is outstanding, whose callers get ClosedError. Idempotent."""
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


class AnswerStream(Generic[A]):
    """The answers to one request, in order: ``for answer in stream``. One thread at a time.

    Leaving it, by :meth:`close`, ``with``, or an error of the loop's own, tells the server, which
    closes its generator.
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
        if not is_whole(n) or n < 1:
            raise ConfigError(f"request({n!r}): must be a number of answers, 1 or more")
        self._grant(self._granted + n)

    def _grant(self, granted: int) -> None:
        if not self._call.is_over:
            self._granted = granted
            # Without room now it is told in the wait for the next answer.
            self._must_tell = not self._line.tell(Kind.MORE, self._call.call_id, granted)

    def _is_ready(self) -> bool:
        if self._must_tell:
            self._grant(self._granted)
        return bool(self._answers) or self._call.is_over

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> A:
        call = self._call
        if not self._answers:
            self._await_answer(call)
        if not self._answers:
            error, call.error = call.error, None
            if error is not None:
                raise error
            raise StopIteration
        codec_id, body = self._answers.popleft()
        self._taken += 1
        if 2 * (self._granted - self._taken) <= self._prefetch and self._prefetch:
            self._grant(self._taken + self._prefetch)
        return self._owner._decoded(codec_id, body)  # pyright: ignore[reportPrivateUsage]

    def _await_answer(self, call: Call) -> None:
        owner, timeout_s = self._owner, self._timeout_s
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        try:
            wait = owner._wait  # pyright: ignore[reportPrivateUsage]
            is_here = wait(self._line, self._is_ready, deadline_s)
        except BaseException:
            self.close()
            raise
        if not is_here:
            self.close()
            raise owner._timeout(timeout_s)  # pyright: ignore[reportPrivateUsage]

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

    def __del__(self) -> None:
        if not self._call.is_over:
            with suppress(Exception):  # at the end of the interpreter
                self.close()
