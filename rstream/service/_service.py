"""A function that answers requests, and the loop that runs it in threads."""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from rstream._checks import check_seconds, is_whole
from rstream._unclosed import call_site, warn_unclosed
from rstream.errors import CodecError, ConfigError, DriverError, RStreamError
from rstream.service._current import set_current
from rstream.service._desk import LOOK_S, Asked, Desk
from rstream.service._line import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from rstream.codecs import Codec
    from rstream.service._place import Place

log = logging.getLogger("rstream")

Q = TypeVar("Q")
A = TypeVar("A")

#: Answers that a stream makes in its turn, before the next stream and new requests have theirs.
TURN: Final = 16
#: Seconds between two attempts to reach a driver again.
REJOIN_PAUSE_S: Final = 0.2
LINGER_S: Final = 1.0
_END: Final = object()


class Service(Generic[Q, A]):
    """A function that answers requests; made by :func:`rstream.serve`. Calling it calls the
    function.

    ``run()`` serves in this thread, ``start()`` or ``with`` in one of its own. A function that is
    ``async``, or an async generator, runs in an event loop: ``run()`` starts one, and
    ``await rstream.aio.serve(service)`` uses the one that runs.
    """

    def __init__(
        self,
        function: Callable[[Q], A],
        place: Place,
        *,
        query_codec: Codec[Any],
        codec: Codec[Any],
        threads: int,
        outstanding: int,
        dir: str | None,
    ) -> None:
        for name, value, least in (("threads", threads, 0), ("outstanding", outstanding, 1)):
            if not is_whole(value) or value < least:
                raise ConfigError(f"{name}={value!r}: must be a whole number, {least} or more")
        self.function = function
        self.place = place
        self.is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(
            function
        )
        self._query_codec = query_codec
        self._codec = codec
        self._threads = threads
        self._outstanding = outstanding
        self._dir = dir
        self._desk: Desk | None = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._opened = threading.Event()
        self._problem: BaseException | None = None
        self._made_at = call_site()

    def __call__(self, query: Q) -> A:
        return self.function(query)

    @property
    def name(self) -> str:
        """The name that it serves."""
        return self.place.name

    @property
    def is_closing(self) -> bool:
        """Whether it was asked to end."""
        return self._closing.is_set()

    def statistics(self) -> dict[str, int]:
        """``callers`` of now, their ``outstanding`` requests, and how many requests were
        ``answered``, ``cancelled`` and ``refused`` since it joined the driver.
        """
        desk = self._desk
        return {} if desk is None else desk.statistics()

    # ---- life ----

    def run(self) -> None:
        """Serve in this thread until :meth:`close` in another one, or Ctrl-C.

        Raises:
            RegistrationError: another server of the name is alive.
            DriverError: there is no driver, or it refused the channel.
        """
        if self.is_async:
            import rstream  # the face for event loops lies above this room

            rstream.aio.run_service(self)
            return
        pool = ThreadPoolExecutor(self._threads, f"rstream-{self.name}") if self._threads else None
        try:
            with suppress(KeyboardInterrupt):
                while not self.is_closing:
                    Serving(self, self.open_desk(), pool).run()
        finally:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)

    def open_desk(self) -> Desk:
        """Join the driver; after a first success until one lives again, or it is closing."""
        while True:
            try:
                desk = Desk(self.place, self._dir, self._outstanding)
            except RStreamError as error:
                if not self._opened.is_set() or self.is_closing:
                    raise
                log.warning("service %r: not yet back: %s", self.name, error)
                self._closing.wait(REJOIN_PAUSE_S)
                continue
            self._desk = desk
            self._opened.set()
            return desk

    def start(self) -> Self:
        """Serve in a daemon thread of its own; returns when it is open.

        Raises:
            RStreamError: as :meth:`run`.
        """
        if self._thread is not None:
            raise RStreamError(f"{self!r} has been started already")
        self._thread = threading.Thread(
            target=self._run_in_thread, name=f"rstream-{self.name}", daemon=True
        )
        self._thread.start()
        while not self._opened.wait(LOOK_S):
            if not self._thread.is_alive():
                break
        if self._problem is not None:
            raise self._problem
        return self

    def _run_in_thread(self) -> None:
        try:
            self.run()
        except BaseException as error:
            if self._opened.is_set():
                log.exception("%r has failed", self)
            self._problem = error

    def close(self, *, timeout_s: float = 10.0) -> None:
        """End serving: what runs is cancelled, and callers that wait get ServerLost. Idempotent.

        Args:
            timeout_s: most seconds to wait for the thread of :meth:`start`, which leaves when the
                function has returned.
        """
        check_seconds("timeout_s", timeout_s)
        self._closing.set()
        desk, thread = self._desk, self._thread
        if desk is not None:
            with suppress(RStreamError):
                desk.wake()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<rstream.service.Service {self.name!r} on {self.place.channel}>"

    def __del__(self) -> None:
        thread = getattr(self, "_thread", None)
        if thread is not None and thread.is_alive() and not self.is_closing:
            warn_unclosed(self, self._made_at)

    # ---- what both ways to run it share ----

    def decoded(self, asked: Asked) -> Any:
        """The query.

        Raises:
            CodecError: it cannot be decoded, or was written with another codec.
        """
        codec = self._query_codec
        if asked.codec_id != codec.codec_id:
            from rstream.codecs import describe_codec

            raise CodecError(
                f"the query was written with codec {describe_codec(asked.codec_id)}, the server "
                f"has {describe_codec(codec.codec_id)}; use the same codec= at both ends"
            )
        return codec.decode_many([asked.body])[0]

    def encoded(self, answer: Any) -> tuple[int, bytes]:
        """Codec id and bytes of an answer."""
        return self._codec.codec_id, joined(self._codec.encode(answer))

    def check_kind(self, asked: Asked, result: object) -> None:
        """Refuse a request for one answer where a stream is made, and the other way round.

        Raises:
            TypeError: what to call instead.
        """
        is_stream = hasattr(result, "__next__") or hasattr(result, "__anext__")
        if is_stream and not asked.is_stream:
            raise TypeError(f"{self.name!r} answers with a stream: use request_stream")
        if asked.is_stream and not is_stream:
            raise TypeError(f"{self.name!r} answers once: use request")


