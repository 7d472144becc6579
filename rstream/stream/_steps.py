"""The waits of a publisher as values, so that a thread and an event loop share one sending code.

Sending, joining again and ending are generators of steps. :class:`rstream.stream.Publisher`
performs each step by sleeping, :mod:`rstream.aio` by awaiting. The answer to a step is sent into
the generator; an exception of the step is thrown into it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

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


def run(steps: Steps[R], perform: Callable[[Step], object]) -> R:
    """Perform all steps in this thread; returns the generator's result."""
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
