"""The streaming sink: Arrow batches from Spark's Python workers into rstream.

Spark plans a micro-batch. For each of its partitions a Python worker calls :meth:`Writer.write`
with an iterator of ``pyarrow.RecordBatch``. The writer

1. divides each batch by the partition column among the handles,
2. divides it again so that every piece fits the largest message,
3. marks each piece with query, epoch, partition, attempt and time, in the metadata of the Arrow
   schema,
4. and sends it.

``send`` waits while the reader has no room. So the task waits, and Spark plans the next micro-batch
later: that is the whole back-pressure.

Delivery is *at least once*. With ``ack=consumed`` (default) a task ends only when its readers have
consumed its rows, so a micro-batch is committed only after that. A retried task or a replayed
micro-batch sends its rows again, under another attempt or token; readers recognise them by the
marks (:func:`marks_of`).

Spark's daemon forks the workers, reuses them for many tasks, and ends them without ``atexit``. So
publishers are made after the fork and kept for each process, and the driver's liveness timeout
frees them.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import json
import os
import time
import uuid
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from rstream import rate as rates
from rstream.errors import ConfigError, RemoteError, RStreamError
from rstream.ray._handle import StreamHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql.types import StructType

    from rstream.rate import RateLimit
    from rstream.stream import Publisher

#: ``pyarrow.RecordBatch``; pyarrow has no types.
RecordBatch: TypeAlias = Any

SOURCE_NAME = "rstream"
#: Bytes of a message for Arrow's stream framing and for the schema with its marks.
FRAMING_BYTES = 4096

OPTIONS = {
    "handles": "stream handles, one JSON list of texts (StreamHandle.to_text), or one text",
    "partitionby": "column whose value chooses the handle; default: batches take turns",
    "partitionmap": "JSON object: value of that column -> index of the handle; "
    "for other values the CRC-32 of the value chooses",
    "rowspermessage": "most rows in one message (default 1024)",
    "offertimeout": "seconds that a task waits for room before it fails (default 120)",
    "ack": "consumed (default): a task ends when its rows are consumed; sent: when they are sent",
    "rate": "how fast each task may send: 200MB/s, or a law as in rs-rate (adaptive)",
    "driverdir": "driver directory of the writer on another host; default: the handle's",
}


#: Options that belong to Spark; it hands them to the sink with the others.
SPARK_OPTIONS = frozenset(
    (
        "_asyncprogresstrackingoverridesinksupportcheck",
        "asyncprogresstrackingcheckpointintervalms",
        "asyncprogresstrackingenabled",
        "checkpointlocation",
        "path",
        "queryname",
    )
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The origin of a record batch; by it readers recognise a repeated one.

    Attributes:
        query: Spark's id of the query.
        epoch: number of the micro-batch.
        partition: number of the partition.
        attempt: number of the attempt for this partition.
        task_attempt: Spark's id of the task attempt.
        token: new for each planned micro-batch, so a replayed epoch has another one.
        sequence: number of the message within the attempt.
        row_offset: number of its first row within the attempt.
        sent_s: when the task began to send the message, seconds since 1970 by its host's clock.
            The reader's clock less it is the queueing delay, as far as both clocks agree.
    """

    query: str
    epoch: int
    partition: int
    attempt: int
    task_attempt: int
    token: str
    sequence: int
    row_offset: int
    sent_s: float


def marks_of(batch: RecordBatch) -> Marks | None:
    """The marks of a record batch that a sink sent; None: it has none."""
    metadata: dict[bytes, bytes] = batch.schema.metadata or {}
    text = metadata.get(b"rstream.marks")
    return Marks(**json.loads(text)) if text is not None else None


