"""Codecs of bytes and of Python objects: raw, pickle."""

from __future__ import annotations

import pickle as _pickle
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import Buffer

from rstream._process import raise_of_handler
from rstream.codecs import _frame
from rstream.codecs._base import bare, decode_error, name_of
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rstream.codecs._base import Codec, Encoded
    from rstream.codecs._limits import Limits

#: Shorter buffers go into the pickle itself.
OUT_OF_BAND_MIN: Final = 1024


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


class _Pickle:
    """Any Python object."""

    codec_id = 5
    maps_blocks = True

    def __init__(self, trusted_network: bool, view: bool) -> None:
        self.needs_trusted_network = not trusted_network
        self.takes_views = view
        try:
            import cloudpickle  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            self._dumps: Callable[..., bytes] = _pickle.dumps
        else:
            # cloudpickle has no types.
            self._dumps = cloudpickle.dumps  # pyright: ignore[reportUnknownMemberType]

    def __reduce__(self) -> tuple[Any, ...]:
        return _Pickle, (not self.needs_trusted_network, self.takes_views)

    def encode(self, obj: Any) -> Encoded:
        buffers: list[list[Buffer]] = []

        def keep(buffer: _pickle.PickleBuffer) -> bool:
            """Whether a buffer goes into the pickle itself."""
            view = buffer.raw()
            if view.nbytes < OUT_OF_BAND_MIN:
                return True
            buffers.append([view])
            return False

        try:
            data = self._dumps(obj, protocol=5, buffer_callback=keep)
        except Exception as error:
            raise_of_handler(error)
            raise CodecError(
                f"{name_of(type(obj))} cannot be pickled: {error}",
                hint="send its plain values; locks, files, sockets and generators stay behind",
            ) from error
        return _frame.pack(data, buffers) if buffers else data

    def decode_many(self, messages: Sequence[Buffer]) -> list[Any]:
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: Buffer) -> Any:
        # Of a leased message the buffers hold the memory view, and that the lease.
        data = message if isinstance(message, bytes) else memoryview(message)
        try:
            if data[:1] != b"\xc1":
                return _pickle.loads(data)
            structure, places = _frame.unpack(data)
            # A copy can be written to, as what pickle itself makes.
            make = bytearray if isinstance(data, bytes) else memoryview.toreadonly
            whole = memoryview(data)
            parts = [make(whole[begin : begin + length]) for begin, length in places]
            return _pickle.loads(structure, buffers=parts)
        except Exception as error:
            raise_of_handler(error)
            raise decode_error("pickle", index, message, error) from bare(error)
        finally:
            data = structure = whole = parts = b""  # else a traceback would hold the lease


def pickle(*, trusted: bool, trusted_network: bool = False, view: bool = False) -> Codec[Any]:
    """Any Python object, by cloudpickle if it is installed, else by pickle.

    Large arrays in it, and whatever else gives its memory to pickle (PEP 574), travel as buffers
    beside the pickle, without a copy of their own.

    Args:
        trusted: must be True: every writer of the stream can run code in its readers.
        trusted_network: True: also read it from UDP, where whoever reaches the port with one
            datagram is a writer. Without it, a reader on UDP is refused.
        view: False: arrays are copies that may be changed. True: in messages of 4 KiB or more they
            lie in the transport's memory, read-only, and hold it for as long as they are there.
            Readers only.
    Raises:
        ConfigError: ``trusted`` is not True.
    """
    if trusted is not True:
        raise ConfigError(
            "codecs.pickle runs code that the writer of the stream chooses: "
            "say trusted=True if every writer is trusted"
        )
    return _Pickle(trusted_network, view)
