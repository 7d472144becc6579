"""Choosing a codec by type or by name."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args, get_origin, overload

from rstream.codecs._arrow import arrow, form_of
from rstream.codecs._base import (
    CODEC_ID_MOST,
    CODEC_NAMES,
    USER_CODEC_ID,
    describe_codec,
    name_of,
)
from rstream.codecs._formats import pickle, raw
from rstream.codecs._limits import Limits, limited
from rstream.codecs._msgpack import NO_TEXT, msgpack
from rstream.codecs._numpy import dtype_in, is_array_type, numpy
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from rstream.codecs._base import Codec

    #: What the argument ``codec`` of every face takes.
    CodecLike: TypeAlias = Codec[Any] | TypeForm[Any] | str | None

T = TypeVar("T")

_NAMES = ("raw", "msgpack", "arrow", "numpy", "pickle")
#: Their types that no codec carries would be taken for classes of the user.
_TABLE_PACKAGES = ("pandas", "polars", "pyarrow")


@overload
def codec_for(type: None = None) -> Codec[Any]: ...
@overload
def codec_for(type: TypeForm[T]) -> Codec[T]: ...
def codec_for(type: Any = None) -> Codec[Any]:
    """The codec for a type.

    ``bytes``, ``bytearray`` and ``memoryview``: raw; ``numpy.ndarray`` and ``NDArray[float32]``:
    numpy (of that dtype); ``RecordBatch`` and ``Table`` of pyarrow, ``DataFrame`` of pandas and of
    polars: arrow; all others: msgpack of the type.

    Raises:
        ConfigError: no codec can handle the type.
    """
    type = _without_alias(type)
    if type is bytes or type is bytearray or type is memoryview:
        return raw()
    if form_of(type):
        return arrow(type)
    if is_array_type(type):
        return numpy(dtype_in(type))
    package = str(getattr(type, "__module__", "")).partition(".")[0]
    if package in _TABLE_PACKAGES:
        raise ConfigError(
            f"type {package}.{name_of(type)}: no codec carries it",
            hint="open both ends with DataFrame, pyarrow.Table or numpy.ndarray, and send "
            "Series.to_frame(), LazyFrame.collect() or Series.to_numpy()",
        )
    return msgpack() if type is None else msgpack(type)


def _without_alias(type: Any) -> Any:
    """What a type alias stands for (``type X = …``); NumPy's ``NDArray`` is one since 2.5."""
    while True:
        origin = get_origin(type)
        alias = type if origin is None else origin
        # typing has a class for them from Python 3.12 on, and typing_extensions one of its own.
        if builtins.type(alias).__name__ != "TypeAliasType":
            return type
        type = alias.__value__ if origin is None else alias.__value__[get_args(type)]


def named(
    name: str, type: Any = None, *, trusted_network: bool = False, limits: Limits | None = None
) -> Codec[Any]:
    """The codec of a name: ``raw``, ``msgpack``, ``arrow``, ``numpy``, ``pickle``.

    By writing ``"pickle"`` you say that you trust all writers of the stream.

    Args:
        name: the name.
        type: the type of the objects: any for ``msgpack`` and ``pickle``, of the other codecs one
            that :func:`codec_for` gives to them.
        trusted_network: as for :func:`rstream.codecs.pickle`.
        limits: what decoding a message may take; None: as the codec has them.
    Raises:
        ConfigError: there is no codec of that name, or it does not carry the type.
    """
    return limited(_named(name, type, trusted_network), limits)


def _named(name: str, type: Any, trusted_network: bool) -> Codec[Any]:
    match name:
        case "msgpack":
            return msgpack() if type is None else msgpack(type)
        case "pickle":
            return pickle(trusted=True, trusted_network=trusted_network)
        case "raw" | "arrow" | "numpy":
            made = {"raw": raw, "arrow": arrow, "numpy": numpy}[name]
            if type is None:
                return made()
            chosen = codec_for(type)
            if CODEC_NAMES[chosen.codec_id] != name:
                raise ConfigError(
                    f"codec={name!r} does not carry type={name_of(type)}",
                    hint=f"leave one of the two out; the codec of that type is "
                    f"{CODEC_NAMES[chosen.codec_id]}",
                )
            return chosen
        case _:
            raise ConfigError(
                f"codec {name!r}: known names are {', '.join(_NAMES)}", hint=f"of a type, {NO_TEXT}"
            )


def choose(type: Any, codec: CodecLike) -> Codec[Any]:
    """The codec that the arguments ``type`` and ``codec`` of a face ask for.

    Args:
        type: the type of the objects, or None.
        codec: overrides ``type``: a codec, its name (``"raw"``, ``"msgpack"``, ``"arrow"``,
            ``"numpy"``), or a type as for :func:`codec_for`; None: as ``type`` says.
    Raises:
        ConfigError: there is no such codec, ``"pickle"`` was given by its name, or a codec of the
            user has an id of rstream.
    """
    if isinstance(type, str):
        if type in _NAMES:
            raise ConfigError(f"type={type!r}: a codec's name goes into codec={type!r}")
        raise ConfigError(f"type={type!r}: a text is no type", hint=NO_TEXT)
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
    if not builtins.type(given).__module__.startswith("rstream."):
        _check_id_of_user(given)
    return given


def _check_id_of_user(codec: Any) -> None:
    codec_id: Any = getattr(codec, "codec_id", None)
    if builtins.type(codec_id) is not int or not USER_CODEC_ID <= codec_id <= CODEC_ID_MOST:
        raise ConfigError(
            f"codec={builtins.type(codec).__qualname__}: codec_id={codec_id!r} must be an int from "
            f"{USER_CODEC_ID} to {CODEC_ID_MOST}, the same at both ends; lower ids are rstream's"
        )


def choose_for_handle(
    type: Any, codec: CodecLike, *, trusted_network: bool = False
) -> tuple[Codec[Any], str]:
    """The codec of a reader, and its name for the reader's handle.

    A handle carries a name and no object. Of a codec that no name can make (a user's own) it
    carries the id, and writers pass the codec themselves.

    Args:
        type, codec: as for :func:`choose`; also ``"pickle"`` by its name.
        trusted_network: as for :func:`rstream.codecs.pickle`, of a codec given by its name.
    Raises:
        ConfigError: there is no such codec.
    """
    if codec == "pickle":
        return named("pickle", type, trusted_network=trusted_network), "pickle"
    chosen = choose(type, codec)
    name = CODEC_NAMES.get(chosen.codec_id, "")
    return chosen, name if name in _NAMES else f"id {chosen.codec_id}"


def choose_of_handle(name: str, type: Any, codec: CodecLike) -> Codec[Any]:
    """The codec of a writer: the one given, else the one that the handle names.

    Raises:
        ConfigError: the handle's codec has no name, and none was given; or it is another one.
    """
    wanted = int(name.removeprefix("id ")) if name.startswith("id ") else named(name).codec_id
    if codec is None and type is None:
        if name.startswith("id "):
            raise ConfigError(
                f"the reader has a codec of its own, {describe_codec(wanted)}: pass the same one, "
                "publisher(codec=...)"
            )
        return named(name)
    chosen = choose_for_handle(type, codec)[0]
    if chosen.codec_id != wanted:
        given = f"type={name_of(type)}" if codec is None else f"codec={codec!r}"
        raise ConfigError(
            f"{given} is {describe_codec(chosen.codec_id)}, the reader of the handle has "
            f"{describe_codec(wanted)}; pass the same one"
        )
    return chosen
