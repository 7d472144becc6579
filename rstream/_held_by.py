"""What keeps a publisher from sending: the one enumeration behind every ``held_by``."""

from __future__ import annotations

import enum
from typing import Final

__all__ = ("HeldBy",)


class HeldBy(enum.StrEnum):
    """What a publisher waits for before it may send more.

    Each member is also a string: ``error.held_by == "rate"`` holds.
    """

    WINDOW = "window"
    """The slowest reader has no room for more."""
    PATH = "path"
    """The path to a receiver: it has read what has arrived, and waits for what was lost or is on
    the way (``rstream stat``, ``top`` and metrics tell it, an error says ``WINDOW``); or the
    publication follows the path, which takes no more now."""
    DEMAND = "demand"
    """The readers have requested no more elements (``request(n)``)."""
    RATE = "rate"
    """The publisher's rate lets nothing through now: its own, or under a law that follows fill NAKs
    (the default) that of the reader whose report lowers it."""
    BUDGET = "budget"
    """The readers' driver grants this host no more unconsumed bytes."""
    SUBSCRIBER = "subscriber"
    """No subscriber is connected."""
    STORAGE = "storage"
    """The driver directory has no room for the next term of the stream's log."""

    @classmethod
    def from_core(cls, number: int, wanted: int | None = None) -> HeldBy:
        """The member for a number of the C core (``_core.HELD_BY_WINDOW`` and its siblings).

        Any other number means ``WINDOW``: a closed publication, or a driver that does not say.

        Args:
            number: what the core says.
            wanted: elements that the readers want beyond what they consumed; None: they do not
                tell. With 0 a full window means ``DEMAND``.
        """
        member = _FROM_CORE.get(number, cls.WINDOW)
        return cls.DEMAND if member is cls.WINDOW and wanted == 0 else member


#: The numbers of ``_core``, written out: this module is below ``_core``. A test compares them.
_FROM_CORE: Final = {
    0: HeldBy.WINDOW,
    1: HeldBy.RATE,
    2: HeldBy.BUDGET,
    3: HeldBy.STORAGE,
    5: HeldBy.PATH,
}
