"""Serving requests, in steps (:mod:`rstream._waits`) that threads or an event loop perform.

Theory of operation. A *serving* joins a driver, and lasts until the driver is lost or the service
closes. Its own steps take what callers send. Each request has steps too. They call the function
(:class:`CallFunction`), make the answers of a stream (:class:`MakeAnswer`), and wait while no
answer is wanted (:class:`Woken`). Who performs them chooses where the function runs: in the thread
that serves, in a pool (:mod:`rstream.service._thread_serving`), or in a task (:mod:`rstream.aio`).
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rstream._waits import News, Pause, Step, Steps, Waker, Woken
from rstream.errors import ClosedError, DriverError, RStreamError
from rstream.service._published import Draining, PublishedAnswers, answers_of, may_make
from rstream.service._server_line import LOOK_S, RETRY_S

if TYPE_CHECKING:
    from rstream._session import Link
    from rstream.service._asked import Asked
    from rstream.service._server_line import ServerLine
    from rstream.service._service import Service

log = logging.getLogger("rstream")

#: Answers that a stream makes in its turn, before the next stream and new requests have theirs.
TURN: Final = 16
#: Seconds before each attempt to reach a driver again.
REJOIN_PAUSE_S: Final = 0.2
#: Most seconds that a server waits at its end for callers without room.
LINGER_S: Final = 1.0
#: The answer of :class:`MakeAnswer` at the end.
END: Final = object()


class CallFunction:
    """Call the user's function, and await what it returns if that can be awaited."""

    __slots__ = ("function", "query")

    def __init__(self, function: Callable[[Any], Any], query: Any) -> None:
        self.function = function
        self.query = query

    def perform(self) -> Any:
        """In a thread."""
        return self.function(self.query)


class MakeAnswer:
    """Make the next answer of a stream with the user's generator. The answer may be ``END``."""

    __slots__ = ("answers",)

    def __init__(self, answers: Any) -> None:
        self.answers = answers

    def perform(self) -> Any:
        """In a thread."""
        return next(self.answers, END)


RequestStep: TypeAlias = Step | CallFunction | MakeAnswer
RequestSteps: TypeAlias = Generator[RequestStep, Any, None]


