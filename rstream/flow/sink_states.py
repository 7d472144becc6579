"""States of a sink (a subscriber that sends into a stream), as two tables.

The life of a sink. A signal or call without an entry does nothing; a second ``on_subscribe`` is
cancelled (§2.5).

    event          NEW         ACTIVE      COMPLETED  FAILED     CANCELLED
    ON_SUBSCRIBE   ACTIVE      -           -          -          -
    ON_NEXT        NEW         ACTIVE      -          -          -
    ON_COMPLETE    COMPLETED   COMPLETED   -          -          -
    ON_ERROR       FAILED      FAILED      -          -          -
    SEND_FAILED    FAILED      FAILED      -          -          -
    CANCEL         CANCELLED   CANCELLED   -          -          -

Asking the upstream. Several threads look for demand; one at a time is inside ``request`` (§2.7).

    event          IDLE        ASKING
    FOUND          ASKING      -           a thread found demand. IDLE: it asks. ASKING: it leaves,
                                           because the thread inside looks again when it returns
    RETURNED       -           IDLE        request() has returned or raised

Waiting for demand. The sink's loop and the thread in ``on_next`` share this work:

    elements come, some are left to send     no thread waits: on_next looks after it has sent,
                                             the loop rests until on_next has nothing left
    on_next has sent the last one asked for  on_next waits, 1 ms at most, then says so and returns
    otherwise                                the loop waits

Pure. The owner holds a lock.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

__all__ = ("Asking", "AskingEvent", "Life", "SinkEvent", "next_asking", "next_life")


class Life(Enum):
    """Where a sink is in its life."""

    NEW = auto()
    ACTIVE = auto()
    COMPLETED = auto()
    FAILED = auto()
    CANCELLED = auto()

    @property
    def is_terminal(self) -> bool:
        """Whether the stream has ended: nothing is sent any more."""
        return not _LIFE[self]


class SinkEvent(Enum):
    """An event of a sink: a signal of its upstream, a failed send, or the owner's ``cancel``."""

    ON_SUBSCRIBE = auto()
    ON_NEXT = auto()
    ON_COMPLETE = auto()
    ON_ERROR = auto()
    SEND_FAILED = auto()
    CANCEL = auto()


class Asking(Enum):
    """Whether a thread is inside ``request`` of the upstream."""

    IDLE = auto()
    ASKING = auto()


class AskingEvent(Enum):
    """A thread found demand, or its ``request`` has returned."""

    FOUND = auto()
    RETURNED = auto()


_ENDS: Final = {
    SinkEvent.ON_COMPLETE: Life.COMPLETED,
    SinkEvent.ON_ERROR: Life.FAILED,
    SinkEvent.SEND_FAILED: Life.FAILED,
    SinkEvent.CANCEL: Life.CANCELLED,
}

_LIFE: Final[dict[Life, dict[SinkEvent, Life]]] = {
    Life.NEW: {SinkEvent.ON_SUBSCRIBE: Life.ACTIVE, SinkEvent.ON_NEXT: Life.NEW, **_ENDS},
    Life.ACTIVE: {SinkEvent.ON_NEXT: Life.ACTIVE, **_ENDS},
    Life.COMPLETED: {},
    Life.FAILED: {},
    Life.CANCELLED: {},
}

_ASKING: Final[dict[Asking, dict[AskingEvent, Asking]]] = {
    Asking.IDLE: {AskingEvent.FOUND: Asking.ASKING},
    Asking.ASKING: {AskingEvent.RETURNED: Asking.IDLE},
}


def next_life(life: Life, event: SinkEvent) -> Life | None:
    """The state after ``event``; None: the event does nothing."""
    return _LIFE[life].get(event)


def next_asking(asking: Asking, event: AskingEvent) -> Asking | None:
    """The state after ``event``; None: the thread leaves (FOUND), or there was nothing to end."""
    return _ASKING[asking].get(event)
