"""Codecs turn objects into bytes and back, a batch at a time.

The type of the objects chooses the codec (:func:`codec_for`): ``bytes`` → raw, ``numpy.ndarray`` →
numpy, tables of pyarrow, pandas and polars → arrow, everything else → msgpack of that type.
``pickle`` must be named, with ``trusted=True``, because unpickling data from a socket executes
code. Each message's header has the codec's id, which the reader checks. msgspec, pyarrow and numpy
are imported when a codec that needs them is made::

    rstream.publisher("ticks", Tick)                             # the same as the next line
    rstream.publisher("ticks", codec=codecs.msgpack(Tick))
    rstream.publisher("blobs", codec=codecs.raw())
    rstream.publisher("rows", codec=codecs.arrow())
    rstream.publisher("images", codec=codecs.numpy("u1", (480, 640, 3)))
    rstream.publisher("inside", codec=codecs.pickle(trusted=True))
    rstream.subscriber("rows", codec="arrow", limits=codecs.Limits(decoded_bytes=8 << 30))

For faces of your own: what the arguments ``type`` and ``codec`` mean, and what a header says::

    codecs.choose(Tick, None)               # as every face does
    codecs.codec_for(Tick)                  # the codec of a type
    codecs.named("msgpack", Tick)           # the codec of a name
    codecs.describe_codec(2)                # "msgpack (id 2)"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.codecs._arrow import arrow
from rstream.codecs._base import CODEC_NAMES, USER_CODEC_ID, Codec, Encoded, describe_codec
from rstream.codecs._choose import choose, codec_for, named
from rstream.codecs._formats import pickle, raw
from rstream.codecs._limits import Limits
from rstream.codecs._msgpack import msgpack
from rstream.codecs._numpy import numpy

if TYPE_CHECKING:
    from rstream.codecs._choose import CodecLike as CodecLike

__all__ = (
    "CODEC_NAMES",
    "USER_CODEC_ID",
    "Codec",
    "Encoded",
    "Limits",
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
