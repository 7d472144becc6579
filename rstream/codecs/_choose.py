"""Choosing a codec by type or by name."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from rstream.codecs._arrow import arrow
from rstream.codecs._base import CODEC_ID_MOST, CODEC_NAMES, USER_CODEC_ID, describe_codec
from rstream.codecs._formats import msgpack, pickle, raw
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from rstream.codecs._base import Codec

    #: What the argument ``codec`` of every face takes.
    CodecLike: TypeAlias = Codec[Any] | TypeForm[Any] | str | None

T = TypeVar("T")

_NAMES = ("raw", "msgpack", "arrow", "pickle")


@overload
def codec_for(type: None = None) -> Codec[Any]: ...
@overload
def codec_for(type: TypeForm[T]) -> Codec[T]: ...
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


def named(name: str, type: Any = None, *, trusted_network: bool = False) -> Codec[Any]:
    """The codec of a name: ``raw``, ``msgpack``, ``arrow``, ``pickle``.

    By writing ``"pickle"`` you say that you trust all writers of the stream.

    Args:
        name: the name.
        type: the type of the objects, for ``msgpack``; the other codecs know theirs.
        trusted_network: as for :func:`rstream.codecs.pickle`.
    Raises:
        ConfigError: there is no codec of that name.
    """
    match name:
        case "raw":
            return raw()
        case "msgpack":
            return msgpack() if type is None else msgpack(type)
        case "arrow":
            return arrow()
        case "pickle":
            return pickle(trusted=True, trusted_network=trusted_network)
        case _:
            raise ConfigError(f"codec {name!r}: known names are raw, msgpack, arrow, pickle")


def choose(type: Any, codec: CodecLike) -> Codec[Any]:
    """The codec that the arguments ``type`` and ``codec`` of a face ask for.

    Args:
        type: the type of the objects, or None.
        codec: overrides ``type``: a codec, its name (``"raw"``, ``"msgpack"``, ``"arrow"``), or a
            type as for :func:`codec_for`; None: as ``type`` says.
    Raises:
        ConfigError: there is no such codec, ``"pickle"`` was given by its name, or a codec of the
            user has an id of rstream.
    """
    if isinstance(type, str):
        raise ConfigError(f"type={type!r}: a codec's name goes into codec={type!r}")
    if codec is None:
        return codec_for(type)
    if codec == "pickle":
        raise ConfigError(
            'codec="pickle": unpickling runs code that the writer of the stream chooses; say that '
            "you trust every writer: codec=rstream.codecs.pickle(trusted=True)"
        )
    if isinstance(codec, str):
        return named(codec, type)
    given: Any = codec  # no type checker tells a codec from a type
    if not hasattr(given, "decode_many"):
        return codec_for(given)
    if isinstance(given, builtins.type):
        raise ConfigError(f"codec={given.__name__}: give an object of it, {given.__name__}()")
    if not builtins.type(given).__module__.startswith("rstream.codecs."):
        _check_id_of_user(given)
    return given


def _check_id_of_user(codec: Any) -> None:
    codec_id: Any = getattr(codec, "codec_id", None)
    if builtins.type(codec_id) is not int or not USER_CODEC_ID <= codec_id <= CODEC_ID_MOST:
        raise ConfigError(
            f"codec={builtins.type(codec).__qualname__}: codec_id={codec_id!r} must be an int from "
            f"{USER_CODEC_ID} to {CODEC_ID_MOST}, the same at both ends; lower ids are rstream's"
        )


def choose_for_handle(codec: CodecLike, *, trusted_network: bool = False) -> tuple[Codec[Any], str]:
    """The codec of a reader, and its name for the reader's handle.

    A handle carries a name and no object. Of a codec that no name can make (numpy, a user's own)
    it carries the id, and writers pass the codec themselves.

    Args:
        codec: a codec, its name or a type.
        trusted_network: as for :func:`rstream.codecs.pickle`, of a codec given by its name.
    Raises:
        ConfigError: there is no such codec.
    """
    if isinstance(codec, str):
        return named(codec, trusted_network=trusted_network), codec
    chosen = choose(None, codec)
    name = CODEC_NAMES.get(chosen.codec_id, "")
    return chosen, name if name in _NAMES else f"id {chosen.codec_id}"


def choose_of_handle(name: str, codec: CodecLike) -> Codec[Any]:
    """The codec of a writer: the one given, else the one that the handle names.

    Raises:
        ConfigError: the handle's codec has no name, and none was given; or it is another one.
    """
    wanted = int(name.removeprefix("id ")) if name.startswith("id ") else named(name).codec_id
    if codec is None and name.startswith("id "):
        raise ConfigError(
            f"the reader has a codec of its own, {describe_codec(wanted)}: pass the same one, "
            "publisher(codec=...)"
        )
    chosen = named(name) if codec is None else choose_for_handle(codec)[0]
    if chosen.codec_id != wanted:
        raise ConfigError(
            f"codec={codec!r} is {describe_codec(chosen.codec_id)}, the reader of the handle has "
            f"{describe_codec(wanted)}; pass the same one"
        )
    return chosen
