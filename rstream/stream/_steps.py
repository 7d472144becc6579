"""What a publisher waits for, said and not done.

Sending, joining again and ending are written once, as generators of steps: a thread goes through them by
sleeping (:class:`rstream.stream.Publisher`), an event loop by awaiting (:mod:`rstream.aio`). The answer to a step
is sent into the generator, what goes wrong is thrown into it.
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

    The answer: False, nothing within that time. DriverLost is thrown in.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Call that; it may block for long, such as by starting a driver. The answer: what it returns."""

    function: Callable[[], object]


Step: TypeAlias = Pause | Room | Work
Steps: TypeAlias = Generator[Step, Any, R]


def run(steps: Steps[R], perform: Callable[[Step], object]) -> R:
    """Go through the steps in this thread; what the last one leads to."""
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
