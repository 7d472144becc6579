"""Serving requests in an event loop: each one is a task, which is cancelled with its request."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import anyio

from rstream._checks import short
from rstream._waits import Woken
from rstream.aio._run import Performer, run
from rstream.aio._thread_call import ThreadCall
from rstream.service._internal import (
    END,
    CallFunction,
    MakeAnswer,
    Service,
    Serving,
    is_interrupt,
    set_current,
)

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from rstream.service._internal import Asked, RequestStep

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
        serving = service.serving = LoopServing(service)
        await serving.run()


def run_service(service: Service[Any, Any]) -> None:
    """Serve in an event loop (asyncio) that is made for it; ``Service.run`` of an ``async``
    function calls it.
    """
    try:
        anyio.run(serve, service)
    except* KeyboardInterrupt:  # a handler of the user's raises it inside a task group
        pass


class LoopServing(Serving):
    """Has a task perform the steps of each request."""

    def __init__(self, service: Service[Any, Any]) -> None:
        super().__init__(service)
        self._perform = Performer()
        self._tasks: TaskGroup
        self._has_begun = False  # tasks, which have had no turn yet

    async def run(self) -> None:
        """Serve until the driver is lost, or the service is closing."""
        try:
            await run(self.join_steps(), self._perform)
            async with anyio.create_task_group() as self._tasks:
                await run(self.serve_steps(), self._perform)
                self._tasks.cancel_scope.cancel()
            if self._interrupt is not None:
                raise self._interrupt
        finally:
            self.end_streams()  # whose tasks were interrupted at their end
            with anyio.CancelScope(shield=True):
                await ThreadCall(self.close).result()

    def _has_more(self) -> bool:
        has_begun, self._has_begun = self._has_begun, False
        return has_begun

    def _begin(self, asked: Asked) -> None:
        self._has_begun = True
        self._tasks.start_soon(self._answer, asked)

    async def _answer(self, asked: Asked) -> None:
        with anyio.CancelScope() as scope:
            if asked.deadline_s is not None:
                scope.deadline = anyio.current_time() + asked.deadline_s - time.monotonic()
            asked.on_cancel = scope.cancel
            set_current(asked)
            try:
                try:
                    await run(self.answer_steps(asked), self._perform_request)
                finally:
                    await _close(asked.answers)
                    if asked in self._streams:
                        self._streams.remove(asked)
            except BaseException as error:
                if not is_interrupt(error):
                    raise
                self._interrupt = error  # out of this task it would end the loop at once
            finally:
                # The line may be closed in a thread: neither scope nor event works there.
                asked.on_cancel = asked.waker = None
        self._wake_for_room()

    async def _perform_request(self, step: RequestStep) -> Any:
        if isinstance(step, CallFunction):
            result = step.function(step.query)
            return await result if hasattr(result, "__await__") else result
        if isinstance(step, MakeAnswer):
            if not hasattr(step.answers, "__anext__"):
                return next(step.answers, END)
            try:
                return await anext(step.answers)
            except StopAsyncIteration:
                return END
        if isinstance(step, Woken):
            self._wake_for_room()
        return await self._perform(step)

    def _wake_for_room(self) -> None:
        """End the wait for callers if an answer waits for room: it may be a long one."""
        if self._perform.is_listening and self.line.has_unsent:
            self.wake()

    def _is_end_of(self, asked: Asked, error: BaseException) -> bool:
        return super()._is_end_of(asked, error) or _is_cancellation(error)


def _is_cancellation(error: BaseException) -> bool:
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
