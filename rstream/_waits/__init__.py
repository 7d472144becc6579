"""Waits as values, so that code that waits is written once for threads and for event loops.

*Steps* are a generator that yields each wait. A runner performs it and sends its answer into the
generator; an exception of the wait is thrown into it. There are two runners: :func:`run` sleeps in
its thread, and the one of :mod:`rstream.aio` awaits.
"""

from __future__ import annotations

from rstream._waits._thread import run
from rstream._waits._values import Pause, Room, Step, Steps, Work

__all__ = ("Pause", "Room", "Step", "Steps", "Work", "run")
