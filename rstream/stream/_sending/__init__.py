"""Sending objects into a stream, without a thread or an event loop: publishers perform its steps.

:class:`Sending` is the engine; its docstring says which member does what.
"""

from __future__ import annotations

from rstream.stream._sending._offers import CHUNK, at_hand, length_of
from rstream.stream._sending._parted import GIVE_WAY_PAUSE_S
from rstream.stream._sending._readers import CONSUMED_EVERY
from rstream.stream._sending._sending import Sending
from rstream.stream._sending._session import SendSettings
from rstream.stream._sending._under_way import Progress
from rstream.stream._sending._waiting import Waiting

__all__ = (
    "CHUNK",
    "CONSUMED_EVERY",
    "GIVE_WAY_PAUSE_S",
    "Progress",
    "SendSettings",
    "Sending",
    "Waiting",
    "at_hand",
    "length_of",
)
