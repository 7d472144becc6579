"""What can be waited for."""

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
