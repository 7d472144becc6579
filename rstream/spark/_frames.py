"""Data frames from the program that drives Spark: ``send`` and ``foreach_batch``.

Spark's Java side can make Arrow record batches and hand their bytes to Python workers as they are
(``toArrowBatchRdd``): no Python code touches a row. That is private to Spark and not there with
Spark Connect; then ``mapInArrow`` does the same, only slower.
"""

# pyspark's private parts have no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false

from __future__ import annotations

import dataclasses
import importlib
import json
import logging
import pickle
import uuid
from typing import TYPE_CHECKING, Any

from rstream._checks import short
from rstream.errors import ConfigError, RStreamError
from rstream.ray._internal import handles_of
from rstream.spark import _commit, _task
from rstream.spark._options import SinkConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from rstream.ray._internal import StreamHandle

log = logging.getLogger("rstream")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What :func:`send` has sent.

    Attributes:
        rows, messages, bytes_sent: how much; of a broadcast once.
        partitions: tasks that sent.
        blocked_s: seconds that they waited for readers, all together.
        is_repeated: the readers had committed the epoch before, and it was not sent again.
    """

    rows: int
    messages: int
    bytes_sent: int
    partitions: int
    blocked_s: float
    is_repeated: bool


def send(df: DataFrame, handles: StreamHandle | Sequence[StreamHandle], **options: Any) -> Sent:
    """Send the rows of a data frame to readers, as a batch job of Spark.

    With committed delivery the readers hand out its rows when it has ended well, and none if it
    fails. Called again it sends again. It blocks while the readers have no room.

    Args:
        df: the rows.
        handles: of :func:`rstream.ray.committed_reader`; with ``delivery="eager"`` also of a reader
            with ``codec="arrow"``.
        options: of the sink, as :data:`rstream.spark.OPTIONS` names them.
    Raises:
        ConfigError: an option is wrong or unknown, or a reader takes no record batches.
        RStreamError: the rows are sent, and cannot be committed.
        TypeError: ``df`` is no data frame of Spark.
        Exception: of Spark, whose text has the error of the task.

    Example::

        sent = rstream.spark.send(df, handle, routing="partition")
        print(sent.rows)
    """
    config = _config(handles, options)
    _check_frame("rstream.spark.send", df)
    token = uuid.uuid4().hex
    return _run(df, config, JobRun(query=_task.batch_query(token), epoch=0, token=token))


def foreach_batch(
    handles: StreamHandle | Sequence[StreamHandle], **options: Any
) -> Callable[[DataFrame, int], None]:
    """A function for ``writeStream.foreachBatch`` that sends each micro-batch.

    It is faster than the format ``rstream`` and means the same: an epoch that Spark replays is
    recognised by the readers that have committed it.

    Args:
        handles, options: as for :func:`send`.
    Raises:
        ConfigError: an option is wrong or unknown, or a reader takes no record batches.

    Example::

        query = (rows.writeStream.foreachBatch(rstream.spark.foreach_batch(handle))
            .option("checkpointLocation", folder).start())
    """
    config = _config(handles, options)

    def send_epoch(df: DataFrame, epoch: int) -> None:
        _check_frame("the function of foreach_batch", df)
        query = df.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        if not query:
            raise RStreamError(
                "rstream sink: Spark does not say which query this micro-batch belongs to; call "
                "the function of foreach_batch only from writeStream.foreachBatch, and use "
                "rstream.spark.send for a batch"
            )
        _run(df, config, JobRun(query=query, epoch=epoch, token=uuid.uuid4().hex))

    return send_epoch


def _check_frame(where: str, df: object) -> None:
    if isinstance(df, type) or not callable(getattr(df, "mapInArrow", None)):
        raise TypeError(
            f"{where}: {short(df)} is no data frame of Spark; make one of a table or a list of "
            "rows: session.createDataFrame(rows)"
        )


def _config(handles: StreamHandle | Sequence[StreamHandle], options: dict[str, Any]) -> SinkConfig:
    given = handles_of(handles)
    texts = {
        name: json.dumps(value) if isinstance(value, dict) else str(value)
        for name, value in options.items()
    }
    if any(name.lower() == "handles" for name in texts):
        raise ConfigError("the handles are the second argument; leave out handles=")
    return SinkConfig.from_options(
        texts | {"handles": json.dumps([handle.to_text() for handle in given])}
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """What the tasks of one job share."""

    query: str
    epoch: int
    token: str


def _run(df: DataFrame, config: SinkConfig, run: JobRun) -> Sent:
    make_rdd = _arrow_batch_rdd(df)
    try:
        reports = (
            _through_map(df, config, run)
            if make_rdd is None
            else _through_rdd(df, make_rdd, config, run)
        )
        if config.is_committed:
            if not reports:  # a data frame without a partition
                origin = _task.Origin(
                    query=run.query, epoch=run.epoch, partition=0, attempt=0, task_attempt=0,
                    token=run.token,
                )  # fmt: skip
                reports = [_task.run(config, origin, ())]
            _commit.commit(config, reports, run.epoch)
    except BaseException:
        if config.is_committed:
            _commit.abort(config, query=run.query, epoch=run.epoch, token=run.token)
        raise
    return Sent(
        rows=sum(report.rows for report in reports),
        messages=sum(report.messages for report in reports),
        bytes_sent=sum(report.bytes_sent for report in reports),
        partitions=len(reports),
        blocked_s=sum(report.blocked_s for report in reports),
        is_repeated=any(report.repeated for report in reports),
    )


def _arrow_batch_rdd(df: DataFrame) -> Callable[[], Any] | None:
    """What makes Arrow's bytes on Spark's Java side; None: this Spark has no such thing."""
    return getattr(getattr(df, "_jdf", None), "toArrowBatchRdd", None)


def _through_map(df: DataFrame, config: SinkConfig, run: JobRun) -> list[_task.TaskReport]:
    """Run a job whose tasks send, by Spark's public interface; it takes three times as long."""
    rows: Any = df.mapInArrow(MapWork(config, run), "report binary").collect()
    return [pickle.loads(row.report) for row in rows]


