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

ARROW_ID: Final = 3
#: The id of arrays, which tell their dtype themselves.
NUMPY_ID: Final = 4

#: Names of the ids of rstream's own codecs (docs/reference/wire.md); 0: the writer named none.
CODEC_NAMES: Final[Mapping[int, str]] = {
    0: "none",
    1: "raw",
    2: "msgpack",
    ARROW_ID: "arrow",
    NUMPY_ID: "numpy",
    5: "pickle",
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


def decode_error(format_name: str, index: int, message: Buffer, error: Exception) -> CodecError:
    """The error of one message of a batch."""
    data = memoryview(message)
    return CodecError(
        f"message {index} of the batch ({data.nbytes} bytes, begins {bytes(data[:16])!r}) "
        f"is no {format_name}: {error}",
        hint="open the publisher and the reader with the same type and codec",
    )


def bare(error: BaseException) -> BaseException:
    """The error without its traceback, and those behind it: they would hold the lease of a view."""
    behind: BaseException | None = error
    while behind is not None:
        behind.__traceback__ = None
        behind = behind.__cause__ or behind.__context__
    return error


def name_of(type_: Any) -> str:
    """The name of a type, for people."""
    return getattr(type_, "__qualname__", None) or str(type_)
