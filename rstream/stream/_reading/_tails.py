"""How far a publisher of this host got whose driver has died.

Its log stays mapped by its process, which may write on until it hears of the driver's death; nobody
reads that. The log's metadata has the tails of its terms (docs/reference/aeron/memory.md 2). A
reader keeps the metadata mapped. So when it has joined again it knows whether it has missed
something, and how much.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from pathlib import Path
from typing import Final

from rstream._process import quiet_when_torn_down

__all__ = ("Tail", "tail_of")

METADATA_LENGTH: Final = 4096
#: Three tails, of the terms; and how many terms there were before the present one.
_TAILS: Final = struct.Struct("<qqqi")
_INITIAL_TERM_ID: Final = struct.Struct("<i")
_TERM_LENGTH: Final = struct.Struct("<i")
INITIAL_TERM_ID_AT: Final = 264
TERM_LENGTH_AT: Final = 276

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED: Final = ctypes.c_void_p(-1).value


class _Metadata:
    """The metadata of a log, mapped as long as this object lives.

    ``mmap.mmap`` keeps a descriptor for each mapping (before Python 3.13), and a reader may have a
    thousand publishers.
    """

    def __init__(self, fd: int, offset: int) -> None:
        address = _libc.mmap(None, METADATA_LENGTH, mmap.PROT_READ, mmap.MAP_SHARED, fd, offset)
        if address == _FAILED:
            raise OSError(ctypes.get_errno(), "the metadata of a log cannot be mapped")
        self._address = address
        self.data = (ctypes.c_char * METADATA_LENGTH).from_address(address)

    @quiet_when_torn_down
    def __del__(self) -> None:
        if hasattr(self, "_address"):
            _libc.munmap(self._address, METADATA_LENGTH)


class Tail:
    """The tail of one log. Close it."""

    def __init__(self, path: Path) -> None:
        """Raises OSError or ValueError: the file cannot be mapped."""
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            if length < METADATA_LENGTH:
                raise ValueError(f"{path} is no log: it has {length} bytes")
            self._metadata: _Metadata | None = _Metadata(file.fileno(), length - METADATA_LENGTH)

    def position(self) -> int:
        """Up to where its publisher has written, in bytes of the stream."""
        metadata = self._metadata
        if metadata is None:
            raise ValueError("the tail of a log is closed")
        *tails, term_count = _TAILS.unpack_from(metadata.data)
        (initial_term_id,) = _INITIAL_TERM_ID.unpack_from(metadata.data, INITIAL_TERM_ID_AT)
        (term_length,) = _TERM_LENGTH.unpack_from(metadata.data, TERM_LENGTH_AT)
        tail = tails[term_count % len(tails)]
        terms = ((tail >> 32) - initial_term_id) & 0x7FFFFFFF
        return terms * term_length + min(tail & 0xFFFFFFFF, term_length)

    def close(self) -> None:
        self._metadata = None


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
