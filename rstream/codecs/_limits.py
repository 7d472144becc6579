"""What decoding one message may take: bombs are refused before memory is taken for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rstream._checks import is_whole
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from rstream.codecs._base import Codec

__all__ = ("LIMITS", "Limits", "limited")

#: As long as the longest message, unless the user says otherwise.
DECODED_BYTES: Final = 1 << 30
ROWS: Final = 1 << 24
#: The most rows that a byte of a message can hold: a truth value takes a bit.
ROWS_PER_BYTE: Final = 8
#: The most bytes that a byte of msgpack becomes: one without entries is a map of 64 bytes, with the
#: word that refers to it and those of the collector. Sets of a typed reader take the most.
MSGPACK_FACTOR: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one message may become in the memory of its reader.

    A short message can claim to be much more than it has bytes: compressed columns, columns of
    nulls, elements without bytes, lists of empty lists and maps. Beyond a limit it is a
    ``CodecError`` before memory is taken for it. What lies in the message byte by byte has the
    limit ``max_message_length`` instead, and is never refused here.

    Attributes:
        decoded_bytes: most bytes that the decoded message takes (1 GiB), or the length of the
            message where that is more. For ``pandas`` each value counts 8 bytes at least; for
            msgpack each number, text, list and map counts what Python's own object of it takes,
            about.
        rows: most rows of a table and elements of an array or a nested column (16 777 216), or 8
            for each byte of the message where that is more.
    Raises:
        ConfigError: a limit is no whole number from 1 on.
    """

    decoded_bytes: int = DECODED_BYTES
    rows: int = ROWS

    def __post_init__(self) -> None:
        for name, value in (("decoded_bytes", self.decoded_bytes), ("rows", self.rows)):
            if not is_whole(value) or value < 1:
                raise ConfigError(f"Limits({name}={value!r}): must be a whole number, 1 or more")

    def check(self, message_bytes: int, *, decoded_bytes: int = 0, rows: int = 0) -> None:
        """Refuse a message that would become too much. Cheap: two comparisons.

        Args:
            message_bytes: its length.
            decoded_bytes: what it takes when it is decoded.
            rows: its rows or elements.
        Raises:
            CodecError: beyond a limit; the text says which.
        """
        if decoded_bytes > self.decoded_bytes and decoded_bytes > message_bytes:
            raise self._error(message_bytes, "decoded_bytes", f"{decoded_bytes} bytes")
        if rows > self.rows and rows > ROWS_PER_BYTE * message_bytes:
            raise self._error(message_bytes, "rows", f"{rows} rows or elements")

    def _error(self, message_bytes: int, name: str, claim: str) -> CodecError:
        return CodecError(
            f"a message of {message_bytes} bytes would become {claim}, and {name} of this reader "
            f"is {getattr(self, name)}",
            hint=f"if you trust its publisher, open the reader with "
            f"limits=rstream.codecs.Limits({name}=...)",
        )


LIMITS: Final = Limits()


def limited(codec: Codec[Any], limits: Limits | None) -> Codec[Any]:
    """A codec with other limits; None: the codec as it is.

    Raises:
        ConfigError: the codec keeps none, or ``limits`` is no ``Limits``.
    """
    if limits is None:
        return codec
    if not isinstance(limits, Limits):  # pyright: ignore[reportUnnecessaryIsInstance] - of a user
        raise ConfigError(f"limits={limits!r}: give rstream.codecs.Limits(decoded_bytes=..., ...)")
    with_limits = getattr(codec, "with_limits", None)
    if with_limits is None:
        raise ConfigError(
            f"limits={limits!r}: codec {type(codec).__qualname__.strip('_').lower()} keeps none",
            hint="pickle runs code of the publisher, and a codec of your own checks what it reads; "
            "raw, msgpack, arrow and numpy keep limits",
        )
    return with_limits(limits)
