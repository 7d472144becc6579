"""The demand of a publisher's readers, as the transport tells it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ("ReadersDemand",)


class ReadersDemand(NamedTuple):
    """The demand of all readers that tell: the least position, and the least number wanted."""

    #: Bytes of the stream that all of them have consumed.
    position: int
    #: Elements wanted behind it; ``UNBOUNDED`` (2**63 - 1): no limit.
    elements: int
    #: Readers that tell their demand; with 0 the two fields above mean nothing.
    reader_count: int
    #: Whether a reader is there, of either kind.
    is_connected: bool
