"""The protocol of codecs, and the ids in message headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from typing_extensions import Buffer

from rstream.errors import CodecError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")

#: The result of ``encode``: one buffer, or parts that the transport joins without another copy.
Encoded: TypeAlias = Buffer | list[Buffer]

#: Arrays have an id for each of these dtypes, so that a reader with another dtype refuses them:
#: 32 and the index here, or 48 and the index in big-endian order. All other dtypes share id 4.
_NUMPY_DTYPES: Final[Mapping[str, str]] = {
    "b1": "bool",
    "i1": "int8",
    "u1": "uint8",
    "i2": "int16",
    "u2": "uint16",
    "i4": "int32",
    "u4": "uint32",
    "i8": "int64",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "c8": "complex64",
    "c16": "complex128",
}
_NUMPY_OTHER_ID: Final = 4
_NUMPY_ID: Final = 32
_NUMPY_BIG_ENDIAN_ID: Final = 48

#: Names of the ids of rstream's own codecs (docs/reference/wire.md); 0: the writer named none.
CODEC_NAMES: Final[Mapping[int, str]] = {
    0: "none",
    1: "raw",
    2: "msgpack",
    3: "arrow",
    _NUMPY_OTHER_ID: "numpy of another dtype",
    5: "pickle",
    **{_NUMPY_ID + n: f"numpy {name}" for n, name in enumerate(_NUMPY_DTYPES.values())},
    **{
        _NUMPY_BIG_ENDIAN_ID + n: f"numpy big-endian {name}"
        for n, (text, name) in enumerate(_NUMPY_DTYPES.items())
        if text[1:] != "1"  # one byte has no order
    },
}
#: Ids from here to 255 are free for users.
USER_CODEC_ID: Final = 128
CODEC_ID_MOST: Final = 255


class Codec(Protocol[T]):
    """Turns objects into bytes and back.

    One codec object serves one publisher or one subscriber, and so one thread at a time.

    Attributes:
        codec_id: 1 to 255, the same at both ends; your own from :data:`USER_CODEC_ID` on.
    """

    @property
    def codec_id(self) -> int:
        """The id in the header of each message."""
        ...

    def encode(self, obj: T) -> Encoded:
        """The bytes of one object. They are copied into the log before the next call.

        Raises:
            CodecError: ``obj`` cannot be encoded.
        """
        ...

    def decode_many(self, messages: Sequence[bytes]) -> list[T]:
        """One object for each message, in order. ``messages`` are copies that may be kept.

        Raises:
            CodecError: a message cannot be decoded; the text says which and why.
        """
        ...


def describe_codec(codec_id: int) -> str:
    """Name and id of a codec, for people."""
    return f"{CODEC_NAMES.get(codec_id, 'user codec')} (id {codec_id})"


def numpy_codec_id(dtype_text: str) -> int:
    """The codec id of a dtype, from its byte order, kind and size (``dtype.str``)."""
    order, text = dtype_text[0], dtype_text[1:]
    if text not in _NUMPY_DTYPES:
        return _NUMPY_OTHER_ID
    first = _NUMPY_BIG_ENDIAN_ID if order == ">" else _NUMPY_ID
    return first + list(_NUMPY_DTYPES).index(text)


def decode_error(format_name: str, index: int, message: bytes, error: Exception) -> CodecError:
    """The error of one message of a batch."""
    return CodecError(
        f"message {index} of the batch ({len(message)} bytes, begins {message[:16]!r}) "
        f"is no {format_name}: {error}"
    )


def name_of(type_: Any) -> str:
    """The name of a type, for people."""
    return getattr(type_, "__qualname__", None) or str(type_)
