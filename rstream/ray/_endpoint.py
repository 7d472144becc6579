"""Reading ends inside Ray actors, tasks and programs.

A blocking loop in an actor method would lock the actor, so an endpoint reads on a thread of its
own, or in the event loop of an async actor. A plain loop is for whoever has a thread to spare.
:mod:`rstream.ray._open` opens endpoints.
"""

from __future__ import annotations

import logging
import sys
import threading
from _thread import start_new_thread
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from rstream._checks import check_seconds
from rstream._facts import fullest
from rstream._pickling import refuse_pickling
from rstream._process import quiet_when_torn_down
from rstream.driver import watch_loop
from rstream.errors import ClosedError, ConfigError
from rstream.stream import Failed, Lost
from rstream.stream._internal import EVENTS_MAX, items, reading_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import TracebackType

    from reactivex import Observable

    from rstream.aio import Subscriber as AioSubscriber
    from rstream.ray._handle import StreamHandle
    from rstream.ray._refusal import Refusal
    from rstream.stream import Reader, StreamEvent, Subscriber

log = logging.getLogger("rstream")

#: How long the background thread sleeps at most before it looks whether it was closed.
CLOSE_CHECK_S = 0.1
#: How long close() waits for an on_item that is under way.
CLOSE_TIMEOUT_S = 10.0


