"""The format ``rstream`` for reading: streams through a spool, batches straight from the stream.

Spark has several processes. One plans the micro-batches of a query and lives as long as it does:
there the *feed* (:mod:`rstream.spark._feed`) fills the *spool* (:mod:`rstream.spark._spool`), from
the first question about offsets on. Tasks run elsewhere, know nothing of it, and read rows of the
spool's file. Others only make a reader and pickle it. So a reader opens nothing when it is made.

Offsets are ``{"spool": id, "row": n}``. ``latestOffset`` has the rows on the disk before it tells
their number, and a commit frees them. The feed consumes a message when the spool has it.
"""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from rstream.errors import CodecError, ConfigError, RStreamError
from rstream.ledger._internal import from_bytes
from rstream.spark._elements import batches_of, codec_of, conformed
from rstream.spark._feed import SparkFeed
from rstream.spark._source_options import WHO
from rstream.spark._spool import Spool, stored
from rstream.stream import reader
from rstream.stream._internal import reading_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.types import StructType

    from rstream.spark._source_options import SourceConfig
    from rstream.stream._internal import StreamReading

log = logging.getLogger("rstream")

#: Bytes for one task of a micro-batch; Spark's file sources have 128 MiB, but they read no faster.
PART_BYTES: Final = 16 << 20
#: Seconds in which ``trigger(availableNow=True)`` gathers what publishers have sent.
AVAILABLE_S: Final = 10.0
WAIT_S: Final = 0.2
POLL_MAX: Final = 4096


@dataclasses.dataclass
class Part(InputPartition):
    """Rows of a spool, for one task.

    Attributes:
        path, spool_id, begin, end: which rows of which spool.
        entries: what is stored of them, with ``tasks=anywhere``; None: the task reads the file.
    """

    path: str
    spool_id: str
    begin: int
    end: int
    entries: list[tuple[bytes, int, int]] | None = None

    def stored(self) -> Iterable[tuple[bytes, int, int]]:
        """As of :func:`rstream.spark._spool.stored`."""
        if self.entries is not None:
            return self.entries
        return stored(self.path, self.spool_id, self.begin, self.end)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader of one query. It is pickled to the tasks without feed and spool."""

    def __init__(self, config: SourceConfig, schema: StructType) -> None:
        self.config = config
        self.schema: Any = to_arrow_schema(schema, timezone="UTC")
        self.codec = codec_of(self.schema, config.codec)
        self._spool: Spool | None = None
        self._feed: SparkFeed | None = None
        self._target: int | None = None  # of trigger(availableNow=True)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_spool": None, "_feed": None}

    # ---- in the process that plans ----

    def _open_spool(self) -> Spool:
        if self._spool is None:
            self._spool = Spool(self.config.spool_dir, self.config.spool_bytes, self.config.stream)
        return self._spool

    def _open_feed(self) -> SparkFeed:
        if self._feed is None:
            self._feed = SparkFeed(self.config, self.codec, self.schema, self._open_spool())
        return self._feed

    def _row_of(self, offset: dict[str, Any]) -> int:
        """The row of an offset; of an offset of another spool the first row that is there.

        Raises:
            ConfigError: it is of another spool, with ``onGap=fail``.
        """
        spool = self._open_spool()
        if offset["spool"] == spool.id:
            return offset["row"]
        text = (
            f"{WHO}: the checkpoint of this query is about another spool than the one in "
            f"{self.config.spool_dir!r}"
        )
        if self.config.fails_on_gap:
            raise ConfigError(
                text,
                hint="give the spoolDir that it had; or a new checkpoint folder, which is a new "
                "query; or onGap=report, and it goes on with the rows of this spool",
            )
        log.warning("%s; what it had not processed is lost, it goes on with what is there", text)
        return spool.freed

    def initialOffset(self) -> dict[str, Any]:
        """The first row that is there: a new query has what an earlier one has left."""
        spool = self._open_spool()
        self._open_feed()
        return {"spool": spool.id, "row": spool.freed}

    def getDefaultReadLimit(self) -> ReadLimit:
        """As ``maxRowsPerTrigger`` or ``maxBytesPerTrigger`` says."""
        if self.config.rows_max:
            return ReadMaxRows(self.config.rows_max)
        if self.config.bytes_max:
            return ReadMaxBytes(self.config.bytes_max)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next micro-batch ends; the rows before it are on the disk.

        Raises:
            RStreamError: messages are lost, or reading has failed.
        """
        spool = self._open_spool()
        self._open_feed().check()
        begin = self._row_of(start)
        end = spool.last if self._target is None else max(self._target, begin)
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
            if self.config.bytes_max:
                end = min(end, spool.end_within(begin, self.config.bytes_max))
        elif isinstance(limit, ReadMaxBytes):
            end = min(end, spool.end_within(begin, limit.max_bytes))
        spool.plan(end)
        return {"spool": spool.id, "row": end}

    def reportLatestOffset(self) -> dict[str, Any]:
        """The last row that is there."""
        spool = self._open_spool()
        return {"spool": spool.id, "row": spool.last}

    def prepareForTriggerAvailableNow(self) -> None:
        """Gather what publishers have sent by now; that is what the query processes."""
        self._open_feed().await_quiet(AVAILABLE_S)
        self._target = self._open_spool().last

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Cut the rows into tasks, the same way each time."""
        spool = self._open_spool()
        self._open_feed()  # after a restart this is the first question, and publishers wait
        begin = self._row_of(start)
        if end["spool"] != spool.id:
            return []
        parts = [
            Part(spool.path, spool.id, *rows) for rows in spool.parts(begin, end["row"], PART_BYTES)
        ]
        if self.config.sends_rows:
            for part in parts:
                part.entries = list(part.stored())
        return parts

    def commit(self, end: dict[str, Any]) -> None:
        """Free the rows that are processed."""
        spool = self._open_spool()
        if end["spool"] == spool.id:
            spool.free(end["row"])

    def stop(self) -> None:
        """Stop reading. What is in the spool stays for the next run."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    # ---- in a task ----

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read rows of the spool's file."""
        assert isinstance(partition, Part)
        for data, begin, end in partition.stored():
            yield conformed(from_bytes(data).slice(begin, end - begin), self.schema)


