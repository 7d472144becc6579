"""A thread that asks again and again which sessions there are.

It is a thread of its own because a driver with a thousand streams has many counters: reading them
must not keep the reading thread from its subscriptions, which hold the streams meanwhile.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from rstream import metrics
from rstream.cli._watch_targets import WatchTarget, targets
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Looker",)

LOOK_EVERY_S: Final = 0.2


class Looker(threading.Thread):
    """Looks until :meth:`stop`, or until the counters cannot be read.

    Args:
        driver_dir: where.
        is_wanted: which channels and stream ids.
        own_client: the client that watches.
        alone: also sessions that nobody else reads.

    Attributes:
        latest: the sessions to read, and how many wait for a reader; None: not known yet.
        error: why the counters could not be read.
    """

    def __init__(
        self,
        driver_dir: str,
        is_wanted: Callable[[str, int], bool],
        *,
        own_client: int,
        alone: bool,
    ) -> None:
        super().__init__(name="rstream-watch-look", daemon=True)
        self._driver_dir = driver_dir
        self._is_wanted = is_wanted
        self._own_client = own_client
        self._alone = alone
        self._over = threading.Event()
        self.latest: tuple[list[WatchTarget], int] | None = None
        self.error: RStreamError | None = None

    def run(self) -> None:
        while True:
            try:
                self.latest = targets(
                    *metrics.sessions(self._driver_dir),
                    self._is_wanted,
                    own_client=self._own_client,
                    alone=self._alone,
                )
            except RStreamError as error:
                self.error = error
                return
            if self._over.wait(LOOK_EVERY_S):
                return

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self.join()
