"""A function that answers requests."""

from __future__ import annotations

import inspect
import logging
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from rstream import _loops, abc
from rstream._checks import check_seconds, is_whole
from rstream._pickling import refuse_pickling
from rstream._session import Patience, Session, opened
from rstream._waits import Work
from rstream.errors import CodecError, ConfigError, RStreamError
from rstream.service._line import joined
from rstream.service._server_line import ServerLine
from rstream.service._serving import REJOIN_PAUSE_S
from rstream.service._thread_serving import ThreadServing

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rstream._session import Link
    from rstream._waits import Steps
    from rstream.codecs import Codec
    from rstream.service._asked import Asked
    from rstream.service._place import ServicePlace
    from rstream.service._serving import Serving

log = logging.getLogger("rstream")

#: Seconds between two looks at whether the thread of :meth:`Service.start` has opened.
START_LOOK_S = 0.0005
#: Joining again: callers wait for as long as it takes, so it takes as long as it may.
PATIENCE = Patience(RStreamError, REJOIN_PAUSE_S, math.inf)

Q = TypeVar("Q")
A = TypeVar("A")


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
        place: ServicePlace,
        *,
        query_codec: Codec[Any],
        codec: Codec[Any],
        threads: int,
        outstanding: int,
        callers_per_host: int,
        dir: str | None,
    ) -> None:
        for name, value, least in (
            ("threads", threads, 0),
            ("outstanding", outstanding, 1),
            ("callers_per_host", callers_per_host, 1),
        ):
            if not is_whole(value) or value < least:
                raise ConfigError(f"{name}={value!r}: must be a whole number, {least} or more")
        self.function: Callable[[Q], A] = function
        self.place: ServicePlace = place
        self.is_async: bool = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(
            function
        )
        self._query_codec = query_codec
        self._codec = codec
        self._threads = threads
        self._outstanding = outstanding
        self._callers_per_host = callers_per_host
        self._dir = dir
        #: What serves it now, or did last.
        self.serving: Serving | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._thread: threading.Thread | None = None
        #: Whether callers may take what publishers owe them when it closes.
        self.lingers: bool = True
        self._is_closing = False
        self._session: Session | None = None
        self._problem: BaseException | None = None

    def __call__(self, query: Q) -> A:
        return self.function(query)

    @property
    def name(self) -> str:
        """The name that it serves."""
        return self.place.name

    @property
    def is_closing(self) -> bool:
        """Whether it was asked to end."""
        return self._is_closing

    @property
    def was_opened(self) -> bool:
        """Whether it has joined a driver."""
        return self._session is not None

    def statistics(self) -> dict[str, int]:
        """``callers`` of now, their ``outstanding`` requests, and how many requests were
        ``answered``, ``cancelled`` and ``refused`` since it joined the driver.
        """
        serving = self.serving
        return {} if serving is None else serving.line.statistics()

    # ---- life ----

    def run(self) -> None:
        """Serve in this thread until :meth:`close` in another one, or Ctrl-C.

        Raises:
            RegistrationError: another server of the name is alive.
            DriverError: there is no driver, or it refused the channel.
        """
        try:
            if self.is_async:
                _loops.run_service(self)
            else:
                self._run_here()
        finally:
            try:
                self._leave()
            except BaseException:  # a handler has raised again, in there
                self._leave()
                raise

    def _run_here(self) -> None:
        if self._threads:
            self._pool = ThreadPoolExecutor(self._threads, f"rstream-{self.name}")
        with suppress(KeyboardInterrupt):
            while not self.is_closing:
                serving = self.serving = ThreadServing(self, self._pool)
                # The context of its own ends with it: then no call is current.
                copy_context().run(serving.run)

    def _leave(self) -> None:
        """Close what an interrupt has left open. Idempotent."""
        if self.serving is not None:
            self.serving.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def start(self) -> Self:
        """Serve in a daemon thread of its own; returns when it is open. It serves until it is
        closed, or the program ends, also when nothing else refers to it.

        Raises:
            RStreamError: as :meth:`run`.
        """
        if self._thread is not None:
            raise RStreamError(f"{self!r} has been started already")
        self._thread = threading.Thread(
            target=self._run_in_thread, name=f"rstream-{self.name}", daemon=True
        )
        self._thread.start()
        while self._thread.is_alive() and not self.was_opened:
            time.sleep(START_LOOK_S)
        if self._problem is not None:
            raise self._problem
        return self

    def _run_in_thread(self) -> None:
        try:
            self.run()
        except BaseException as error:
            if self.was_opened:
                log.exception("%r has failed", self)
            self._problem = error

    def close(self, *, timeout_s: float = 10.0) -> None:
        """End serving: what runs is cancelled, and callers that wait get ServerLost. Idempotent.

        What publishers have for their callers, and their end, is taken first, for up to 5 s; not
        when a ``with`` block is left by an exception.

        Args:
            timeout_s: most seconds to wait for the thread of :meth:`start`, which leaves when the
                function has returned.
        """
        check_seconds("timeout_s", timeout_s)
        self._is_closing = True
        serving, thread = self.serving, self._thread
        if serving is not None:
            serving.wake()
        # Without an ident: its start was interrupted.
        if thread not in (None, threading.current_thread()) and thread.ident is not None:
            thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.lingers = exc is None
        self.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "serve in the process that imports it, and pass its name to callers")

    def __repr__(self) -> str:
        return f"<rstream.service.Service {self.name!r} on {self.place.channel}>"

    # ---- for what serves it ----

    def make_line(self) -> ServerLine:
        """The end of a line to callers, which is not open."""
        return ServerLine(self.place, self._outstanding, self._callers_per_host)

    def join_steps(self, open: Callable[[Link], object]) -> Steps[None]:
        """Join a driver; after a first success until one lives again, or it is closing.

        Args:
            open: opens it with a hold on a client. It lets go when it fails, or is closed.
        Raises:
            RStreamError: as :meth:`run`.
        """
        session = self._session
        if session is None:
            yield Work(partial(opened, self._dir, None, open))
        else:
            title = f"service {self.name!r}"
            yield from session.join_steps(open, title=title, is_closing=lambda: self._is_closing)

    def note_opened(self, link: Link) -> None:
        """It has joined a driver."""
        if self._session is None:
            self._session = Session(link, PATIENCE)

    def note_closed(self) -> None:
        """End serving without a word."""
        self._is_closing = True

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
        is_stream = isinstance(result, abc.Publisher) or (
            hasattr(result, "__next__") or hasattr(result, "__anext__")
        )
        if is_stream and not asked.is_stream:
            raise TypeError(f"{self.name!r} answers with a stream: use request_stream")
        if asked.is_stream and not is_stream:
            raise TypeError(f"{self.name!r} answers once: use request")
