"""How the tasks that share a publisher take turns, and wait."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar, final

import anyio

from rstream._checks import check_timeout
from rstream._waits import Pause, Room, Work
from rstream.aio._room import RoomWaiter
from rstream.aio._run import run as run_steps
from rstream.aio._thread_call import ThreadCall
from rstream.aio._turns import Parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._waits import Step, Steps
    from rstream.aio._turns import Turns
    from rstream.stream._internal import Sending

__all__ = ("LoopTurns",)

R = TypeVar("R")

#: Most bytes of the stream that are sent before a send looks whether a turn is due.
PART_BYTES: Final = 1 << 16


@final
class LoopTurns:
    """One call at a time of a publisher in an event loop, and the runner of its steps.

    Args:
        sending: the engine.
        send: held while one call sends.
        large: held while a message travels in parts.
        fair: gives other tasks their turn.

    Attributes:
        send: held while one call sends.
        large: held while a message travels in parts.
        room: what a task waits on for room.
        rejoin_call: joins again in a thread; it outlives a cancelled send.
        rate_call: changes the rate in a thread; likewise.
    """

    def __init__(self, sending: Sending, send: anyio.Lock, large: anyio.Lock, fair: Turns) -> None:
        self._sending = sending
        self.send = send
        self.large = large
        self._fair = fair
        self._parts = Parts(PART_BYTES, 1024)  # of what send sends, in bytes
        self.room = RoomWaiter()
        self.rejoin_call: ThreadCall[object] | None = None
        self.rate_call: ThreadCall[None] | None = None

    async def run(self, steps: Callable[[float | None], Steps[R]], timeout_s: float | None) -> R:
        """Run the steps when earlier calls are finished; they get the seconds that are left.

        Raises:
            ClosedError: closed here. BackPressured, StorageError, NotConnected: not in time.
        """
        check_timeout(timeout_s)
        self.check_open()
        left_s = timeout_s
        try:
            self.send.acquire_nowait()
        except anyio.WouldBlock:
            left_s = await self.enter(self.send, timeout_s)
        self._sending.state.short_way_end = 0  # until this call and those that wait are finished
        try:
            await self._fair.give_if_due()
            await self.settle()
            return await run_steps(steps(left_s), self.perform_open)
        finally:
            self.send.release()

    async def enter(self, lock: anyio.Lock, timeout_s: float | None) -> float | None:
        """Wait for other tasks; returns the seconds that are left."""
        if timeout_s is None:
            await lock.acquire()
            return None
        began_s = time.monotonic()
        with anyio.move_on_after(timeout_s) as waiting:
            await lock.acquire()
        if waiting.cancelled_caught:
            self.check_open()
            raise self._sending.errors.late(timeout_s)
        # Not a Deadline: an interrupt where its method begins would keep the lock for ever.
        return max(0.0, timeout_s - (time.monotonic() - began_s))

    def may_go_on(self) -> bool:
        """Whether a send may begin another part: no turn is due, and no other call is under way."""
        state = self._sending.state
        self._parts.end()
        if (
            self._fair.is_due
            or state.bucket is not None
            or self.rejoin_call is not None
            or self._sending.session.is_ending
            or self.send.locked()
        ):
            return False
        state.short_way_end = state.reached + self._parts.begin()
        return True

    async def settle(self) -> None:
        """Wait for the thread with which a cancelled call joins again."""
        call = self.rejoin_call
        if call is not None:
            await call.wait_done()
            if self.rejoin_call is call:
                self.rejoin_call = None
        self.check_open()

    def check_open(self) -> None:
        """Raise ClosedError if the publisher is closed or closing."""
        self._sending.session.check_open()

    @property
    def is_thread_running(self) -> bool:
        """Whether a thread joins again or changes the rate."""
        calls = (self.rejoin_call, self.rate_call)
        return any(call is not None and call.is_running for call in calls)

    @property
    def is_joining(self) -> bool:
        """Whether a thread joins again."""
        return self.rejoin_call is not None and self.rejoin_call.is_running

    def leave(self) -> None:
        """Let go of the session, now or when a thread that uses it is at its end."""
        self.room.close()
        # A thread that joins again may have a new session at its end: then it closes that one.
        for call in (self.rejoin_call, self.rate_call):
            if call is not None and call.when_done(self._sending.ending.let_go):
                return
        self._sending.ending.let_go()

    async def perform_open(self, step: Step) -> object:
        """As :meth:`perform`; ClosedError if the publisher was closed meanwhile."""
        answer = await self.perform(step)
        self.check_open()
        return answer

    async def perform(self, step: Step) -> object:
        """Await one step; a thread does the work of one that may block."""
        if isinstance(step, Room):
            return await self._await_room(step.seconds)
        if isinstance(step, Pause):
            await anyio.sleep(step.seconds)
            self._fair.note()
            return None
        assert isinstance(step, Work)
        self.rejoin_call = call = ThreadCall(step.function)
        answer = await call.result()
        self.rejoin_call = None
        return answer

    async def _await_room(self, timeout_s: float) -> bool:
        try:
            session = self._sending.session
            return await self.room.wait(session.link.client.core, session.core, timeout_s)
        finally:
            self._fair.note()
            if self._sending.session.is_closed and self.room.is_open:  # abandoned during the wait
                self.leave()
