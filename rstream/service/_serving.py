"""The loop that answers the requests of one service, in the serving thread or in a pool."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from rstream.errors import ClosedError, DriverError, RStreamError
from rstream.service._current import set_current
from rstream.service._published import Draining, PublishedAnswers, answers_of, may_make
from rstream.service._server_line import LOOK_S, RETRY_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import ThreadPoolExecutor

    from rstream.service._asked import Asked
    from rstream.service._server_line import ServerLine
    from rstream.service._service import Service

log = logging.getLogger("rstream")

#: Answers that a stream makes in its turn, before the next stream and new requests have theirs.
TURN: Final = 16
#: Seconds between two attempts to reach a driver again.
REJOIN_PAUSE_S: Final = 0.2
#: Most seconds that a server waits at its end for callers without room.
LINGER_S: Final = 1.0
_END: Final = object()


class Stream:
    """A stream of answers that is being made."""

    def __init__(self, asked: Asked, answers: Iterator[Any]) -> None:
        self.asked = asked
        self.answers = answers
        self.is_running = False  # a thread of the pool makes the next answer

    @property
    def is_published(self) -> bool:
        """Whether a publisher makes the answers."""
        return isinstance(self.answers, PublishedAnswers)

    @property
    def may_make(self) -> bool:
        """Whether the next answer may be made now."""
        return may_make(self.answers, self.asked)

    def close(self) -> None:
        """Close the generator, whose ``finally`` runs."""
        close = getattr(self.answers, "close", None)
        if close is not None:
            try:
                close()
            except BaseException as error:
                log.exception("a stream of answers failed while it was closed")
                if is_interrupt(error):
                    raise


class Serving:
    """One service with one desk: from joining a driver until it is lost, or the service closes."""

    def __init__(
        self, service: Service[Any, Any], desk: ServerLine, pool: ThreadPoolExecutor | None
    ) -> None:
        self._service = service
        self._desk = desk
        self._pool = pool
        self._streams: list[Stream] = []
        self._done: deque[tuple[Asked, Stream | None, object, BaseException | None]] = deque()

    def run(self) -> None:
        """Serve until the driver is lost, or the service is closing."""
        service, desk = self._service, self._desk
        has_made = False
        try:
            while not service.is_closing:
                if not (has_made or desk.new or self._done):
                    desk.wait(LOOK_S)  # returns at once when something is here
                desk.take()
                while desk.new:
                    self._begin(desk.new.popleft())
                has_made = bool(self._streams) and self._step_streams()
                while self._done:
                    self._finish(*self._done.popleft())
                    has_made = True  # its stream may make the next one
                if desk.has_unsent:
                    desk.flush()
            if service.lingers:
                self._drain()
        except DriverError as error:
            log.warning("service %r: %s; joining again", service.name, error)
            time.sleep(REJOIN_PAUSE_S)
        except ClosedError:
            service.note_closed()  # the client of the process was closed: the program ends
        finally:
            self.close()

    def close(self) -> None:
        """End the streams, and leave. Idempotent; a call that was interrupted is made again."""
        while self._streams:
            self._end(self._streams[-1])
        self._desk.close(LINGER_S)

    def _end(self, stream: Stream) -> None:
        """Make no more of a stream, also if nobody has cancelled it."""
        stream.asked.is_cancelled = True
        if not stream.is_running:
            stream.close()
        if stream in self._streams:  # last: an interrupted call is made again
            self._streams.remove(stream)

    def _drain(self) -> None:
        """Let callers have what publishers still owe them."""
        for stream in [one for one in self._streams if not one.is_published]:
            self._end(stream)
        draining = Draining()
        while draining.goes_on([stream.asked for stream in self._streams]):
            self._desk.wait(0.0 if self._step_streams() else RETRY_S)
            self._desk.take()
            self._desk.flush()

    # ---- calling the function ----

    def _begin(self, asked: Asked) -> None:
        if asked.is_cancelled:
            return
        try:
            query = self._service.decoded(asked)
        except BaseException as error:
            self._fail(asked, error)
            if is_interrupt(error):
                raise
            return
        if self._pool is None:
            set_current(asked, self._desk.take)
            self._finish(asked, None, *self._call(query))
        else:
            self._pool.submit(self._call_in_pool, asked, query)

    def _call(self, query: Any) -> tuple[object, BaseException | None]:
        try:
            return self._service.function(query), None
        except BaseException as error:  # sys.exit() ends the request, not the service
            return None, error

    def _call_in_pool(self, asked: Asked, query: Any) -> None:
        if not asked.is_cancelled:
            set_current(asked)
            self._post(asked, None, *self._call(query))

    def _post(
        self, asked: Asked, stream: Stream | None, result: object, error: BaseException | None
    ) -> None:
        self._done.append((asked, stream, result, error))
        self._wake()

    def _wake(self) -> None:
        """End the wait for requests; any thread."""
        with suppress(RStreamError):
            self._desk.wake()

    def _finish(
        self, asked: Asked, stream: Stream | None, result: Any, error: BaseException | None
    ) -> None:
        """Send what the function, or the generator, has returned or raised."""
        if stream is not None:
            stream.is_running = False
        if error is None:
            try:
                self._send(asked, stream, result)
            except BaseException as failure:
                self._fail(asked, failure)
                if is_interrupt(failure):
                    raise
        else:
            self._fail(asked, error)
            # What a function raises in a thread of the pool is not Ctrl-C.
            if self._pool is None and is_interrupt(error):
                raise error

    def _send(self, asked: Asked, stream: Stream | None, result: Any) -> None:
        desk = self._desk
        if stream is None:
            self._service.check_kind(asked, result)
            if asked.is_stream:
                stream = Stream(asked, answers_of(result, self._wake))
                self._streams.append(stream)
                if isinstance(stream.answers, PublishedAnswers):
                    stream.answers.begin()
            else:
                desk.answer(asked, *self._service.encoded(result))
        elif result is _END:
            self._streams.remove(stream)
            desk.end(asked)
        else:
            desk.item(asked, *self._service.encoded(result))

    def _fail(self, asked: Asked, error: BaseException) -> None:
        """Answer with an error. DriverError: the driver was lost."""
        for stream in [one for one in self._streams if one.asked is asked]:
            stream.close()
            self._streams.remove(stream)
        log.info("service %r: a request failed", self._service.name, exc_info=error)
        self._desk.fail(asked, told(error))

    # ---- streams of answers ----

    def _step_streams(self) -> bool:
        """Give each stream a turn; returns whether one of them has made something."""
        has_made = False
        for stream in list(self._streams):
            if stream.is_running:
                continue
            if stream.asked.is_cancelled:
                self._end(stream)
                continue
            has_made |= self._turn(stream)
        return has_made

    def _turn(self, stream: Stream) -> bool:
        asked = stream.asked
        if not stream.may_make:
            return False
        if self._pool is not None and not stream.is_published:
            stream.is_running = True
            self._pool.submit(self._step_in_pool, stream)
            return True
        set_current(asked, self._desk.take)
        for _ in range(TURN):
            self._finish(asked, stream, *_next_of(stream))
            if stream not in self._streams or not stream.may_make or asked.is_cancelled:
                break
        return True

    def _step_in_pool(self, stream: Stream) -> None:
        set_current(stream.asked)
        self._post(stream.asked, stream, *_next_of(stream))


def _next_of(stream: Stream) -> tuple[object, BaseException | None]:
    try:
        return next(stream.answers, _END), None
    except BaseException as error:
        return None, error


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
