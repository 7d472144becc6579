"""Codecs of bytes and of Python objects: raw, msgpack, pickle."""

from __future__ import annotations

import pickle as _pickle
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from typing_extensions import Buffer

from rstream.codecs._base import decode_error, name_of
from rstream.codecs._limits import LIMITS, Limits
from rstream.codecs._scalars import restored, written
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rstream.codecs._base import Codec, Encoded

T = TypeVar("T")


class _Raw:
    """Bytes, unchanged."""

    codec_id = 1
    quick_encode = None  # bytes are the message

    def encode(self, obj: Buffer) -> Encoded:
        return obj

    def decode_many(self, messages: Sequence[bytes]) -> list[bytes]:
        return list(messages)

    def with_limits(self, limits: Limits) -> Codec[bytes]:
        return self


def raw() -> Codec[bytes]:
    """Bytes, unchanged. Writers may give any contiguous buffer."""
    return _Raw()


def _hint_of_msgpack(refusal: str) -> str:
    """What to send instead of what msgspec has refused."""
    if "type numpy.ndarray " in refusal:
        return (
            'send array.tolist(), or open both ends with codec="numpy", whose messages are arrays'
        )
    if "DataFrame" in refusal or "type pyarrow." in refusal:
        return 'open both ends with codec="arrow", whose messages are tables'
    return (
        "send dicts, lists, numbers, texts, bytes, dataclasses or msgspec.Structs; or give both "
        "ends another codec, such as codecs.pickle(trusted=True) where both trust each other"
    )


class _Msgpack(Generic[T]):
    """msgpack by msgspec; decoding checks the type."""

    codec_id = 2

    def __init__(self, type_: type[T] | None, limits: Limits = LIMITS) -> None:
        import msgspec

        self._limits = limits
        self._type = type_
        self._error = msgspec.MsgspecError
        # Also for publishers, which call encode() when it raises.
        self.quick_encode = self._encode = msgspec.msgpack.Encoder(enc_hook=written).encode
        decoder: Any = (
            msgspec.msgpack.Decoder()
            if type_ is None
            else msgspec.msgpack.Decoder(type_, dec_hook=restored)
        )
        self._decode = decoder.decode
        self._type_name = "msgpack" if type_ is None else f"msgpack of {name_of(type_)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _Msgpack, (self._type, self._limits)

    def with_limits(self, limits: Limits) -> Codec[T]:
        return _Msgpack(self._type, limits)

    def encode(self, obj: T) -> Encoded:
        try:
            return self._encode(obj)
        except (TypeError, ValueError, OverflowError, self._error) as error:
            raise CodecError(
                f"{name_of(type(obj))} cannot be written as msgpack: {error}",
                hint=_hint_of_msgpack(str(error)),
            ) from error

    def decode_many(self, messages: Sequence[bytes]) -> list[T]:
        decode = self._decode
        try:
            return [decode(message) for message in messages]
        except (ValueError, self._error):
            return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: bytes) -> T:
        try:
            return self._decode(message)
        except (ValueError, self._error) as error:
            raise decode_error(self._type_name, index, message, error) from error


@overload
def msgpack(*, limits: Limits = LIMITS) -> Codec[Any]: ...
@overload
def msgpack(type: type[T], *, limits: Limits = LIMITS) -> Codec[T]: ...
def msgpack(type: type[Any] | None = None, *, limits: Limits = LIMITS) -> Codec[Any]:
    """msgpack by msgspec, the default codec.

    Args:
        type: the type to decode to and to check (``msgspec.Struct``, dataclass, ``list[int]``,
            …); None: plain dicts, lists, numbers, strings. Then a set arrives as a list, a date or
            a Decimal as its text (docs/how-to/codecs.md).
        limits: what a message may become. Readers only.
    Raises:
        ConfigError: msgspec cannot handle ``type``.
    """
    try:
        return _Msgpack(type, limits)
    except TypeError as error:
        raise ConfigError(f"type {name_of(type)} cannot be used with msgpack: {error}") from error


class _Pickle:
    """Any Python object."""

    codec_id = 5

    def __init__(self, trusted_network: bool) -> None:
        self.needs_trusted_network = not trusted_network
        try:
            import cloudpickle  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            self._dumps: Callable[[Any, int], bytes] = _pickle.dumps
        else:
            # cloudpickle has no types.
            self._dumps = cloudpickle.dumps  # pyright: ignore[reportUnknownMemberType]

    def __reduce__(self) -> tuple[Any, ...]:
        return _Pickle, (not self.needs_trusted_network,)

    def encode(self, obj: Any) -> Encoded:
        try:
            return self._dumps(obj, 5)
        except Exception as error:
            raise CodecError(
                f"{name_of(type(obj))} cannot be pickled: {error}",
                hint="send its plain values; locks, files, sockets and generators stay behind",
            ) from error

    def decode_many(self, messages: Sequence[bytes]) -> list[Any]:
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: bytes) -> Any:
        try:
            return _pickle.loads(message)
        except Exception as error:
            raise decode_error("pickle", index, message, error) from error


def pickle(*, trusted: bool, trusted_network: bool = False) -> Codec[Any]:
    """Any Python object, by cloudpickle if it is installed, else by pickle.

    Args:
        trusted: must be True: every writer of the stream can run code in its readers.
        trusted_network: True: also read it from UDP, where whoever reaches the port with one
            datagram is a writer. Without it, a reader on UDP is refused.
    Raises:
        ConfigError: ``trusted`` is not True.
    """
    if trusted is not True:
        raise ConfigError(
            "codecs.pickle runs code that the writer of the stream chooses: "
            "say trusted=True if every writer is trusted"
        )
    return _Pickle(trusted_network)
