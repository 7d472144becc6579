"""An endpoint and its driver: the client that it holds, and joining again when the driver is lost.

All endpoints of a process in one driver directory share a client (:class:`Link`). What joins again
is a :class:`Session`, in readers, publishers and services alike; a :class:`Patience` says how long
something is tried.
"""

from __future__ import annotations

from rstream._session._joining import REJOIN_TIMEOUT_S, Patience, Session
from rstream._session._links import (
    Link,
    Shared,
    acquire,
    check_client,
    exchange,
    hold,
    opened,
    release,
)

__all__ = (
    "REJOIN_TIMEOUT_S",
    "Link",
    "Patience",
    "Session",
    "Shared",
    "acquire",
    "check_client",
    "exchange",
    "hold",
    "opened",
    "release",
)
