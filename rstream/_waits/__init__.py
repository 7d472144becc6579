"""Waits as values, so that code that waits is written once for threads and for event loops.

*Steps* are a generator that yields each wait. A runner performs it and sends its answer into the
generator; an exception of the wait is thrown into it. There are two runners: :func:`run` sleeps in
its thread (:func:`run_in_turns` also keeps a lock), and the one of :mod:`rstream.aio` awaits.
"""

from __future__ import annotations

from rstream._waits._bell import Bell
from rstream._waits._deadline import FOREVER_S, NOTICE_AFTER_S, Deadline
from rstream._waits._thread import perform, run, run_in_turns
from rstream._waits._values import (
    Listens,
    News,
    Pause,
    Room,
    Step,
    Steps,
    Unwatched,
    Waker,
    Watched,
    Woken,
    Work,
)

__all__ = (
    "FOREVER_S",
    "NOTICE_AFTER_S",
    "Bell",
    "Deadline",
    "Listens",
    "News",
    "Pause",
    "Room",
    "Step",
    "Steps",
    "Unwatched",
    "Waker",
    "Watched",
    "Woken",
    "Work",
    "perform",
    "run",
    "run_in_turns",
)
