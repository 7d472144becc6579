"""The runner that sleeps in its thread."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rstream._waits._values import Pause, Room, Step, Steps, Work

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

R = TypeVar("R")


def run(
    steps: Steps[R], perform: Callable[[Pause | Room], object], lock: AbstractContextManager[Any]
) -> R:
    """Perform all steps in this thread; returns the generator's result.

    The lock is held while the generator runs and during ``Work``. It is free during the waits.
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


def _answered(steps: Steps[R], perform: Callable[[], object]) -> Callable[[], Step]:
    """Perform a step; the result lets the generator go on with its answer or its exception."""
    try:
        return partial(steps.send, perform())
    except BaseException as error:
        return partial(steps.throw, error)