@dataclasses.dataclass
class TaskCommit(WriterCommitMessage):
    """The account of one task: what it sent, and how long it waited."""

    partition: int
    attempt: int
    token: str
    rows: int
    messages: int
    bytes_sent: int
    blocked_s: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SinkConfig:
    """The sink's options, checked."""

    handles: tuple[str, ...]
    partition_by: str | None
    partition_map: dict[str, int]
    rows_per_message: int
    offer_timeout_s: float
    wait_consumed: bool
    driver_dir: str | None
    rate: RateLimit | None = None

    @classmethod
    def from_options(cls, options: dict[str, str]) -> SinkConfig:
        """Check Spark's option strings (case-insensitive names).

        Raises:
            ConfigError: an option is missing, unknown or wrong, or a reader cannot take record
                batches; the text names the allowed values.
        """
        given = {key.lower(): value for key, value in options.items()}
        for key in given.keys() - OPTIONS.keys() - SPARK_OPTIONS:
            raise ConfigError(_unknown(key))
        text = given.get("handles") or given.get("path")
        if not text:
            raise ConfigError(
                'rstream sink: option "handles" is missing: give the readers\' handles, '
                "json.dumps([handle.to_text() for handle in handles])"
            )
        handles = json.loads(text) if text.lstrip().startswith("[") else [text]
        for handle in handles:
            _check_codec(StreamHandle.from_text(handle))
        ack = given.get("ack", "consumed")
        if ack not in ("consumed", "sent"):
            raise ConfigError(f'rstream sink: option "ack" is {ack!r}: must be consumed or sent')
        partition_map = {
            str(key): int(index)
            for key, index in json.loads(given.get("partitionmap", "{}")).items()
        }
        wrong = [index for index in partition_map.values() if not 0 <= index < len(handles)]
        if wrong:
            raise ConfigError(
                f'rstream sink: option "partitionMap" names handle {wrong[0]}, '
                f"there are {len(handles)}"
            )
        return cls(
            handles=tuple(handles),
            partition_by=given.get("partitionby"),
            partition_map=partition_map,
            rows_per_message=_number(given, "rowspermessage", "1024", int),
            offer_timeout_s=_number(given, "offertimeout", "120", float),
            wait_consumed=ack == "consumed",
            driver_dir=given.get("driverdir"),
            rate=_rate(given.get("rate")),
        )


def _unknown(option: str) -> str:
    """The error text for an option that is not known; ``option`` in small letters."""
    close = difflib.get_close_matches(option, OPTIONS, 1)
    meant = f'; did you mean "{close[0]}"?' if close else "."
    return (
        f'rstream sink: there is no option "{option}"{meant} The options, in any case, are '
        f"{', '.join(sorted(OPTIONS))}"
    )


def _check_codec(handle: StreamHandle) -> None:
    """Refuse a reader that cannot take record batches.

    Raises:
        ConfigError: its codec is not arrow.
    """
    if handle.codec != "arrow":
        raise ConfigError(
            f"rstream sink: the reader of {handle.name!r} (node {handle.node}) has the codec "
            f"{handle.codec}, and the sink sends Arrow record batches: open the reader with "
            f'rstream.ray.reader({handle.name!r}, codec="arrow")'
        )


def _rate(text: str | None) -> RateLimit | None:
    """The law of ``200MB/s``, or of a text as in ``rs-rate``."""
    if text is None:
        return None
    try:
        return rates.Fixed(text) if text[:1].isdigit() else rates.from_text(text)
    except ConfigError as error:
        raise ConfigError(f'rstream sink: option "rate" is {text!r}: {error}') from None


