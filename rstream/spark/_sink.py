"""The format ``rstream``: Arrow batches from Spark's Python workers into rstream.

Spark plans a micro-batch, or a batch job. For each of its partitions a Python worker calls
``write`` with an iterator of ``pyarrow.RecordBatch``; :mod:`rstream.spark._task` sends them and
waits while readers have no room. So the task waits, and Spark plans the next micro-batch later:
that is the whole back-pressure. A process of its own then calls ``commit`` with what the tasks
returned. Nothing in memory is shared between them.

With committed delivery ``write`` returns when its rows are staged at the readers, and ``commit``
has them released. A retried task stages its rows under a key of its own, and the commit names the
one that counts. When an epoch is replayed, readers that had committed it say so at its begin.

``commit`` never waits for consumers: Spark could not be stopped meanwhile. An epoch's ``begin``
waits until readers have consumed the epoch before the last one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib
import uuid
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    WriterCommitMessage,
)

from rstream.errors import ConfigError, RStreamError
from rstream.spark import _commit, _ends, _task
from rstream.spark._elements import RAW_SCHEMA
from rstream.spark._options import SinkConfig
from rstream.spark._source_options import SourceConfig

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from pyspark.sql.datasource import DataSourceReader
    from pyspark.sql.types import StructType

SOURCE_NAME = "rstream"
#: A property of tasks of continuous processing alone.
CONTINUOUS: Final = "__continuous_start_epoch"
NO_CONTINUOUS: Final = (
    "trigger(continuous=...) cannot be used: use trigger(processingTime=...), "
    "trigger(availableNow=True) or none"
)


@dataclasses.dataclass
class TaskCommit(WriterCommitMessage):
    """What Spark carries from a task to the commit."""

    report: _task.TaskReport


class RstreamDataSource(DataSource):
    """``format("rstream")`` of ``write``, ``writeStream``, ``read`` and ``readStream``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(…)``."""
        return SOURCE_NAME

    def schema(self) -> str:
        """The columns of a reader without ``schema(…)``; its messages are bytes."""
        codec = self.options.get("codec", "raw").lower()
        if codec in ("arrow", "msgpack"):
            raise ConfigError(
                f"rstream source: codec={codec} needs the columns: give them with "
                '.schema("px DOUBLE, symbol STRING")'
            )
        return RAW_SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Spark calls this once per query, and once more for each plan of a micro-batch."""
        try:
            config = SourceConfig.from_options(dict(self.options), is_stream=True)
            return _source().StreamReader(config, schema)
        except ConfigError as error:
            return RefusedReader(error)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Spark calls this once per job."""
        config = SourceConfig.from_options(dict(self.options), is_stream=False)
        return _source().BatchReader(config, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Spark calls this once per micro-batch, and once more in the process that commits."""
        return StreamWriter(SinkConfig.from_options(dict(self.options)))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Spark calls this once per job, and pickles the writer to whoever commits."""
        if overwrite:
            raise ConfigError('rstream sink: a stream cannot be overwritten: use mode("append")')
        return BatchWriter(SinkConfig.from_options(dict(self.options)))


def _source() -> Any:
    """The module of the readers, for which older releases of Spark have not what it needs."""
    try:
        return importlib.import_module("rstream.spark._source")
    except ImportError as error:
        raise ConfigError(f"rstream source: reading needs pyspark 4.2 or newer: {error}") from error


class RefusedReader(DataSourceStreamReader):
    """Raises a wrong option at Spark's first question.

    Spark's process stops the reader behind any error, also one that made it have no reader
    (PySpark 4.3): then the user sees the ``UnboundLocalError`` of that stop.
    """

    def __init__(self, error: ConfigError) -> None:
        self._error = error

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise self._error

    getDefaultReadLimit = initialOffset = latestOffset = partitions = read = commit = _refuse

    def stop(self) -> None:
        """Nothing is open."""


class StreamWriter(DataSourceStreamArrowWriter):
    """The writer of one micro-batch. Spark pickles it to the workers, which call ``write``."""

    def __init__(self, config: SinkConfig) -> None:
        self.config = config
        # New for each planned micro-batch: a replayed epoch differs from its first run.
        self.token = uuid.uuid4().hex

    def write(self, iterator: Iterator[Any]) -> TaskCommit:
        """Send the batches of a partition."""
        context = task_context()
        query = context.getLocalProperty("sql.streaming.queryId") or _query_of(self.config)
        epoch = int(context.getLocalProperty("streaming.sql.batchId") or -1)
        origin = origin_of(context, query=query, epoch=epoch, token=self.token)
        return TaskCommit(_task.run(self.config, origin, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Have the readers release the rows; ends by ``commitTimeout``."""
        reports = reports_to_commit(messages)
        if self.config.is_committed:
            with _last_work():
                _commit.commit(self.config, reports, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Have the readers drop the rows; with eager delivery they have them already."""
        reports = _reports(messages)
        if self.config.is_committed and reports:  # else the next run of the query drops them
            run = reports[0].origin
            with _last_work():
                _commit.abort(self.config, query=run.query, epoch=batchId, token=run.token)


class BatchWriter(DataSourceArrowWriter):
    """The writer of one batch job; Spark pickles it to the workers and to whoever commits."""

    def __init__(self, config: SinkConfig) -> None:
        self.config = config
        self.token = uuid.uuid4().hex

    def write(self, iterator: Iterator[Any]) -> TaskCommit:
        """Send the batches of a partition."""
        origin = batch_origin(task_context(), self.token)
        return TaskCommit(_task.run(self.config, origin, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Have the readers release the rows."""
        reports = reports_to_commit(messages)
        if self.config.is_committed:
            with _last_work():
                _commit.commit(self.config, reports, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Have the readers drop the rows."""
        if self.config.is_committed:
            with _last_work():
                _commit.abort(
                    self.config, query=_task.batch_query(self.token), epoch=0, token=self.token
                )


@contextlib.contextmanager
def _last_work() -> Generator[None, None, None]:
    """The process that commits ends after it, without ``atexit``."""
    try:
        yield
    finally:
        _ends.close_ends()


def _reports(messages: Sequence[WriterCommitMessage | None]) -> list[_task.TaskReport]:
    return [message.report for message in messages if isinstance(message, TaskCommit)]


def reports_to_commit(messages: Sequence[WriterCommitMessage | None]) -> list[_task.TaskReport]:
    """The reports of all tasks, of which Spark runs one at least for any micro-batch.

    Raises:
        RStreamError: one is missing: the commit would leave its rows out without a word.
    """
    reports = _reports(messages)
    if not messages or len(reports) < len(messages):
        raise RStreamError(
            f"rstream sink: Spark commits with the reports of {len(reports)} of {len(messages)} "
            f"tasks, so nothing says which rows count; {NO_CONTINUOUS}"
        )
    return reports


def task_context() -> TaskContext:
    """The context of the task that runs here.

    Raises:
        ConfigError: it is one of continuous processing, in which Spark hands no reports on.
    """
    context = TaskContext.get()
    if context is None:
        raise RStreamError("rstream sink: write() runs outside a Spark task")
    if context.getLocalProperty(CONTINUOUS):
        raise ConfigError(f"rstream sink: {NO_CONTINUOUS}")
    return context


def origin_of(context: TaskContext, *, query: str, epoch: int, token: str) -> _task.Origin:
    """Who sends, as readers learn it."""
    return _task.Origin(
        query=query,
        epoch=epoch,
        partition=context.partitionId(),
        attempt=context.attemptNumber(),
        task_attempt=context.taskAttemptId(),
        token=token,
    )


def batch_origin(context: TaskContext, token: str) -> _task.Origin:
    """Who sends in a batch job, which is no query: each one is a stream of its own."""
    return origin_of(context, query=_task.batch_query(token), epoch=0, token=token)


def _query_of(config: SinkConfig) -> str:
    """A name of the query where Spark tells none: the checkpoint's place."""
    digest = hashlib.sha256(config.checkpoint.encode()).hexdigest()
    return f"checkpoint-{digest[:32]}"
