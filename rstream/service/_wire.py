"""Messages between callers and a server: a head of 24 bytes, and what follows it.

Both directions are streams of raw bytes. Every number is little-endian.

==========  =========================================================================
u8 kind     :class:`MessageKind`
u8 codec    the codec id of what follows; 0: none follows, or it is an error
u16 port    caller over UDP: where its answers go; 0: shared memory
i32 stream  caller: the stream id of its answers
u64 call    the caller's number of the request
u64 number  ASK: time-out in µs, 0: none; ASK_STREAM and MORE: answers wanted in all
==========  =========================================================================

A query over UDP begins with the address of the caller: one byte with its length, and the text.
"""

from __future__ import annotations

import struct
from typing import Final

HEAD: Final = struct.Struct("<BBHiQQ")
#: Longest error in an answer, in bytes.
FAILURE_BYTES_MAX: Final = 16_384


class MessageKind:
    """What a message is. Plain numbers: comparing members of an enum costs a microsecond a trip."""

    ASK: Final = 1
    ASK_STREAM: Final = 2
    MORE: Final = 3
    CANCEL: Final = 4
    ANSWER: Final = 5
    ITEM: Final = 6
    END: Final = 7
    FAIL: Final = 8


def host_of(data: bytes) -> tuple[bytes, int] | None:
    """The address in front of a query over UDP, with its length, and where the query begins; None:
    there is none.
    """
    begin = HEAD.size
    end = begin + 1 + (data[begin] if len(data) > begin else 0)
    return (data[begin:end], end) if begin + 1 < end <= len(data) else None


def write_answer(kind: int, codec_id: int, call_id: int, body: bytes) -> bytes:
    """The bytes of a message of a server."""
    return HEAD.pack(kind, codec_id, 0, 0, call_id, 0) + body
