"""The codecs that rstream ships."""

from __future__ import annotations

import pickle as _pickle
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from typing_extensions import Buffer

from rstream._checks import is_whole
from rstream.codecs._base import decode_error, name_of, numpy_codec_id
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from rstream.codecs._base import Codec, Encoded

T = TypeVar("T")


class _Raw:
    """Bytes, unchanged."""

    codec_id = 1

    def encode(self, obj: Buffer) -> Encoded:
        return obj

    def decode_many(self, messages: Sequence[bytes]) -> list[bytes]:
        return list(messages)


def raw() -> Codec[bytes]:
    """Bytes, unchanged. Writers may give any contiguous buffer."""
    return _Raw()


def _hint_of_msgpack(refusal: str) -> str:
    """What to send instead of what msgspec has refused."""
    if "type numpy.ndarray " in refusal:
        return (
            "send array.tolist(), or open both ends with codec=rstream.codecs.numpy(dtype, shape)"
        )
    if "type numpy." in refusal:
        return "send its Python value: value.item()"
    return (
        "send dicts, lists, numbers, texts, bytes, dataclasses or msgspec.Structs; or give both "
        "ends another codec (docs/how-to/codecs.md)"
    )


class _Msgpack(Generic[T]):
    """msgpack by msgspec; decoding checks the type."""

    codec_id = 2

    def __init__(self, type_: type[T] | None) -> None:
        import msgspec

        self._error = msgspec.MsgspecError
        self._encode = msgspec.msgpack.Encoder().encode
        decoder: Any = (
            msgspec.msgpack.Decoder() if type_ is None else msgspec.msgpack.Decoder(type_)
        )
        self._decode = decoder.decode
        self._type_name = "msgpack" if type_ is None else f"msgpack of {name_of(type_)}"

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
def msgpack() -> Codec[Any]: ...
@overload
def msgpack(type: type[T]) -> Codec[T]: ...
def msgpack(type: type[Any] | None = None) -> Codec[Any]:
    """msgpack by msgspec, the default codec.

    Args:
        type: the type to decode to and to check (``msgspec.Struct``, dataclass, ``list[int]``,
            …); None: plain dicts, lists, numbers, strings. Then a set arrives as a list, a date or
            a Decimal as its text (docs/how-to/codecs.md).
    Raises:
        ConfigError: msgspec cannot handle ``type``.
    """
    try:
        return _Msgpack(type)
    except TypeError as error:
        raise ConfigError(f"type {name_of(type)} cannot be used with msgpack: {error}") from error


class _Numpy:
    """Arrays of one dtype and shape; messages contain only their bytes, the id names the dtype."""

    def __init__(self, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> None:
        import numpy

        self._np = numpy
        try:
            self._dtype: np.dtype[Any] = numpy.dtype(dtype)
        except (TypeError, ValueError, SyntaxError) as error:
            raise ConfigError(
                f"numpy codec: dtype={dtype!r}: {error}",
                hint='give a dtype of numpy, such as "f4" or numpy.float32',
            ) from error
        if self._dtype.hasobject:
            raise ConfigError(f"numpy codec: dtype {self._dtype} holds Python objects")
        self.codec_id = numpy_codec_id(self._dtype.str)
        self._shape = shape = _checked_shape(shape)
        unknown = [size for size in shape if size < 0]
        if any(size < -1 for size in unknown) or len(unknown) > 1:
            raise ConfigError(
                f"numpy codec: shape {shape} may hold one -1 and no other negative number"
            )

    def encode(self, obj: npt.NDArray[Any]) -> Encoded:
        np = self._np
        array = np.asarray(obj, order="C")
        if array.dtype != self._dtype or not self._fits(array.shape):
            raise CodecError(
                f"numpy codec of {self._dtype} {self._shape} cannot send an array of "
                f"{array.dtype} {array.shape}",
                hint="convert it with astype and reshape, or give both ends its dtype and shape",
            )
        return array.reshape(-1).view(np.uint8).data

    def _fits(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == len(self._shape) and all(
            wanted in (-1, size) for wanted, size in zip(self._shape, shape, strict=True)
        )

    def decode_many(self, messages: Sequence[bytes]) -> list[npt.NDArray[Any]]:
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: bytes) -> npt.NDArray[Any]:
        try:
            return self._np.frombuffer(message, self._dtype).reshape(self._shape)
        except ValueError as error:
            raise decode_error(
                f"{self._dtype} array {self._shape}", index, message, error
            ) from error


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        sizes = tuple(shape)
    except TypeError:
        sizes = (None,)
    if not all(map(is_whole, sizes)):
        raise ConfigError(
            f"numpy codec: shape={shape!r}: must be a tuple of whole numbers, such as (3,)"
        )
    return tuple(map(int, shape))


def numpy(dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Codec[npt.NDArray[Any]]:
    """Arrays of one dtype and shape, in C order.

    Decoded arrays are read-only views of a copy of the message. The codec id tells a reader the
    dtype of numbers and bools: for another one it raises a :class:`CodecError`. It cannot tell
    other dtypes (structured, texts, times) and shapes apart when their bytes are as many.

    Args:
        dtype: a dtype without Python objects, the same at both ends.
        shape: the sizes, the same at both ends; one may be -1 (any size).
    Raises:
        ConfigError: numpy is not installed, or an argument cannot be used.
    """
    try:
        return _Numpy(dtype, shape)
    except ImportError as error:
        raise ConfigError(
            'the numpy codec needs numpy: pip install "rstream-transport[numpy]"'
        ) from error


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