class Serving(ABC):
    """What servers in threads and in event loops share; they run its steps."""

    def __init__(self, service: Service[Any, Any]) -> None:
        self._service = service
        #: The server's end of the lines to its callers.
        self.line: ServerLine = service.make_line()
        self._opening = threading.RLock()  # reentrant: a signal handler may close it meanwhile
        self._is_left = False
        self._interrupt: BaseException | None = None  # a request's; it ends the service
        # Calls that other threads have for this one. One at most for each element that waits.
        self._posted: deque[Callable[[], object]] = deque()
        self._streams: list[Asked] = []  # whose answers are being made

    # ---- its life ----

    def join_steps(self) -> Steps[None]:
        """Join a driver, as :meth:`Service.join_steps`."""
        return self._service.join_steps(self._open)

    def _open(self, link: Link) -> None:
        with self._opening:
            self.line.open(link)
            if self._is_left:  # while it opened
                self.line.close(0)
            else:
                self._service.note_opened(link)

    def serve_steps(self) -> Steps[None]:
        """Serve until the driver is lost, or the service is closing."""
        service, line = self._service, self.line
        news, soon = News(line.asks, LOOK_S), News(line.asks, RETRY_S)
        try:
            while not service.is_closing and self._interrupt is None:
                if self._has_more():
                    yield Pause(0)
                else:
                    yield soon if line.has_unsent else news
                self._take()
                while line.new:
                    asked = line.new.popleft()
                    if not asked.is_cancelled:
                        self._begin(asked)
                self._go_on()
            if service.lingers:
                yield from self._drain_steps()
        except DriverError as error:
            log.warning("service %r: %s; joining again", service.name, error)
            yield Pause(REJOIN_PAUSE_S)
        except ClosedError:
            service.note_closed()  # the client of the process was closed: the program ends

    def _take(self) -> None:
        self.line.take()
        while self._posted:
            self._posted.popleft()()

    def _go_on(self) -> None:
        self._advance_ready()
        if self.line.has_unsent:
            self.line.flush()

    def _drain_steps(self) -> Steps[None]:
        """Let callers have what publishers still owe them."""
        for asked in list(self._streams):
            if not isinstance(asked.answers, PublishedAnswers):
                asked.cancel()
        draining, soon = Draining(), News(self.line.asks, RETRY_S)
        while draining.goes_on(
            [one for one in self._streams if isinstance(one.answers, PublishedAnswers)]
        ):
            self._take()
            self._go_on()
            yield Pause(0) if self._has_more() else soon

    def end_streams(self) -> None:
        """Make no more answers. Idempotent; a call that was interrupted is made again."""
        while self._streams:
            self._end(self._streams[-1])

    def close(self) -> None:
        """End the streams, and leave. Idempotent; a call that was interrupted is made again."""
        self._is_left = True
        self.end_streams()
        with self._opening:
            self.line.close(LINGER_S)

    def post(self, call: Callable[[], object]) -> None:
        """Have the one that serves call it; any thread."""
        self._posted.append(call)
        self.wake()

    def wake(self) -> None:
        """End the wait for requests; any thread."""
        with suppress(RStreamError):
            self.line.wake()

    # ---- who performs the steps of requests ----

    @abstractmethod
    def _begin(self, asked: Asked) -> None:
        """Have its steps performed."""

    def _advance_ready(self) -> None:  # noqa: B027 - in an event loop tasks go on by themselves
        """Let the requests go on that do not wait any more."""

    @abstractmethod
    def _has_more(self) -> bool:
        """Whether to look again at once, without waiting for callers."""

    def _is_end_of(self, asked: Asked, error: BaseException) -> bool:
        """Whether an error ends the steps of a request from outside: nobody is to be told."""
        return isinstance(error, GeneratorExit) and (self._is_left or asked.is_cancelled)

    # ---- the steps of a request ----

    def answer_steps(self, asked: Asked) -> RequestSteps:
        """Answer a request with what the function returns, or with an error."""
        service = self._service
        try:
            result = yield CallFunction(service.function, service.decoded(asked))
            service.check_kind(asked, result)
            if asked.is_stream:
                yield from self._stream_steps(asked, result)
            else:
                self.line.answer(asked, *service.encoded(result))
        except BaseException as error:
            if self._is_end_of(asked, error):
                raise
            log.info("service %r: a request failed", service.name, exc_info=error)
            with suppress(RStreamError):  # the steps that take requests meet it too
                self.line.fail(asked, told(error))
            if is_interrupt(error) and error is not asked.error_in_pool:
                raise

    def _stream_steps(self, asked: Asked, result: Any) -> RequestSteps:
        service, line = self._service, self.line
        asked.answers = answers = answers_of(result, lambda: self.post(asked.changed))
        self._streams.append(asked)
        is_published, making = isinstance(answers, PublishedAnswers), MakeAnswer(answers)
        if is_published:
            answers.begin()
        while not asked.is_cancelled:
            if not may_make(answers, asked):
                asked.waker = waker = Waker()
                yield Woken(waker, float("inf"))
                continue
            answer = next(answers, END) if is_published else (yield making)
            if answer is END:
                line.end(asked)
                return
            line.item(asked, *service.encoded(answer))
            if asked.made % TURN == 0:
                yield Pause(0)  # others have their turn

    def _end(self, asked: Asked) -> None:
        """Make no more answers of a stream, also if nobody has cancelled it."""
        asked.is_cancelled = True
        if not asked.is_in_pool:
            close_answers(asked.answers)
        if asked in self._streams:  # last: an interrupted call is made again
            self._streams.remove(asked)


def close_answers(answers: Any) -> None:
    """Close a generator, whose ``finally`` runs."""
    close = getattr(answers, "close", None)
    if close is not None:
        try:
            close()
        except BaseException as error:
            log.exception("a stream of answers failed while it was closed")
            if is_interrupt(error):
                raise


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is Ctrl-C: it ends the service. All others end one request."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and isinstance(error, KeyboardInterrupt)


def told(error: BaseException) -> BaseException:
    """The error that a caller is told; that of a cancelled function has no text of its own."""
    import asyncio  # most programs that get here have it, and others need not wait for it
    from concurrent import futures

    if not isinstance(error, (asyncio.CancelledError, futures.CancelledError)):
        return error
    failure = RStreamError("this request was cancelled at the server, inside its function")
    failure.__cause__ = error
    return failure