class Stream:
    """A stream of answers that is being made."""

    def __init__(self, asked: Asked, answers: Iterator[Any]) -> None:
        self.asked = asked
        self.answers = answers
        self.is_running = False  # a thread of the pool makes the next answer

    def close(self) -> None:
        """Close the generator, whose ``finally`` runs."""
        close = getattr(self.answers, "close", None)
        if close is not None:
            try:
                close()
            except Exception:
                log.exception("a stream of answers failed while it was closed")


class Serving:
    """One service with one desk: from joining a driver until it is lost, or the service closes."""

    def __init__(
        self, service: Service[Any, Any], desk: Desk, pool: ThreadPoolExecutor | None
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
        except DriverError as error:
            log.warning("service %r: %s; joining again", service.name, error)
            time.sleep(REJOIN_PAUSE_S)
        finally:
            for stream in self._streams:
                stream.asked.is_cancelled = True
                if not stream.is_running:
                    stream.close()
            desk.close(LINGER_S)

    # ---- calling the function ----

    def _begin(self, asked: Asked) -> None:
        if asked.is_cancelled:
            return
        try:
            query = self._service.decoded(asked)
        except Exception as error:
            self._desk.fail(asked, error)
            return
        if self._pool is None:
            set_current(asked, self._desk.take)
            self._finish(asked, None, *self._call(query))
        else:
            self._pool.submit(self._call_in_pool, asked, query)

    def _call(self, query: Any) -> tuple[object, BaseException | None]:
        try:
            return self._service.function(query), None
        except Exception as error:
            return None, error

    def _call_in_pool(self, asked: Asked, query: Any) -> None:
        if not asked.is_cancelled:
            set_current(asked)
            self._post(asked, None, *self._call(query))

    def _post(
        self, asked: Asked, stream: Stream | None, result: object, error: BaseException | None
    ) -> None:
        self._done.append((asked, stream, result, error))
        with suppress(RStreamError):
            self._desk.wake()

    def _finish(
        self, asked: Asked, stream: Stream | None, result: Any, error: BaseException | None
    ) -> None:
        """Send what the function, or the generator, has returned."""
        desk = self._desk
        if stream is not None:
            stream.is_running = False
        try:
            if error is not None:
                raise error
            if stream is None:
                self._service.check_kind(asked, result)
            if stream is None and asked.is_stream:
                self._streams.append(Stream(asked, result))
            elif stream is None:
                desk.answer(asked, *self._service.encoded(result))
            elif result is _END:
                self._streams.remove(stream)
                desk.end(asked)
            else:
                desk.item(asked, *self._service.encoded(result))
        except DriverError:
            raise
        except Exception as failure:
            if stream is not None and stream in self._streams:
                self._streams.remove(stream)
                stream.close()
            log.info("service %r: a request failed", self._service.name, exc_info=failure)
            desk.fail(asked, failure)

    # ---- streams of answers ----

    def _step_streams(self) -> bool:
        """Give each stream a turn; returns whether one of them has made something."""
        has_made = False
        for stream in list(self._streams):
            if stream.is_running:
                continue
            if stream.asked.is_cancelled:
                self._streams.remove(stream)
                stream.close()
                continue
            has_made |= self._turn(stream)
        return has_made

    def _turn(self, stream: Stream) -> bool:
        asked = stream.asked
        if not asked.may_make:
            return False
        if self._pool is not None:
            stream.is_running = True
            self._pool.submit(self._step_in_pool, stream)
            return True
        set_current(asked, self._desk.take)
        for _ in range(TURN):
            self._finish(asked, stream, *_next_of(stream))
            if stream not in self._streams or not asked.may_make or asked.is_cancelled:
                break
        return True

    def _step_in_pool(self, stream: Stream) -> None:
        set_current(stream.asked)
        self._post(stream.asked, stream, *_next_of(stream))


def _next_of(stream: Stream) -> tuple[object, BaseException | None]:
    try:
        return next(stream.answers, _END), None
    except Exception as error:
        return None, error