class Endpoint:
    """A reading end with its handle; :func:`rstream.ray.reader` makes it.

    There are four ways to read it, and one endpoint is read in one of them: :meth:`start` (on a
    thread of its own), :meth:`observable` (RxPY, likewise), ``for`` (in the caller's thread) and
    ``async for`` (in the event loop). ``with`` and ``async with`` close it; by an exception inside,
    its writers get the exception's text (:class:`rstream.errors.RemoteError`).

    Many writers come and go. The death or the error of one concerns its session: it is an event
    (:meth:`events`), and the endpoint reads on for the others. :meth:`finish` ends it.

    Thread rules: call ``start`` or ``aio_subscriber`` once; call ``close`` and the properties from
    any thread, or, if it reads in an event loop, from the loop's. Without both the owner polls
    ``source`` itself.

    Example::

        with rstream.ray.reader(stays=False) as end:  # until its writers have completed
            actor.run.remote(end.handle)
            for item in end:
                print(item)

    Attributes:
        reader: reads the transport.
        source: the reader, or the queue that a policy puts in front of it.
        handle: the address of this reading end, for writers.
    """

    def __init__(
        self,
        reader: Reader[Any],
        handle: StreamHandle,
        source: Subscriber[Any] | None = None,
        *,
        on_closed: Callable[[], None] | None = None,
        refuse: Callable[[str], Refusal | None] | None = None,
    ) -> None:
        self.reader: Reader[Any] = reader
        self.source: Subscriber[Any] = reader if source is None else source
        self._reading = reading_of(self.source)
        self.handle: StreamHandle = handle
        self._is_closed = False
        self._loop: _EndpointLoop | None = None
        self._awaited: AioSubscriber[Any] | None = None
        self._on_closed = on_closed
        self._refuse = refuse
        self._refusal: Refusal | None = None  # of writers that come when it has failed
        self._is_closing = self._is_finishing = False
        self._error: BaseException | None = None
        self._on_writer_lost: Callable[[Lost | Failed], None] | None = None
        self._events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)  # told to on_writer_lost

    def __repr__(self) -> str:
        return f"<rstream.ray.Endpoint {self.handle.name!r} ({self.handle.stream_id})>"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(
            self,
            "pass its handle (end.handle), whose publisher() writes to it from anywhere",
        )

    @property
    def is_closed(self) -> bool:
        """Whether it was closed or has ended; writers do not reach it any more."""
        return self._is_closed

    @property
    def demand(self) -> int:
        """Messages that a writer may be ahead of what was read: what writers were told."""
        return self.reader.demand

    @property
    def fill(self) -> tuple[int, int]:
        """(bytes received and not yet consumed, window in bytes) of the fullest channel.

        A large message that lies in shared memory counts with its bytes; the window is that of the
        log, which has 64 bytes of it.
        """
        return fullest(self.reader.subscriptions)[:2]

    def start(
        self,
        on_item: Callable[[Any], None],
        *,
        on_error: Callable[[BaseException], None] | None = None,
        on_end: Callable[[BaseException | None], None] | None = None,
        on_writer_lost: Callable[[Lost | Failed], None] | None = None,
    ) -> None:
        """Read in the background, one item after the other; a slow ``on_item`` slows the writers.
        It reads until it is closed, or the program ends, also when nothing else refers to it.

        All functions are called on the endpoint's thread. An exception of ``on_item`` or of
        ``on_writer_lost`` ends the endpoint: its reader is closed, and the writers get the
        exception's text (:class:`rstream.errors.RemoteError`).

        Args:
            on_item: is called for each item.
            on_error: is called once, if an exception ended the endpoint. The reader is closed by
                then.
            on_end: is called once at the end, with the exception or None, after ``on_error``.
            on_writer_lost: is called when a writer died, was cut off, or ended its stream with an
                error, behind the last item that came from it (before items that wait in a
                policy's queue). :meth:`events` tells it too.
        Raises:
            ConfigError: it was started before.

        Example::

            end.start(self.on_tick, on_writer_lost=lambda event: self.lost.append(event.source))
        """
        self._check_not_started()
        self._on_writer_lost = on_writer_lost

        def run() -> None:
            if not loop.may_begin():
                return
            error = self._run(on_item)
            if error is not None and on_error is not None:
                on_error(error)
            if on_end is not None:
                on_end(error)

        loop = self._loop = _EndpointLoop(f"rstream-{self.handle.name}", run, self._stop)
        try:
            watch_loop(loop)
            loop.thread.start()
        except BaseException:
            if loop.give_up():
                self._loop = None  # it may be started again
            raise

    def observable(self) -> Observable[Any]:
        """The items as an RxPY Observable (:func:`rstream.rx.from_endpoint`).

        Subscribing starts the endpoint, so it can be subscribed once. The pipeline runs on the
        endpoint's thread: a slow one slows the writers down. Dispose closes the endpoint.

        Example::

            end.observable().pipe(ops.map(score)).subscribe(print)
        """
        from rstream.rx import from_endpoint

        return from_endpoint(self)

    def __iter__(self) -> Iterator[Any]:
        """Read in the caller's thread, until :meth:`finish` or :meth:`close`; with ``stays=False``
        until every writer seen has completed. In an actor it holds the actor's thread: use
        :meth:`start` there.

        Raises:
            ConfigError: it reads in another way already.
        """
        self._check_not_started()
        return self._items()

    def _items(self) -> Iterator[Any]:
        return items(
            self._reading,
            self._is_stopped,
            is_ended=self._is_finished,
            wait_s=CLOSE_CHECK_S,
        )

    def __aiter__(self) -> AsyncIterator[Any]:
        """Read in the event loop, as :meth:`aio_subscriber`."""
        return (self._awaited or self.aio_subscriber()).__aiter__()

    def aio_subscriber(self) -> AioSubscriber[Any]:
        """Read in the event loop, in place of :meth:`start`: nothing needs a thread.

        Leaving the block closes the endpoint. By an exception, the writers get its text
        (:class:`rstream.errors.RemoteError`). The loop goes on when all writers have completed,
        because others may come; :meth:`finish` ends it. An item counts as consumed when the loop
        asks for the next one.

        Raises:
            ConfigError: it was started before.

        Example::

            async def run(self):  # a method of an async actor; its other methods go on meanwhile
                async with self.end.aio_subscriber() as items:
                    async for item in items:
                        await self.on_item(item)
        """
        from rstream.aio import Subscriber

        self._check_not_started()
        self._awaited = Subscriber(self._reading, is_ended=self._is_finished, leave=self._leave)
        return self._awaited

    def _check_not_started(self) -> None:
        if self._loop is not None or self._awaited is not None:
            raise ConfigError(f"stream {self.handle.name!r}: its endpoint is already started")

    def _run(self, on_item: Callable[[Any], None]) -> BaseException | None:
        try:
            self._read(on_item)
        except BaseException as error:
            if not (self._is_closing and isinstance(error, ClosedError)):
                self._error = error
        finally:
            # In any case: a reader that nobody reads would hold the window, and so every writer.
            self._leave(self._error)
        return self._error

    def _read(self, on_item: Callable[[Any], None]) -> None:
        for item in self._items():
            on_item(item)
            if self._is_closing:
                self._reading.consume(self._reading.rest.handed_out())
                return

    def _is_stopped(self) -> bool:
        """Whether it is closing; the loop asks between polls, when the events are told."""
        if self._on_writer_lost is not None and not self._reading.rest.has_some():
            for event in self.source.events():
                self._events.append(event)
                if isinstance(event, Lost | Failed):
                    self._on_writer_lost(event)
        return self._is_closing

    def _leave(self, error: BaseException | None) -> None:
        """Close the reader, and tell the writers the error if there is one. Idempotent."""
        if error is not None:
            text = f"{type(error).__name__}: {error}"
            log.error("stream %r: endpoint ended: %s", self.handle.name, text)
            self._fail(f"the endpoint of {self.handle.name!r} ended: {text}")
        self._is_closed = True
        self.source.close()
        if self._on_closed is not None:
            self._on_closed()

    def _fail(self, reason: str) -> None:
        """Tell the writers why the reader leaves: those of now, and those that come later."""
        if self._refuse is not None and not (self._is_closed or self._is_closing or self._refusal):
            self._refusal = self._refuse(reason)  # before that opens anything: it can be ended
            if self._refusal is not None and not self._refusal.open():
                self._refusal = None
        try:
            self.reader.fail(reason)
        finally:
            if self._refusal is not None:
                self._refusal.start()

    def _is_finished(self) -> bool:
        """Whether :meth:`finish` was called, and all that was there by then has been read.

        Writers come and go (Spark's workers do not complete the stream), so only finish() ends it,
        unless ``stays=False`` says otherwise.
        """
        if self.source.is_ended:
            return True
        return self._is_finishing and not self._is_filling()

    def _is_filling(self) -> bool:
        """Whether received messages still move into the queue of a policy."""
        return self.source is not self.reader and self.fill[0] > 0

    def finish(self, timeout_s: float = 60.0) -> None:
        """Read everything that has arrived, then end, close the reader, and call ``on_end``.

        Writers must have finished before. In an event loop it returns at once, and ends the loop
        over :meth:`aio_subscriber` when all is read. In ``on_item`` it returns at once as well, and
        ``on_item`` gets the rest.

        Raises:
            TimeoutError: it is still reading after ``timeout_s`` seconds.
            Exception: the exception of ``on_item``.
        """
        check_seconds("timeout_s", timeout_s)
        self._is_finishing = True
        self.source.wake()
        self._join(timeout_s)
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Stop reading and close; messages that were not read stay unread. Idempotent.

        An endpoint that has failed refuses its writers until then.

        Raises:
            TimeoutError: ``on_item`` has not returned within ten seconds. The reader is closed all
                the same, so that no writer waits for it.
        """
        self._stop()
        try:
            self._join(CLOSE_TIMEOUT_S)
        finally:
            if self._awaited is not None:
                self._awaited.abandon()  # a task that sleeps must leave before the reader is closed
            else:
                self._leave(None)
            if self._refusal is not None:
                self._refusal.end()

    def _stop(self) -> None:
        """Stop reading after the item of now; waits for nothing and closes nothing."""
        self._is_closing = True
        self.source.wake()

    def _join(self, timeout_s: float) -> None:
        """Wait for the background thread, unless ``on_item`` asks: that is its thread."""
        loop = self._loop
        if loop is None or loop.thread is threading.current_thread() or loop.thread.ident is None:
            return
        loop.thread.join(timeout_s)
        if loop.thread.is_alive():
            raise TimeoutError(
                f"stream {self.handle.name!r}: its endpoint is still busy after {timeout_s} s; "
                "on_item does not return"
            )

    def events(self) -> list[StreamEvent]:
        """What happened to the writers since the last call, oldest first: come and gone, failed,
        lost, gaps, messages that could not be used (:mod:`rstream.stream`).
        """
        events = self._events
        events += self.source.events()
        told = [*events]
        events *= 0  # neither a signal handler nor another thread runs between this and the return
        return told

    def statistics(self) -> dict[str, Any]:
        """Counters of the reader and of its policy's queue; fill and window in bytes."""
        return self.source.statistics()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, Exception) and self._loop is None:
            self._leave(exc)
        else:
            self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._awaited is not None:
            await self._awaited.__aexit__(exc_type, exc, traceback)
        elif exc is not None and not isinstance(exc, Exception):
            self.close()  # cancelled: nothing may be awaited
        else:
            from rstream.aio._internal import ThreadCall

            await ThreadCall(partial(self.__exit__, exc_type, exc, traceback)).result()

    @quiet_when_torn_down
    def __del__(self) -> None:
        if self._on_closed is None or self._is_closed or self._reading.is_inherited:
            return  # the source warns, and closes itself
        if not sys.is_finalizing():
            # Apart, and without a lock of `threading`: a collection may come in the middle of any
            # of the locked steps that this takes.
            start_new_thread(self._on_closed, ())


class _EndpointLoop:
    """The thread of an endpoint, as :func:`rstream.driver.watch_loop` stops it at exit."""

    def __init__(self, name: str, run: Callable[[], None], stop: Callable[[], None]) -> None:
        self.stop = stop
        self.thread = threading.Thread(target=run, name=name, daemon=True)
        self.join = self.thread.join
        self._lock = threading.Lock()
        self._has_begun = self._is_given_up = False

    def may_begin(self) -> bool:
        """For the thread, first: whether it is still wanted."""
        with self._lock:
            self._has_begun = not self._is_given_up
            return self._has_begun

    def give_up(self) -> bool:
        """Its start was interrupted. True: it will not run; False: it does."""
        with self._lock:
            self._is_given_up = not self._has_begun
            return self._is_given_up
