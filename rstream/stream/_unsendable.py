"""The errors of objects that cannot be sent: what it is, where it was to go, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rstream.errors import CodecError

if TYPE_CHECKING:
    from rstream.codecs import Codec, Encoded

#: What an object raises that is asked for its bytes and has none.
NO_BUFFER: Final = (TypeError, ValueError, BufferError)
_RAW_ID: Final = 1


def encode_error(where: str, obj: object, error: Exception) -> CodecError:
    """The error of a codec that has refused an object; its own text and hint stay.

    Args:
        where: stream and channel.
        obj: the object.
        error: what the codec raised; the caller makes it the cause.
    """
    if isinstance(error, CodecError):
        return CodecError(f"{where}: {''.join(map(str, error.args))}", hint=error.hint)
    return CodecError(
        f"{where}: {type(obj).__qualname__} cannot be encoded: {error!r}",
        hint="send what the codec takes, or give both ends another codec",
    )


def buffer_error(where: str, codec: Codec[Any], data: Encoded, error: Exception) -> CodecError:
    """The error of an encoded object that is no contiguous buffer, nor a list of them.

    Args:
        where: stream and channel.
        codec: the codec; raw hands over what it was given.
        data: what its ``encode`` returned.
        error: what the transport raised; the caller makes it the cause.
    """
    bad = _first_bad(data)
    what = type(bad).__qualname__
    if codec.codec_id != _RAW_ID:
        maker = type(codec).__qualname__
        return CodecError(
            f"{where}: encode() of codec {maker} (id {codec.codec_id}) returned {what}: {error}",
            hint="it must return bytes or another contiguous buffer, or a list of them",
        )
    if isinstance(bad, str):
        hint = 'send text.encode(), or open both ends with codec="msgpack"'
    elif hasattr(bad, "tobytes"):
        hint = "send a contiguous copy: its tobytes()"
    else:
        hint = 'give both ends another codec, such as codec="msgpack"'
    return CodecError(f"{where}: codec raw cannot send {what}: {error}", hint=hint)


def _first_bad(data: Encoded) -> object:
    for part in data if isinstance(data, list) else []:
        try:
            memoryview(part).cast("B")
        except NO_BUFFER:
            return part
    return data


def add_index(error: CodecError, index: int) -> None:
    """Add to one of these errors which of the objects of a call it concerns, counted from 0."""
    text = "".join(map(str, error.args))
    error.args = (f"{text}; it is object {index}, counted from 0; those before it were sent",)
