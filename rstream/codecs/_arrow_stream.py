"""Arrow IPC streams, one for each message: a schema is made and parsed when it is a new one.

A stream is a schema, the dictionaries of its columns, record batches and an end, each of them:

    u32  0xffffffff
    i32  length of the metadata, a multiple of 8; 0: the end
    metadata (a flatbuffer), then the buffers of the columns

The schema always comes first, and the same schema has the same bytes. A writer keeps the bytes of
its last schema, a reader keeps the schemas of the bytes that it has seen. So the bytes stay Arrow's
own, each message can be read alone, and the schema costs hardly more than its bytes.

Source: the Arrow columnar format, "Encapsulated message format" and "IPC Streaming Format".
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from rstream.codecs._arrow_sizes import claim_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from rstream.codecs._base import Encoded
    from rstream.codecs._limits import Limits

__all__ = ("ArrowStreamReader", "ArrowStreamWriter", "encoded_length")

#: From so many bytes on the columns go into the log one by one. Below, one copy of all costs less.
GATHERED_MIN: Final = 524_288
#: Up to so many bytes a message is joined: one copy costs less than three parts.
JOINED_MAX: Final = 16_384
#: Schemas that a reader remembers. A stream that has more of them parses some anew.
SCHEMAS_MAX: Final = 64
#: Longest schema that a reader remembers, in bytes; so all of them take 4 MiB at most.
SCHEMA_LENGTH_MAX: Final = 65_536
#: Where a schema's metadata begins.
PREFIX_LENGTH: Final = 8
MARK: Final = b"\xff\xff\xff\xff"
END: Final = MARK + bytes(4)
UNKNOWN: Final[tuple[bytes, Any]] = (b"", None)


def encoded_length(rows: Any) -> int:
    """Bytes that the rows of a ``RecordBatch`` or a ``Table`` have in a message, without a schema.

    Of a slice only what is sent counts, as in ``nbytes``, which takes ten times as long.
    """
    import pyarrow

    batches = [rows] if isinstance(rows, pyarrow.RecordBatch) else rows.to_batches()
    return sum(map(pyarrow.ipc.get_record_batch_size, batches))


class _Pieces:
    """A file for Arrow's writer that keeps what is written, columns without a copy."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[Buffer] = []
        self._small: list[bytes] = []
        self._length = 0

    def write(self, data: Any) -> int:
        if isinstance(data, bytes):
            self._small.append(data)
        else:
            self._join()
            self.pieces.append(data)
        self._length += len(data)
        return len(data)

    def _join(self) -> None:
        if self._small:
            self.pieces.append(b"".join(self._small))
            self._small.clear()

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        self._join()

    close = flush


class ArrowStreamWriter:
    """Writes record batches and tables as streams. Any thread may write."""

    def __init__(self, pyarrow: Any) -> None:
        self._pa = pyarrow
        # A schema and its bytes, in one value: so each thread sees two that belong together.
        self._last: tuple[Any, bytes] | None = None

    def write(self, rows: Any) -> Encoded:
        """The stream of a ``RecordBatch`` or a ``Table``."""
        batches = [rows] if isinstance(rows, self._pa.RecordBatch) else rows.to_batches()
        held = rows.get_total_buffer_size()  # of a slice, more than what is sent
        if held >= GATHERED_MIN <= sum(map(self._pa.ipc.get_record_batch_size, batches)):
            gathered = _Pieces()
            self._write_whole(gathered, rows)
            gathered.flush()
            return gathered.pieces
        last = self._last
        if last is None or not rows.schema.equals(last[0], check_metadata=True):
            return self._write_first(rows)
        parts: list[Buffer] = [last[1], *(batch.serialize() for batch in batches), END]
        return b"".join(parts) if held <= JOINED_MAX else parts

    def _write_first(self, rows: Any) -> Buffer:
        """Write with Arrow's own writer. Only that writes dictionaries, so a schema that has some
        is not remembered.
        """
        sink = self._pa.BufferOutputStream()
        stats = self._write_whole(sink, rows)
        stream = sink.getvalue()
        head = _head_of(memoryview(stream).cast("B"))
        if head and stats.num_record_batches and not stats.num_dictionary_batches:
            self._last = rows.schema, head
        return stream

    def _write_whole(self, sink: Any, rows: Any) -> Any:
        with self._pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write(rows)
        return writer.stats