def _number(options: dict[str, str], name: str, default: str, kind: Callable[[str], float]) -> Any:
    text = options.get(name, default)
    try:
        value = kind(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise ConfigError(f'rstream sink: option "{name}" is {text!r}: must be a number above 0')
    return value


class RstreamDataSource(DataSource):
    """``df.writeStream.format("rstream").option("handles", …)``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(…)``."""
        return SOURCE_NAME

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Spark calls this once per micro-batch, and once more in the process that commits."""
        return Writer(SinkConfig.from_options(dict(self.options)))


class Writer(DataSourceStreamArrowWriter):
    """The writer of one micro-batch. Spark pickles it to the workers, which call ``write``."""

    def __init__(self, config: SinkConfig) -> None:
        self.config = config
        # New for each planned micro-batch: a replayed epoch differs from its first run.
        self.token = uuid.uuid4().hex

    def write(self, iterator: Iterator[RecordBatch]) -> TaskCommit:
        """Send the batches of a partition; waits while readers have no room."""
        context = TaskContext.get()
        if context is None:
            raise RStreamError("rstream sink: write() runs outside a Spark task")
        task = _Task(self.config, self.token, context)
        try:
            for batch in iterator:
                task.send(batch)
            return task.finish()
        except RemoteError:
            # A reader has failed. If it is opened anew, only a new session reaches it at once.
            for publisher in task.publishers:
                publisher.close(linger_s=0)
            raise

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing to do: the rows are delivered already, at least once."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing to do: a retry sends the rows again under another attempt."""


class _Task:
    """One attempt of one partition."""

    def __init__(self, config: SinkConfig, token: str, context: TaskContext) -> None:
        self.config = config
        self.publishers = _publishers(config)
        self.marks: dict[str, Any] = {
            "query": context.getLocalProperty("sql.streaming.queryId") or "",
            "epoch": int(context.getLocalProperty("streaming.sql.batchId") or -1),
            "partition": context.partitionId(),
            "attempt": context.attemptNumber(),
            "task_attempt": context.taskAttemptId(),
            "token": token,
        }
        self.rows = self.messages = self.bytes_sent = 0
        self.blocked_s = 0.0
        self.next_handle = context.partitionId()
        self.touched: set[int] = set()

    def send(self, batch: RecordBatch) -> None:
        for index, part in self._partition(batch):
            for start in range(0, part.num_rows, self.config.rows_per_message):
                self._send_piece(index, part.slice(start, self.config.rows_per_message))

    def _partition(self, batch: RecordBatch) -> Iterator[tuple[int, RecordBatch]]:
        pa: Any = importlib.import_module("pyarrow")
        count = len(self.config.handles)
        column = self.config.partition_by
        if column is None or count == 1:
            yield self.next_handle % count, batch
            self.next_handle += 1
            return
        names = batch.schema.names
        if column not in names:
            raise ConfigError(
                f'rstream sink: option "partitionBy" names column {column!r}; '
                f"the rows have {', '.join(names)}"
            )
        values = batch.column(names.index(column))
        encoded = values.dictionary_encode()
        targets = [self._handle_of(value) for value in encoded.dictionary.to_pylist()]
        codes = encoded.indices.to_pylist()
        rows_of: list[list[int]] = [[] for _ in range(count)]
        for row, code in enumerate(codes):
            rows_of[0 if code is None else targets[code]].append(row)
        for index, rows in enumerate(rows_of):
            if rows:
                yield index, batch.take(pa.array(rows, pa.int32()))

    def _handle_of(self, value: Any) -> int:
        mapped = self.config.partition_map.get(str(value))
        if mapped is not None:
            return mapped
        return zlib.crc32(str(value).encode()) % len(self.config.handles)

    def _send_piece(self, index: int, piece: RecordBatch) -> None:
        publisher = self.publishers[index]
        room = publisher.max_unparted_length - FRAMING_BYTES
        if piece.nbytes > room and piece.num_rows > 1:
            half = piece.num_rows // 2
            self._send_piece(index, piece.slice(0, half))
            self._send_piece(index, piece.slice(half))
            return
        marks = {
            **self.marks,
            "sequence": self.messages,
            "row_offset": self.rows,
            "sent_s": time.time(),
        }
        marked = piece.replace_schema_metadata({b"rstream.marks": json.dumps(marks).encode()})
        before = time.monotonic()
        publisher.send(marked, timeout_s=self.config.offer_timeout_s)
        self.blocked_s += time.monotonic() - before
        self.touched.add(index)
        self.rows += piece.num_rows
        self.messages += 1
        self.bytes_sent += piece.nbytes

    def finish(self) -> TaskCommit:
        if self.config.wait_consumed:
            before = time.monotonic()
            for index in sorted(self.touched):
                publisher = self.publishers[index]
                if not publisher.wait_consumed(timeout_s=self.config.offer_timeout_s):
                    raise RStreamError(
                        f"rstream sink: the reader of {publisher.name!r} ({publisher.channel}) has "
                        f"not consumed up to position {publisher.position} within "
                        f"{self.config.offer_timeout_s} s: it is dead or too slow; "
                        "the task fails and Spark may retry it"
                    )
            self.blocked_s += time.monotonic() - before
        return TaskCommit(
            partition=self.marks["partition"],
            attempt=self.marks["attempt"],
            token=self.marks["token"],
            rows=self.rows,
            messages=self.messages,
            bytes_sent=self.bytes_sent,
            blocked_s=self.blocked_s,
        )


_process_id = 0
_open: dict[tuple[str, str | None, RateLimit | None], Publisher[Any]] = {}


def _publishers(config: SinkConfig) -> list[Publisher[Any]]:
    """This worker's publishers, made once after the fork and kept for later tasks."""
    global _process_id
    if _process_id != os.getpid():
        _open.clear()  # those of the parent cannot be used after the fork
        _process_id = os.getpid()
    found: list[Publisher[Any]] = []
    for text in config.handles:
        key = (text, config.driver_dir, config.rate)
        publisher = _open.get(key)
        if publisher is None or publisher.is_closed:
            publisher = StreamHandle.from_text(text).publisher(
                driver_dir=config.driver_dir, rate=config.rate
            )
            _open[key] = publisher
        found.append(publisher)
    return found
