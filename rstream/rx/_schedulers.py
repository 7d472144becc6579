"""What a scheduler of RxPY is like, as far as waiting on it is concerned."""

from __future__ import annotations

import asyncio
import sys
import threading
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from reactivex import abc
from reactivex.scheduler import (
    ImmediateScheduler,
    NewThreadScheduler,
    TimeoutScheduler,
    TrampolineScheduler,
    VirtualTimeScheduler,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Action = Callable[[Any, Any], None]

#: How long a thread of :class:`OwnThread` waits for the next action before it ends.
IDLE_S: Final = 0.1


def check_scheduler(what: str, value: object) -> None:
    """Refuse what is no scheduler; ``what``: the operator.

    Raises:
        TypeError: no scheduler of RxPY, or its class.
    """
    if not isinstance(value, abc.SchedulerBase):
        raise TypeError(f"{what}: scheduler={value!r}: must be a scheduler of RxPY, an object")


class SchedulerKind(Enum):
    """Where the actions of a scheduler run."""

    CALLER = auto()  # in the thread that schedules
    THREAD = auto()  # each in a thread that it may hold as long as it likes
    LOOP = auto()  # in one thread, which serves others too
    VIRTUAL = auto()  # in the thread that moves the virtual clock


def kind_of(scheduler: abc.SchedulerBase) -> SchedulerKind:
    """The kind of a scheduler; one that is not known counts as a loop."""
    if isinstance(scheduler, VirtualTimeScheduler):
        return SchedulerKind.VIRTUAL
    if isinstance(scheduler, (ImmediateScheduler, TrampolineScheduler)):
        return SchedulerKind.CALLER
    if isinstance(scheduler, (NewThreadScheduler, TimeoutScheduler)):  # and ThreadPoolScheduler
        return SchedulerKind.THREAD
    return SchedulerKind.LOOP


def is_own_thread(scheduler: abc.SchedulerBase | OwnThread) -> bool:
    """Whether the calling thread is known to be the one that a loop's actions run in."""
    # RxPY has no public names for these two.
    if getattr(scheduler, "_thread", None) is threading.current_thread():
        return True
    loop = getattr(scheduler, "_loop", None)
    return loop is not None and loop is running_loop()


def is_called_from(module: str) -> bool:
    """Whether a function of the module is among the callers."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_globals.get("__name__") == module:
            return True
        frame = frame.f_back
    return False


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of asyncio that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class OwnThread:
    """Runs one action at a time in a thread of its own, which ends when it is idle.

    The thread keeps the program alive only while it has something to do, unless the thread that
    scheduled was a daemon.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._action: Action | None = None
        self._has_thread = False

    def schedule(self, action: Action) -> None:
        """Run ``action`` soon. At most one waits."""
        with self._changed:
            self._action = action
            if self._has_thread:
                self._changed.notify()
                return
            threading.Thread(target=self._run, name=self._name).start()
            self._has_thread = True

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._action is None:
                    self._changed.wait(IDLE_S)
                action, self._action = self._action, None
                if action is None:
                    self._has_thread = False
                    return
            try:
                action(None, None)
            except BaseException:
                with self._changed:
                    self._has_thread = False
                raise
