"""When a reader joins again: in the poll that finds the loss, or, for an event loop, in a thread.

How it joins is in _inputs.py. It may take as long as a driver needs to start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.errors import DriverLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.stream._reading._inputs import Inputs

__all__ = ("Joining",)


class Joining:
    """What a reader has to join again. The thread that holds the reader's turn uses it.

    Args:
        inputs: the subscriptions.

    Attributes:
        in_poll: the poll that finds a loss joins again itself.
        jobs: what waits for :meth:`run`; no poll goes on before.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self.in_poll: bool = True
        self.jobs: list[Callable[[], None]] = []

    def rejoin(self, error: Exception) -> None:
        """Join all subscriptions again, because of this error."""
        self.do(lambda: self._inputs.rejoin(error))

    def do(self, job: Callable[[], None]) -> None:
        """Join again by this job, now or later."""
        if self.in_poll:
            job()
        else:
            self.jobs.append(job)

    def run(self) -> None:
        """Do the jobs that wait."""
        while self.jobs:
            try:
                self.jobs[0]()
            except DriverLost as error:
                self._inputs.rejoin(error)
            del self.jobs[0]