def _through_rdd(
    df: DataFrame, make_rdd: Callable[[], Any], config: SinkConfig, run: JobRun
) -> list[_task.TaskReport]:
    """Run a job whose tasks send, and return their reports."""
    rdd: Any = importlib.import_module("pyspark.core.rdd")
    serializers: Any = importlib.import_module("pyspark.serializers")
    schema = _arrow_schema(df)
    work = PartitionWork(config, run, schema.serialize().to_pybytes())
    context = df.sparkSession.sparkContext
    batches: Any = rdd.RDD(make_rdd().toJavaRDD(), context, serializers.NoOpSerializer())
    return list(batches.mapPartitions(work).collect())


def _arrow_schema(df: DataFrame) -> Any:
    """The schema of the record batches that Spark's Java side makes."""
    from pyspark.sql.pandas.types import to_arrow_schema

    session: Any = df.sparkSession
    large = session.conf.get("spark.sql.execution.arrow.useLargeVarTypes") == "true"
    zone = session.conf.get("spark.sql.session.timeZone")
    return to_arrow_schema(df.schema, timezone=zone, prefers_large_types=large)


@dataclasses.dataclass(frozen=True, slots=True)
class PartitionWork:
    """What a task does with the bytes of its partition; pickled to the workers."""

    config: SinkConfig
    run: JobRun
    schema: bytes

    def __call__(self, messages: Iterable[bytes]) -> Iterator[_task.TaskReport]:
        pa: Any = importlib.import_module("pyarrow")
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        batches = (pa.ipc.read_record_batch(pa.py_buffer(one), schema) for one in messages)
        yield _send(self.config, self.run, batches)


@dataclasses.dataclass(frozen=True, slots=True)
class MapWork:
    """What a task does with the record batches of its partition; pickled to the workers."""

    config: SinkConfig
    run: JobRun

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        pa: Any = importlib.import_module("pyarrow")
        report = _send(self.config, self.run, batches)
        yield pa.record_batch({"report": pa.array([pickle.dumps(report)], pa.binary())})


def _send(config: SinkConfig, run: JobRun, batches: Iterable[Any]) -> _task.TaskReport:
    from rstream.spark._sink import origin_of, task_context

    origin = origin_of(task_context(), query=run.query, epoch=run.epoch, token=run.token)
    return _task.run(config, origin, (batch for batch in batches if batch.num_rows))
