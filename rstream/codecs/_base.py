"""What a codec is, and the ids that travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from typing_extensions import Buffer

from rstream.errors import CodecError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")

#: What ``encode`` may give: one buffer, or parts that the transport joins without a copy here.
Encoded: TypeAlias = Buffer | list[Buffer]

#: Names of the ids that rstream itself uses (docs/wire.md); 0 says that the writer named none.
CODEC_NAMES: Final[Mapping[int, str]] = {
    0: "none",
    1: "raw",
    2: "msgpack",
    3: "arrow",
    4: "numpy",
    5: "pickle",
}
#: Ids from here to 255 are the users'.
USER_CODEC_ID: Final = 128


class Codec(Protocol[T]):
    """Turns objects into bytes and back. Thread rule: one codec object serves one publisher or
    subscriber.

    Attributes:
        codec_id: 1…255, the same at both ends; users' own from :data:`USER_CODEC_ID` on.
    """

    @property
    def codec_id(self) -> int:
        """Id that travels in the header of each message."""
        ...

    def encode(self, obj: T) -> Encoded:
        """The bytes of one object; they are copied into the log before the next call.

        Raises:
            CodecError: ``obj`` cannot be encoded.
        """
        ...

    def decode_many(self, messages: Sequence[bytes]) -> list[T]:
        """The objects of a batch, in order; ``messages`` are owned copies that may be kept.

        Raises:
            CodecError: one of them cannot be decoded; the text says which and why.
        """
        ...


def describe_codec(codec_id: int) -> str:
    """Name and id, for messages to people."""
    return f"{CODEC_NAMES.get(codec_id, 'user codec')} (id {codec_id})"


def decode_error(format_name: str, index: int, message: bytes, error: Exception) -> CodecError:
    """The error of one message of a batch."""
    return CodecError(
        f"message {index} of the batch ({len(message)} bytes, begins {message[:16]!r}) "
        f"is no {format_name}: {error}"
    )


def name_of(type_: Any) -> str:
    """The name of a type, for people."""
    return getattr(type_, "__qualname__", None) or str(type_)
