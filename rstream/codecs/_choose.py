"""Choosing a codec by type or by name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, overload

from rstream.codecs._arrow import arrow
from rstream.codecs._formats import msgpack, pickle, raw
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from rstream.codecs._base import Codec

T = TypeVar("T")


@overload
def codec_for(type: None = None) -> Codec[Any]: ...
@overload
def codec_for(type: type[T]) -> Codec[T]: ...
def codec_for(type: Any = None) -> Codec[Any]:
    """The codec for a type.

    ``bytes``, ``bytearray`` and ``memoryview``: raw; ``pyarrow.RecordBatch``: arrow; all others:
    msgpack of the type.

    Raises:
        ConfigError: numpy arrays, whose codec needs dtype and shape; or msgpack cannot handle the
            type.
    """
    if type is bytes or type is bytearray or type is memoryview:
        return raw()
    # A caller that names the class has imported pyarrow: no need to import it for comparing.
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and type is pyarrow.RecordBatch:
        return arrow()
    numpy = sys.modules.get("numpy")
    if numpy is not None and type is numpy.ndarray:
        raise ConfigError(
            "arrays need their dtype and shape: codec=rstream.codecs.numpy(dtype, shape)"
        )
    return msgpack() if type is None else msgpack(type)


def named(name: str, *, trusted_network: bool = False) -> Codec[Any]:
    """The codec of a name: ``raw``, ``msgpack``, ``arrow``, ``pickle``.

    By writing ``"pickle"`` you say that you trust all writers of the stream.

    Args:
        name: the name.
        trusted_network: as for :func:`rstream.codecs.pickle`.
    Raises:
        ConfigError: there is no codec of that name.
    """
    match name:
        case "raw":
            return raw()
        case "msgpack":
            return msgpack()
        case "arrow":
            return arrow()
        case "pickle":
            return pickle(trusted=True, trusted_network=trusted_network)
        case _:
            raise ConfigError(f"codec {name!r}: known names are raw, msgpack, arrow, pickle")
