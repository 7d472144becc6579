"""The runner that sleeps in its thread."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rstream._waits._values import News, Pause, Room, Step, Steps, Waker, Woken, Work

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

R = TypeVar("R")


def run(steps: Steps[R]) -> R:
    """Perform all steps in this thread; returns the generator's result.

    When a signal handler raises between two steps the generator is closed, so its ``finally`` runs
    at once. No handler runs between the end of the generator and the return.
    """
    try:
        step = next(steps)
        while True:
            try:
                answer = perform(step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value
    except BaseException:
        steps.close()
        raise


def run_in_turns(
    steps: Steps[R], perform: Callable[[Step], object], lock: AbstractContextManager[Any]
) -> R:
    """As :func:`run`, in turns with other threads.

    Args:
        steps: the generator.
        perform: performs all but ``Work``; :func:`perform`, or one that knows :class:`Room`, too.
        lock: is held while the generator runs and during ``Work``. It is free during the waits.
    """
    resume: Callable[[], Step] = partial(next, steps)
    try:
        while True:
            with lock:
                step = resume()
                while isinstance(step, Work):
                    step = _answered(steps, step.function)()
            resume = _answered(steps, partial(perform, step))
    except StopIteration as end:
        return end.value
    except BaseException:
        with lock:
            steps.close()
        raise


def _answered(steps: Steps[R], perform: Callable[[], object]) -> Callable[[], Step]:
    """Perform a step; the result lets the generator go on with its answer or its exception."""
    try:
        return partial(steps.send, perform())
    except BaseException as error:
        return partial(steps.throw, error)


def perform(step: Step) -> object:
    """Perform one step in this thread; not :class:`Room`, which the publisher knows."""
    if isinstance(step, News):
        return step.reader.wait(step.seconds)
    if isinstance(step, Pause):
        return time.sleep(step.seconds)
    if isinstance(step, Woken):
        return _sleep(step.waker, step.seconds)
    if isinstance(step, Work):
        return step.function()
    assert not isinstance(step, Room)
    return None  # Unwatched: closing a reader ends the waits of threads


def _sleep(waker: Waker, seconds: float) -> None:
    bell = threading.Lock()  # not an Event: an interrupted set() may keep its lock
    bell.acquire()

    def ring() -> None:
        with suppress(RuntimeError):  # it was rung before
            bell.release()

    waker.on_wake = ring
    if not waker.is_woken:
        bell.acquire(timeout=seconds)
