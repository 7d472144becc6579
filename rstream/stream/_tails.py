"""How far a publisher of this host got whose driver has died.

Its log stays mapped by its process, which may write on until it hears of the driver's death; nobody
reads that. The log's metadata has the tails of its terms (docs/reference/aeron/memory.md 2). A
reader keeps the metadata mapped. So when it has joined again it knows whether it has missed
something, and how much.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Final

__all__ = ("Tail", "tail_of")

METADATA_LENGTH: Final = 4096
#: Three tails, of the terms; and how many terms there were before the present one.
_TAILS: Final = struct.Struct("<qqqi")
_INITIAL_TERM_ID: Final = struct.Struct("<i")
_TERM_LENGTH: Final = struct.Struct("<i")
INITIAL_TERM_ID_AT: Final = 264
TERM_LENGTH_AT: Final = 276


class Tail:
    """The tail of one log. Close it."""

    def __init__(self, path: Path) -> None:
        """Raises OSError or ValueError: the file cannot be mapped."""
        with path.open("rb") as file:
            length = file.seek(0, 2)
            self._map = mmap.mmap(
                file.fileno(),
                METADATA_LENGTH,
                access=mmap.ACCESS_READ,
                offset=length - METADATA_LENGTH,
            )

    def position(self) -> int:
        """Up to where its publisher has written, in bytes of the stream."""
        *tails, term_count = _TAILS.unpack_from(self._map)
        (initial_term_id,) = _INITIAL_TERM_ID.unpack_from(self._map, INITIAL_TERM_ID_AT)
        (term_length,) = _TERM_LENGTH.unpack_from(self._map, TERM_LENGTH_AT)
        tail = tails[term_count % len(tails)]
        terms = ((tail >> 32) - initial_term_id) & 0x7FFFFFFF
        return terms * term_length + min(tail & 0xFFFFFFFF, term_length)

    def close(self) -> None:
        self._map.close()


def tail_of(directory: str, registration_id: int) -> Tail | None:
    """The tail of a publication of this host; None: its log is not there, or no log.

    Args:
        directory: of its driver.
        registration_id: of the publication.
    """
    path = Path(directory, "publications", f"{registration_id}.logbuffer")
    try:
        return Tail(path)
    except (OSError, ValueError):  # the driver has just died, and a new one has removed it
        return None
