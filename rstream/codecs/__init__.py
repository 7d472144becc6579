"""Codecs: objects to bytes and back, a batch at a time. They know bytes, not transports.

The type chooses (:func:`codec_for`): ``bytes`` → raw, ``pyarrow.RecordBatch`` → arrow, everything
else → msgpack of that type. ``pickle`` only by name, and only with ``trusted=True``: unpickling
what came from a socket is code execution. The codec's id travels in each message's header and is
checked by the reader. Third parties (msgspec, pyarrow, numpy) are imported when a codec that needs
them is made.
"""

from __future__ import annotations

from rstream.codecs._arrow import arrow
from rstream.codecs._base import CODEC_NAMES, USER_CODEC_ID, Codec, Encoded, describe_codec
from rstream.codecs._choose import codec_for, named
from rstream.codecs._formats import msgpack, numpy, pickle, raw

__all__ = (
    "CODEC_NAMES",
    "USER_CODEC_ID",
    "Codec",
    "Encoded",
    "arrow",
    "codec_for",
    "describe_codec",
    "msgpack",
    "named",
    "numpy",
    "pickle",
    "raw",
)
