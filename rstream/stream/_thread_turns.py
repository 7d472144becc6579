"""How the threads that share a publisher take turns, and wait.

Four locks. ``lock`` guards the publisher. A call holds it while it encodes, offers, joins again or
reads facts, and never during a wait. It is reentrant, so that a signal handler may use the
publisher that it interrupts. ``room`` is held by the one thread that waits in the transport; the
others wait for ``room``, and then look at the transport themselves. ``large`` is held while a
message travels in parts, ``end`` by the thread that closes. Order: ``large`` or ``end``, then
``room`` or ``lock``; ``room`` is never taken inside ``lock``. What is said under ``lock`` is
logged when it is free (``_later_log.py``).
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar, final

from rstream import _core
from rstream._greenlets import check_may_wait
from rstream._process import park_at_exit
from rstream._waits import Room, perform, run_in_turns
from rstream.errors import ClosedError

if TYPE_CHECKING:
    from rstream._later_log import LaterLog
    from rstream._waits import Step, Steps
    from rstream.stream._sending import Sending

__all__ = ("ThreadTurns",)

R = TypeVar("R")

#: Most seconds of one pause, where a signal handler waits that has interrupted another wait.
HANDLER_PAUSE_S: Final = 0.001


@final
class ThreadTurns:
    """The locks of one publisher, and the runner of its steps.

    Args:
        sending: the engine; its lock guards the publisher.
        later: what is said under that lock.

    Attributes:
        large: held while a message travels in parts.
        end: held by the thread that closes.
    """

    def __init__(self, sending: Sending, later: LaterLog) -> None:
        self._sending = sending
        self._later = later
        self._room = _core.Turn()
        self.large = _core.Turn()
        self.end = _core.Turn()

    def renew(self) -> None:
        """New locks: in a forked child the threads that held the old ones do not exist."""
        self._sending.state.lock = _core.Turn()
        self._room = _core.Turn()
        self.large = _core.Turn()
        self.end = _core.Turn()

    def run(self, steps: Steps[R]) -> R:
        """Perform the steps in this thread, in turns with others."""
        try:
            return run_in_turns(steps, self.perform, self._sending.state.lock)
        except ClosedError:
            self._park_at_exit()
            raise
        finally:
            if self._sending.session.link.is_closed:  # a wait for readers is over; close tells more
                self._park_at_exit()
            self.say()

    def say(self) -> None:
        """Log what was said under the lock; no lock is held while a handler logs."""
        if not self._later.waiting:
            return
        session = self._sending.session
        with session.state.lock:
            if session.refusal == 0:  # SendLog.log took the short way away
                session.accept()
        self._later.say()

    def perform(self, step: Step) -> object:
        """Perform one step; no thread holds the lock meanwhile."""
        self.say()
        if not isinstance(step, Room):
            return perform(step)
        check_may_wait()
        deadline_s = time.monotonic() + step.seconds
        if self._room.is_mine:  # in a signal handler that interrupted this very wait
            time.sleep(min(step.seconds, HANDLER_PAUSE_S))
            return False
        with self._room.within(step.seconds) as is_inside:
            if not is_inside:
                return False
            core = self._sending.session.core
            with suppress(ClosedError):  # the next offer says whether it was closed for good
                return core.wait(max(0.0, deadline_s - time.monotonic()))
            return True

    def _park_at_exit(self) -> None:
        if not self._sending.settings.owner:  # else its face knows what to do
            park_at_exit()
