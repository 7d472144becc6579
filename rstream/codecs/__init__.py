"""Codecs turn objects into bytes and back, a batch at a time.

The type of the objects chooses the codec (:func:`codec_for`): ``bytes`` → raw, ``numpy.ndarray`` →
numpy, tables of pyarrow, pandas and polars → arrow, everything else → msgpack of that type.
``pickle`` must be named, with ``trusted=True``, because unpickling data from a socket executes
code. Each message's header has the codec's id, which the reader checks. msgspec, pyarrow and numpy
are imported when a codec that needs them is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.codecs._arrow import arrow
from rstream.codecs._base import CODEC_NAMES, USER_CODEC_ID, Codec, Encoded, describe_codec
from rstream.codecs._choose import choose, codec_for, named
from rstream.codecs._formats import msgpack, pickle, raw
from rstream.codecs._numpy import numpy

if TYPE_CHECKING:
    from rstream.codecs._choose import CodecLike as CodecLike

__all__ = (
    "CODEC_NAMES",
    "USER_CODEC_ID",
    "Codec",
    "Encoded",
    "arrow",
    "choose",
    "codec_for",
    "describe_codec",
    "msgpack",
    "named",
    "numpy",
    "pickle",
    "raw",
)
