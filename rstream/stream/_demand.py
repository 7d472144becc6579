"""What the readers of a publisher ask for, as the transport tells it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ("ReadersDemand",)


class ReadersDemand(NamedTuple):
    """Of all readers that tell, as one that lies behind all of them and wants no more than any."""

    #: Bytes of the stream that all of them have consumed.
    position: int
    #: Elements wanted behind it; ``UNBOUNDED`` (2**63 - 1): no limit.
    elements: int
    #: Readers that tell what they want; 0: nobody does, and the two above mean nothing.
    reader_count: int
    #: Whether a reader is there, of either kind.
    is_connected: bool