class ArrowStreamReader:
    """Reads streams. Any thread may read.

    Args:
        pyarrow: the module.
        limits: what a message may become; None: any, of bytes that this host has written itself.
        value_bytes: what each value takes at least in the objects that are made of the columns.
    """

    def __init__(self, pyarrow: Any, limits: Limits | None, value_bytes: int = 0) -> None:
        self._pa = pyarrow
        self._limits = limits
        self._value_bytes = value_bytes
        #: By their bytes; None: it came once.
        self._schemas: dict[bytes, Any] = {}
        self._last = UNKNOWN

    def read(self, message: Buffer) -> tuple[Any, list[Any]]:
        """The schema and the valid record batches of a message, whose memory they point into.

        Each batch is validated in full: Arrow believes every offset that lies inside a column, and
        would read anywhere in this process, or end it.

        Raises:
            CodecError: the message would become more than the limits allow.
            pyarrow.ArrowException, OSError, ValueError: the message is no stream. Its traceback may
                hold the memory of the message.
        """
        data = message if isinstance(message, bytes) else memoryview(message).cast("B")
        head, schema = self._last
        if schema is None or data[: len(head)] != head:
            head = _head_of(data)
            schema = self._schemas.get(head)
            self._last = UNKNOWN if schema is None else (head, schema)
        self._check(data, len(head))
        batches = None if schema is None else self._batches_behind(len(head), schema, data)
        if batches is None:
            self._last = UNKNOWN
            reader = self._pa.ipc.open_stream(self._pa.py_buffer(data))
            schema, batches = reader.schema, list(reader)
            self._learn(head, schema, has_dictionaries=reader.stats.num_dictionary_batches > 0)
        for batch in batches:
            batch.validate(full=True)
        return schema, batches

    def _check(self, data: Any, start: int) -> None:
        limits = self._limits
        if limits is None:
            return
        try:
            buffer_bytes, rows, values = claim_of(data, start)
        except (struct.error, IndexError) as error:
            raise ValueError(f"its metadata cannot be read: {error}") from error
        decoded_bytes = max(buffer_bytes, values * self._value_bytes)
        limits.check(len(data), decoded_bytes=decoded_bytes, rows=rows)

    def _learn(self, head: bytes, schema: Any, *, has_dictionaries: bool) -> None:
        """Remember a schema that comes for the second time: some have other metadata each time."""
        schemas = self._schemas
        if has_dictionaries or not head:
            schemas.pop(head, None)
        elif head in schemas:
            parsed = self._pa.ipc.read_schema(self._pa.py_buffer(head))
            if parsed.equals(schema):  # else its columns have the byte order of another machine
                schemas[head] = parsed
        else:
            if len(schemas) >= SCHEMAS_MAX:
                schemas.clear()
            schemas[head] = None

    def _batches_behind(self, start: int, schema: Any, data: Any) -> list[Any] | None:
        """The record batches behind a known schema; None: Arrow's own reader must read them, or
        say what is wrong.
        """
        read = self._pa.ipc.read_record_batch
        buffer = self._pa.py_buffer(data)
        end = buffer.size - len(END) if data[-len(END) :] == END else buffer.size
        source = self._pa.BufferReader(buffer)
        source.seek(start)
        batches: list[Any] = []
        try:
            while source.tell() < end:
                batches.append(read(source, schema))
        except (self._pa.ArrowException, OSError, EOFError):
            return None
        return batches if source.tell() == end else None


def _head_of(stream: bytes | memoryview) -> bytes:
    """The bytes of the schema, with which a stream begins; empty: they cannot be remembered."""
    length = PREFIX_LENGTH + int.from_bytes(stream[4:PREFIX_LENGTH], "little")
    return bytes(stream[:length]) if stream[:4] == MARK and length <= SCHEMA_LENGTH_MAX else b""
