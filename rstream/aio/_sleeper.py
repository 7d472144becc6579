"""Sleeping in an event loop until a descriptor of the transport becomes readable."""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

if TYPE_CHECKING:
    from rstream._waits import Watched


class Sleeper:
    """Sleeps on one descriptor at a time; only the loop's thread uses it.

    A descriptor must not be closed while the loop watches it. So an owner that closes wakes the
    task that sleeps, and that task closes it.

    Attributes:
        is_sleeping: whether a task sleeps now.
    """

    def __init__(self) -> None:
        self.is_sleeping = False

    async def sleep(self, watched: Watched, timeout_s: float) -> bool:
        """Wait until the descriptor is readable, once; False: not within ``timeout_s``.

        Other tasks get a turn in any case.
        """
        if watched.arm():
            await anyio.lowlevel.checkpoint()
            return True
        self.is_sleeping = True
        try:
            loop = loop_of_asyncio()
            if loop is not None:
                return await _sleep_in_asyncio(loop, watched.fileno(), timeout_s)
            with anyio.move_on_after(timeout_s) as scope:
                await anyio.wait_readable(watched.fileno())
            return not scope.cancelled_caught
        finally:
            self.is_sleeping = False
            watched.disarm()


def loop_of_asyncio() -> asyncio.AbstractEventLoop | None:
    """The loop, if a task of asyncio asks. (A task of trio may run inside a loop of asyncio.)"""
    try:
        return None if asyncio.current_task() is None else asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _sleep_in_asyncio(
    loop: asyncio.AbstractEventLoop, descriptor: int, timeout_s: float
) -> bool:
    """As ``anyio.move_on_after`` around ``anyio.wait_readable``, at a third of their cost.

    A signal handler that raises inside ``add_reader`` or ``remove_reader`` may leave the loop and
    its epoll at odds about the descriptor.
    """
    woken: asyncio.Future[bool] = loop.create_future()
    timer = loop.call_later(timeout_s, _wake, woken, False)
    outer = None
    try:
        try:
            _watch(loop, descriptor, woken)
        except FileExistsError:  # epoll alone has it, until it is closed
            outer = select.epoll()
            outer.register(descriptor, select.EPOLLIN)
            _watch(loop, outer.fileno(), woken)
        return await woken
    finally:
        loop.remove_reader(descriptor if outer is None else outer.fileno())
        timer.cancel()
        if outer is not None:
            outer.close()


def _watch(loop: asyncio.AbstractEventLoop, descriptor: int, woken: asyncio.Future[bool]) -> None:
    # What an interrupted call has left may name a descriptor that was closed. add_reader would
    # trust it, and tell epoll nothing of the new descriptor of that number.
    loop.remove_reader(descriptor)
    loop.add_reader(descriptor, _wake, woken, True)


def _wake(woken: asyncio.Future[bool], is_readable: bool) -> None:
    if not woken.done():
        woken.set_result(is_readable)
