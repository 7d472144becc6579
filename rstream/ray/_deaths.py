"""Whether the actor behind a handle is dead for good or comes back, asked of Ray without waiting
for it.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from rstream.ray._cluster import final_death, running_ray

log = logging.getLogger("rstream")

#: Seconds between two questions to Ray, while a reader is away.
ASK_S: Final = 0.25


class ActorWatch:
    """Says why nobody will read a handle any more, or that its reader comes back.

    Ray answers in a millisecond, or not at all while it has lost its head node. So a daemon thread
    asks, and only while somebody wants to know.

    Args:
        actor_id: hexadecimal; empty: the reader is no actor, and nothing is known.
    """

    def __init__(self, actor_id: str) -> None:
        self._actor_id = actor_id
        self._why = ""
        self._is_restarting = False
        self._asked_s = 0.0
        self._asking: threading.Thread | None = None

    def why_gone(self) -> str:
        """For people, why the actor never comes back; empty: it may, as far as is known.

        Any thread; never waits. The answer to the first call comes with a later one.
        """
        self._ask_when_due()
        return self._why

    def is_coming(self) -> bool | None:
        """Whether the actor that was there comes back: Ray restarts it. None: not known yet, as Ray
        may learn of a death after its reader's writers do.

        Any thread; never waits. The answer to the first call comes with a later one.
        """
        self._ask_when_due()
        if self._is_restarting:
            return True
        return None if self._actor_id and not self._why and running_ray() else False

    def _ask_when_due(self) -> None:
        is_asking = self._asking is not None and self._asking.is_alive()
        is_due = time.monotonic() - self._asked_s >= ASK_S
        if self._actor_id and not (self._why or is_asking) and is_due and running_ray():
            self._asked_s = time.monotonic()
            self._asking = threading.Thread(target=self._ask, name="rstream-deaths", daemon=True)
            self._asking.start()

    def _ask(self) -> None:
        try:
            self._why, self._is_restarting = final_death(self._actor_id)
        except Exception as error:  # Ray ends, or has no head node
            log.debug("actor %s: Ray does not answer: %r", self._actor_id, error)
