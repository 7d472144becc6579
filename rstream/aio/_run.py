"""The runner of steps (:mod:`rstream._waits`) that awaits."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.lowlevel

from rstream._waits import News, Pause, Room, Unwatched, Waker, Woken
from rstream.aio._sleeper import Sleeper
from rstream.aio._thread_call import ThreadCall
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from rstream._waits import Listens, Step

R = TypeVar("R")
S = TypeVar("S")

#: Seconds between two looks at whether a task has left a descriptor.
PAUSE_S = 0.001


async def run(steps: Generator[S, Any, R], perform: Callable[[S], Awaitable[object]]) -> R:
    """Perform all steps in this task; returns the generator's result.

    Nothing is awaited after the last step: a sent message is never reported as cancelled. When a
    signal handler raises between two steps the generator is closed, so its ``finally`` runs at
    once.
    """
    try:
        step = next(steps)
        while True:
            try:
                answer = await perform(step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value
    except BaseException:
        steps.close()
        raise


class Performer:
    """Performs steps in one event loop; not :class:`rstream._waits.Room`, which the publisher
    knows. One task at a time may wait for :class:`rstream._waits.News`.
    """

    def __init__(self) -> None:
        self._sleeper = Sleeper()

    @property
    def is_listening(self) -> bool:
        """Whether a task sleeps until there is :class:`rstream._waits.News`."""
        return self._sleeper.is_sleeping

    async def __call__(self, step: Step) -> object:
        """Perform one step."""
        if isinstance(step, News):
            return await self._listen(step)
        if isinstance(step, Pause):
            return await anyio.sleep(step.seconds)
        if isinstance(step, Woken):
            return await _sleep(step.waker, step.seconds)
        if isinstance(step, Unwatched):
            return await self._unwatch(step.reader)
        assert not isinstance(step, Room)
        return await ThreadCall(step.function).result()

    async def _listen(self, step: News) -> None:
        if step.reader.is_ready():
            await anyio.lowlevel.checkpoint()
        else:
            await self._sleeper.sleep(step.reader.watched, step.seconds)

    async def _unwatch(self, reader: Listens) -> None:
        while self._sleeper.is_sleeping:
            with suppress(RStreamError):
                reader.wake()
            await anyio.sleep(PAUSE_S)


async def _sleep(waker: Waker, seconds: float) -> None:
    event = anyio.Event()
    waker.on_wake = event.set
    if not waker.is_woken:
        with anyio.move_on_after(seconds):
            await event.wait()
