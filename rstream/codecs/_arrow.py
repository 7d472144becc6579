"""The Arrow codec."""

# pyarrow has no types, so everything from it is unknown; no signature here names it.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rstream.codecs._base import Codec, Encoded, decode_error, name_of
from rstream.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Arrow:
    """The Arrow IPC stream format, with the schema in each message."""

    codec_id = 3

    def __init__(self) -> None:
        import pyarrow

        self._pa: Any = pyarrow

    def encode(self, obj: Any) -> Encoded:
        pa = self._pa
        if not isinstance(obj, pa.RecordBatch):
            raise CodecError(
                f"the arrow codec sends pyarrow.RecordBatch, not {name_of(type(obj))}",
                hint="cut a Table with to_batches()",
            )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, obj.schema) as writer:
            writer.write_batch(obj)
        return sink.getvalue()

    def decode_many(self, messages: Sequence[bytes]) -> list[Any]:
        return [self._decode_one(index, message) for index, message in enumerate(messages)]

    def _decode_one(self, index: int, message: bytes) -> Any:
        pa = self._pa
        try:
            with pa.ipc.open_stream(pa.py_buffer(message)) as reader:
                return reader.read_next_batch()
        except (pa.ArrowException, StopIteration, OSError) as error:
            raise decode_error(
                "Arrow IPC stream of one record batch", index, message, error
            ) from error


def arrow() -> Codec[Any]:
    """``pyarrow.RecordBatch`` as an Arrow IPC stream of one batch, schema included in each message.

    The columns of a decoded batch point into a copy of the message (a ``bytes`` object). They may
    be kept for any time and do not hold the transport's window. Dictionary columns include their
    dictionaries.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    try:
        return _Arrow()
    except ImportError as error:
        raise ConfigError(
            'the arrow codec needs pyarrow: pip install "rstream-transport[arrow]"'
        ) from error