class BatchReader(DataSourceReader):
    """Reads a stream up to its end, or to a bound, in one task."""

    def __init__(self, config: SourceConfig, schema: StructType) -> None:
        self.config = config
        self.schema: Any = to_arrow_schema(schema, timezone="UTC")
        self.codec = codec_of(self.schema, config.codec)

    def partitions(self) -> list[InputPartition]:
        """One: a stream has one order."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read until every publisher seen has completed, or a bound is reached.

        Raises:
            RStreamError: a publisher died or failed, messages are lost or cannot be used; or the
                task is a second attempt.
        """
        context = TaskContext.get()
        if context is not None and context.attemptNumber() > 0:
            raise RStreamError(
                f"{WHO}: stream {self.config.stream!r}: what the first attempt of this task had "
                "read is gone, so another one would read less; read again, or use readStream"
            )
        config = self.config
        with reader(
            config.stream,
            codec=self.codec,
            channels=None if config.channel is None else [config.channel],
            on_lost="raise",
            on_gap="raise" if config.fails_on_gap else "resume",
            dir=config.driver_dir,
        ) as opened:
            source = reading_of(opened)
            left, came_s = config.messages_max or None, time.monotonic()
            while left != 0:
                items = source.poll_held(POLL_MAX if left is None else min(left, POLL_MAX))
                if items:
                    yield from self._batches(source, items)
                    source.consume(len(items))
                    came_s = time.monotonic()
                    left = None if left is None else left - len(items)
                    continue
                silent_s = time.monotonic() - came_s
                if source.is_ended or (config.idle_s is not None and silent_s >= config.idle_s):
                    return
                source.wait(WAIT_S)
            self._tell_rest(source)

    def _batches(self, source: StreamReading[Any], items: list[Any]) -> list[Any]:
        """The rows of a poll.

        Raises:
            CodecError: the text says which message does not fit the schema.
        """
        try:
            return batches_of(items, self.codec, self.schema)
        except CodecError:
            for item, (session_id, position) in zip(items, source.held_places(), strict=True):
                try:
                    batches_of([item], self.codec, self.schema)
                except CodecError as error:
                    raise CodecError(
                        f"{WHO}: stream {self.config.stream!r}, session {session_id}, position "
                        f"{position}: {error}",
                        hint="the job fails, and what it has read is gone: give a schema that fits "
                        "all messages, or mend the publisher",
                    ) from error
            raise

    def _tell_rest(self, source: StreamReading[Any]) -> None:
        """Log that the bound leaves messages unread: they were sent, and this job has not them."""
        rest: list[Any] = []
        with contextlib.suppress(RStreamError):  # the job has all that it wants
            rest = source.poll_held(1)  # nobody consumes it, so closing gives it back
        if rest:
            log.warning(
                "%s: stream %r: ends at maxMessages=%d, and more has arrived. In shared memory it "
                "waits for the next reader; over UDP it is lost",
                WHO,
                self.config.stream,
                self.config.messages_max,
            )
