"""What an Arrow IPC stream claims to be, read from its metadata before Arrow decodes it.

Arrow takes memory for compressed columns as their first eight bytes say, and believes each length.
So the lengths are looked at first. The metadata is a flatbuffer, of which only the path to the
lengths is read here: Message.header → RecordBatch (of a dictionary: DictionaryBatch.data) → length,
nodes, buffers, compression. Arrow checks the rest of it, and again all of this.

Source: Arrow's format/Message.fbs and Schema.fbs; the FlatBuffers internals page.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

__all__ = ("Claim", "claim_of")

MARK: Final = 0xFFFFFFFF
DICTIONARY_BATCH: Final = 2
RECORD_BATCH: Final = 3
#: Of the format before compression was part of it: then custom metadata may tell of it.
METADATA_V4: Final = 3
UNCOMPRESSED: Final = -1

_FRAME: Final = struct.Struct("<Ii")
_I64: Final = struct.Struct("<q")
_I32: Final = struct.Struct("<i")
_U32: Final = struct.Struct("<I")
_U16: Final = struct.Struct("<H")
#: Of a table: bytes of its list of fields and of itself, and where its first four fields are.
_FIELDS: Final = struct.Struct("<HHHHHH")


class Claim(NamedTuple):
    """What a stream would become.

    Attributes:
        buffer_bytes: of its columns, decompressed; what several columns share counts for each.
        rows: of its longest column or nested column, in all batches.
        values: of all columns, nested ones included.
    """

    buffer_bytes: int
    rows: int
    values: int


def claim_of(stream: Any, start: int = 0) -> Claim:
    """Add up the lengths in a stream, from the message at ``start`` on. A few microseconds.

    Args:
        stream: bytes, or a view of bytes.
        start: where the first message begins.
    Raises:
        ValueError, struct.error: it is no stream.
    """
    buffer_bytes = rows = values = 0
    at, end = start, len(stream)
    while at + _FRAME.size <= end:
        mark, length = _FRAME.unpack_from(stream, at)
        metadata = at + _FRAME.size
        if mark != MARK:  # as before Arrow 0.15
            length, metadata = mark, at + _U32.size
        if length <= 0:
            break
        body = at = metadata + length
        message = _follow(stream, metadata)
        version, kind, header, body_length = _places(stream, message)
        if body_length:
            at += _I64.unpack_from(stream, body_length)[0]
        if at < body:
            raise ValueError("a message of negative length")
        if not kind or stream[kind] not in (RECORD_BATCH, DICTIONARY_BATCH):
            continue
        batch = _follow(stream, header)
        if stream[kind] == DICTIONARY_BATCH:
            batch = _follow(stream, _places(stream, batch)[1])
        length_place, nodes, buffers, compression = _places(stream, batch)
        is_old = not version or stream[version] <= METADATA_V4
        is_compressed = compression or (is_old and _has_custom_metadata(stream, message))
        longest = _I64.unpack_from(stream, length_place)[0] if length_place else 0
        if lengths := _pairs(stream, nodes)[::2]:
            longest = max(longest, *lengths)
            values += sum(lengths)
        rows += longest
        places = _pairs(stream, buffers)
        buffer_bytes += _decompressed(stream, body, places) if is_compressed else sum(places[1::2])
    return Claim(buffer_bytes, rows, values)


def _decompressed(stream: Any, body: int, places: tuple[int, ...]) -> int:
    """Bytes of compressed buffers; each begins with its length."""
    total = 0
    for offset, length in zip(places[::2], places[1::2], strict=True):
        if length:
            (plain,) = _I64.unpack_from(stream, body + offset)
            total += length if plain == UNCOMPRESSED else max(plain, 0)
    return total


# ---- flatbuffers ----


def _follow(stream: Any, at: int) -> int:
    """Where the offset that is stored at a place leads to."""
    return at + _U32.unpack_from(stream, at)[0]


def _places(stream: Any, table: int) -> tuple[int, int, int, int]:
    """Where the first four fields of a table are stored; 0: it has not this one."""
    fields = table - _I32.unpack_from(stream, table)[0]
    if fields < 0:
        raise ValueError("a table outside of its message")
    length, _, *offsets = _FIELDS.unpack_from(stream, fields)
    a, b, c, d = [table + offset if offset else 0 for offset in offsets]
    if length < _FIELDS.size:
        known = (length - 4) // 2
        a, b, c, d = [*(a, b, c, d)[: max(known, 0)], 0, 0, 0, 0][:4]
    return a, b, c, d


def _has_custom_metadata(stream: Any, message: int) -> bool:
    fields = message - _I32.unpack_from(stream, message)[0]
    return _U16.unpack_from(stream, fields)[0] > _FIELDS.size


def _pairs(stream: Any, at: int) -> tuple[int, ...]:
    """A vector of pairs of numbers, one behind the other; none is negative."""
    if not at:
        return ()
    vector = _follow(stream, at)
    count = 2 * _U32.unpack_from(stream, vector)[0]
    numbers = struct.unpack_from(f"<{count}q", stream, vector + _U32.size)
    if numbers and min(numbers) < 0:
        raise ValueError("a negative length")
    return numbers
