"""The waits of a publisher as values, so that a thread and an event loop share one sending code.

Sending, joining again and ending are generators of steps. :class:`rstream.stream.Publisher`
performs each step by sleeping, :mod:`rstream.aio` by awaiting. The answer to a step is sent into
the generator; an exception of the step is thrown into it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Pause:
    """Let that much time pass. No answer."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Room:
    """Wait until there is room, or readers came or went; at most that long.

    The answer is False when nothing happened within that time. DriverLost is thrown in.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Call the function, which may block for seconds: it may start a driver. Answer: its result."""

    function: Callable[[], object]


Step: TypeAlias = Pause | Room | Work
Steps: TypeAlias = Generator[Step, Any, R]


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
