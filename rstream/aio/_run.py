"""The runner of steps (:mod:`rstream._waits`) that awaits."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rstream._waits import Step, Steps

R = TypeVar("R")


async def run(steps: Steps[R], perform: Callable[[Step], Awaitable[object]]) -> R:
    """Perform all steps in this task; returns the generator's result.

    Nothing is awaited after the last step: a sent message is never reported as cancelled.
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
