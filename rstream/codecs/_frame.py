"""A message with buffers: a structure, and the buffers that it refers to, in one message.

    u8   0xc1, with which neither msgpack nor a pickle begins
    u8   version, 1
    u16  0
    u32  number of buffers
    u64  length of the structure
    u64  length of each buffer
    the structure: msgpack, or a pickle
    each buffer, behind zeros up to a multiple of 64

All little endian. A buffer begins where the one before it ends, so buffers cannot overlap, and the
lengths must add up to the length of the message.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

    from rstream.codecs._base import Encoded

__all__ = ("MARK", "pack", "unpack")

MARK: Final = 0xC1
VERSION: Final = 1
#: Where buffers begin: a cache line, and what Arrow and vector instructions like best.
ALIGNMENT: Final = 64
#: Up to so many bytes a message is joined: one copy costs less than its parts.
JOINED_MAX: Final = 16_384
_HEAD: Final = struct.Struct("<BBHIQ")
_LENGTH_BYTES: Final = 8
_ZEROS: Final = tuple(bytes(length) for length in range(ALIGNMENT))


def pack(structure: bytes, buffers: Sequence[Sequence[Buffer]]) -> Encoded:
    """The message.

    Args:
        structure: refers to the buffers by their index.
        buffers: each of them in parts, which are contiguous.
    """
    lengths = [sum(memoryview(part).nbytes for part in parts) for parts in buffers]
    count = len(lengths)
    head = _HEAD.pack(MARK, VERSION, 0, count, len(structure))
    begin = head + struct.pack(f"<{count}Q", *lengths) + structure
    message: list[Buffer] = [begin]
    end = len(begin)
    for parts, length in zip(buffers, lengths, strict=True):
        gap = -end % ALIGNMENT
        if gap:
            message.append(_ZEROS[gap])
        message += parts
        end += gap + length
    return b"".join(message) if end <= JOINED_MAX else message


def unpack(message: Buffer) -> tuple[memoryview, list[tuple[int, int]]]:
    """The structure of a message, and the begin and length of each buffer in it.

    Raises:
        ValueError: it is no such message.
    """
    data = memoryview(message).cast("B")
    if data.nbytes < _HEAD.size:
        raise ValueError(f"it has {data.nbytes} bytes, its head has {_HEAD.size}")
    mark, version, zero, count, structure_length = _HEAD.unpack_from(data)
    if mark != MARK or version != VERSION or zero:
        raise ValueError(
            f"its form is {mark:#x}, version {version}, {zero}; known is {MARK:#x}, version "
            f"{VERSION}, 0: the publisher runs a newer release"
        )
    begin = _HEAD.size + _LENGTH_BYTES * count
    end = begin + structure_length
    if end > data.nbytes:
        raise ValueError(
            f"{count} buffers and a structure of {structure_length} bytes do not fit its "
            f"{data.nbytes} bytes"
        )
    places: list[tuple[int, int]] = []
    structure = data[begin:end]
    for length in struct.unpack_from(f"<{count}Q", data, _HEAD.size):
        start = end + -end % ALIGNMENT
        places.append((start, length))
        end = start + length
    if end != data.nbytes:
        raise ValueError(f"its buffers end at {end}, and it has {data.nbytes} bytes")
    return structure, places
