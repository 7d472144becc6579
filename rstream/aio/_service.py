"""Serving requests in an event loop: each one is a task, which is cancelled with its request."""

from __future__ import annotations

import logging
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from rstream import abc
from rstream._checks import short
from rstream.aio._sleeper import Sleeper
from rstream.aio._thread_call import ThreadCall
from rstream.errors import ClosedError, DriverError, RStreamError
from rstream.service._current import set_current
from rstream.service._published import Draining, PublishedAnswers, answers_of, may_make
from rstream.service._server_line import LOOK_S, RETRY_S
from rstream.service._service import Service
from rstream.service._serving import LINGER_S, REJOIN_PAUSE_S, TURN, is_interrupt, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.service._asked import Asked
    from rstream.service._server_line import ServerLine

log = logging.getLogger("rstream")


async def serve(service: Service[Any, Any]) -> None:
    """Serve in this event loop, until it is cancelled, or ``service.close()`` in a thread.

    A function that is not ``async`` is called in the loop, so it must be short.

    Args:
        service: of :func:`rstream.serve`.
    Raises:
        TypeError: no service.
        RegistrationError: another server of the name is alive.
        DriverError: there is no driver, or it refused the channel.

    Example::

        @rstream.serve("prices")
        async def price(symbol):
            return await look_up(symbol)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rstream.aio.serve, price)
    """
    if not isinstance(service, Service):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"rstream.aio.serve({short(service)}): must be a service, as @rstream.serve(name) "
            "makes of a function"
        )
    while not service.is_closing:
        desk = await ThreadCall(service.open_desk, lambda made: made.close(0)).result()
        await _Serving(service, desk).run()


def run_service(service: Service[Any, Any]) -> None:
    """Serve in an event loop (asyncio) that is made for it; ``Service.run`` of an ``async``
    function calls it.
    """
    try:
        anyio.run(serve, service)
    except* KeyboardInterrupt:  # a handler of the user's raises it inside a task group
        pass


class _Serving:
    """One service with one desk, as :class:`rstream.service._service.Serving` in threads."""

    def __init__(self, service: Service[Any, Any], desk: ServerLine) -> None:
        self._service = service
        self._desk = desk
        self._is_waiting = False
        self._sleeper = Sleeper()
        self._interrupt: BaseException | None = None
        # Calls that other threads have for this one. One at most for each element that waits.
        self._posted: deque[Callable[[], object]] = deque()
        self._published: dict[Asked, PublishedAnswers] = {}  # what publishers answer

    async def run(self) -> None:
        """Serve until the driver is lost, or the service is closing."""
        service, desk = self._service, self._desk
        try:
            async with anyio.create_task_group() as tasks:
                try:
                    while not service.is_closing and self._interrupt is None:
                        count = desk.take()
                        while self._posted:
                            self._posted.popleft()()
                        while desk.new:
                            tasks.start_soon(self._answer, desk.new.popleft())
                        if desk.has_unsent:
                            desk.flush()
                        await self._pause(count)
                except DriverError as error:
                    log.warning("service %r: %s; joining again", service.name, error)
                    await anyio.sleep(REJOIN_PAUSE_S)
                except ClosedError:
                    service.note_closed()  # the client was closed: the program ends
                if service.is_closing and service.lingers:
                    await self._drain()
                tasks.cancel_scope.cancel()
            if self._interrupt is not None:
                raise self._interrupt
        finally:
            for answers in self._published.values():  # whose tasks were interrupted at their end
                answers.close()
            with anyio.CancelScope(shield=True):
                await ThreadCall(lambda: desk.close(LINGER_S)).result()

    async def _drain(self) -> None:
        """Let callers have what publishers still owe them, as the server in threads does."""
        draining = Draining()
        with suppress(DriverError, ClosedError):
            while draining.goes_on(list(self._published)):
                self._desk.take()
                while self._posted:
                    self._posted.popleft()()
                self._desk.flush()
                await anyio.sleep(RETRY_S)

    async def _pause(self, count: int) -> None:
        if count:
            await anyio.lowlevel.checkpoint()  # the tasks have their turn
            return
        self._is_waiting = True
        try:
            wait_s = RETRY_S if self._desk.has_unsent else LOOK_S
            await self._sleeper.sleep(self._desk.asks.watched, wait_s)
        finally:
            self._is_waiting = False

    def _wake(self) -> None:
        """End the pause: an answer waits for room, and the pause may be a long one."""
        if self._is_waiting and self._desk.has_unsent:
            self._desk.wake()

    def _post(self, call: Callable[[], object]) -> None:
        """Have the loop call it; any thread."""
        self._posted.append(call)
        with suppress(RStreamError):
            self._desk.wake()

    async def _answer(self, asked: Asked) -> None:
        service, desk = self._service, self._desk
        if asked.is_cancelled:
            return
        with anyio.CancelScope() as scope:
            if asked.deadline_s is not None:
                scope.deadline = anyio.current_time() + asked.deadline_s - time.monotonic()
            asked.on_change = lambda: scope.cancel() if asked.is_cancelled else None
            set_current(asked)
            try:
                result = service.function(service.decoded(asked))
                if hasattr(result, "__await__"):
                    result = await result
                service.check_kind(asked, result)
                if asked.is_stream:
                    await self._stream(asked, result, scope)
                else:
                    desk.answer(asked, *service.encoded(result))
            except BaseException as error:
                if _is_ours(error):
                    raise
                log.info("service %r: a request failed", service.name, exc_info=error)
                with suppress(RStreamError):  # the loop that takes requests sees it too
                    desk.fail(asked, told(error))
                if is_interrupt(error):
                    self._interrupt = error  # out of this task it would end the loop at once
            finally:
                asked.on_change = None  # the desk may be closed in a thread: no scope works there
        self._wake()

    async def _stream(self, asked: Asked, result: Any, scope: anyio.CancelScope) -> None:
        service, desk = self._service, self._desk
        changed = anyio.Event()

        def on_change() -> None:
            changed.set()
            if asked.is_cancelled:
                scope.cancel()

        asked.on_change = on_change
        answers: Any = answers_of(result, lambda: self._post(asked.changed))
        try:
            if isinstance(result, abc.Publisher):
                self._published[asked] = answers
                answers.begin()
            while True:
                while not may_make(answers, asked):
                    changed = anyio.Event()
                    self._wake()
                    await changed.wait()
                try:
                    if hasattr(answers, "__anext__"):
                        answer = await anext(answers)
                    else:
                        answer = next(answers)
                except (StopIteration, StopAsyncIteration):
                    desk.end(asked)
                    return
                desk.item(asked, *service.encoded(answer))
                if asked.made % TURN == 0:
                    await anyio.lowlevel.checkpoint()
        finally:
            await _close(answers)
            self._published.pop(asked, None)


def _is_ours(error: BaseException) -> bool:
    """Whether an error is the cancellation of this task, and not one that its function met."""
    try:
        if not isinstance(error, anyio.get_cancelled_exc_class()):
            return False
    except RuntimeError:  # its loop has gone, and Python closes what was left of it
        return True
    return anyio.current_effective_deadline() == float("-inf")


async def _close(answers: Any) -> None:
    """Close a generator, whose ``finally`` runs, also when the task was cancelled."""
    try:
        if hasattr(answers, "aclose"):
            with anyio.CancelScope(shield=True):
                await answers.aclose()
        elif hasattr(answers, "close"):
            answers.close()
    except Exception:
        log.exception("a stream of answers failed while it was closed")
