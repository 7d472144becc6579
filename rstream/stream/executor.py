"""Executors run the loops of sources and sinks: in a thread each, or in the caller's thread.

A loop does one step at a time and returns whether there is more to do. A step may wait, at most
for the time that the executor gives it; with ``run_pending(wait_s=0)`` it never waits.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Protocol

from rstream._checks import check_seconds

__all__ = ("CallerExecutor", "Executor", "Loop", "ThreadExecutor")


class Loop(Protocol):
    """The loop of one source's subscription, or of one sink."""

    def step(self, wait_s: float) -> bool:
        """Do the work that is there; with none, wait up to ``wait_s`` seconds. False: finished."""
        ...


class Executor(Protocol):
    """Runs loops."""

    def start(self, loop: Loop, name: str) -> None:
        """Begin to run ``loop`` until it is finished."""
        ...


class ThreadExecutor:
    """One thread for each loop.

    Args:
        daemon: whether the program may end while the loop is running.
    """

    def __init__(self, *, daemon: bool = True) -> None:
        self._daemon = daemon

    def start(self, loop: Loop, name: str) -> None:
        """Start the thread."""

        def run() -> None:
            while loop.step(0.5):
                pass

        threading.Thread(target=run, name=name, daemon=self._daemon).start()


class CallerExecutor:
    """The caller's own thread: nothing happens outside :meth:`run_pending` and :meth:`run`."""

    def __init__(self) -> None:
        self._loops: deque[Loop] = deque()

    def start(self, loop: Loop, name: str) -> None:
        """Take the loop for the next :meth:`run_pending`."""
        self._loops.append(loop)

    def run_pending(self, *, wait_s: float = 0.0) -> bool:
        """One step of each loop; False when none is left.

        Args:
            wait_s: most seconds that each of them waits for items.
        """
        check_seconds("wait_s", wait_s)
        for _ in range(len(self._loops)):
            loop = self._loops.popleft()
            if loop.step(wait_s):
                self._loops.append(loop)
        return bool(self._loops)

    def run(self) -> None:
        """Run until all loops have finished."""
        while self.run_pending(wait_s=0.01):
            pass
