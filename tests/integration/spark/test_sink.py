"""The streaming sink: every row reaches its reader with its marks.

A slow reader slows Spark down; the rows of a failed task are sent again.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]


class Collector:
    """A reading end in this process that keeps every record batch."""

    def __init__(self, name: str, directory: str, delay_s: float = 0.0) -> None:
        import rstream.ray

        self.batches: list[Any] = []
        self.delay_s = delay_s
        self.end = rstream.ray.committed_reader(name, dir=directory, udp=False, term_length=1 << 18)
        self.end.start(self._add)

    def _add(self, batch: Any) -> None:
        time.sleep(self.delay_s)
        self.batches.append(batch)

    def rows(self) -> list[dict[str, Any]]:
        return [row for batch in self.batches for row in batch.to_pylist()]


def write_files(folder: Path, files: int, rows: int) -> None:
    folder.mkdir()
    for number in range(files):
        lines = [
            "key,value",
            *(f"k{value % 7},{value}" for value in range(number * rows, (number + 1) * rows)),
        ]
        (folder / f"{number:03d}.csv").write_text("\n".join(lines))


def start(spark: Any, folder: Path, handles: list[Any], checkpoint: Path, **options: str) -> Any:
    import rstream.spark

    rstream.spark.register(spark)
    stream = (
        spark.readStream.schema("key STRING, value LONG")
        .option("header", "true")
        .option("maxFilesPerTrigger", "1")
    )
    writer = stream.csv(str(folder)).writeStream.format("rstream")
    writer = writer.option("handles", json.dumps([handle.to_text() for handle in handles])).option(
        "partitionBy", "key"
    )
    for name, value in options.items():
        writer = writer.option(name, value)
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()


def test_every_row_reaches_its_reader_with_marks(
    spark_session: Any, driver_dir: str, tmp_path: Path
) -> None:
    import rstream
    from rstream.spark import marks_of

    write_files(tmp_path / "in", files=3, rows=1000)
    began_s = time.time()
    with rstream.Driver(dir=driver_dir):
        readers = [Collector(f"spark-{number}", driver_dir) for number in range(2)]
        query = start(
            spark_session,
            tmp_path / "in",
            [r.end.handle for r in readers],
            tmp_path / "cp",
            rowsPerMessage="100",
        )
        query.awaitTermination()
        for reader in readers:
            reader.end.finish()
            reader.end.close()
    values = Counter(row["value"] for reader in readers for row in reader.rows())
    assert values == Counter(range(3000))
    keys = [{row["key"] for row in reader.rows()} for reader in readers]
    assert not keys[0] & keys[1]
    marks = [marks_of(batch) for reader in readers for batch in reader.batches]
    assert {mark.epoch for mark in marks if mark} == {0, 1, 2}
    assert len({(mark.epoch, mark.partition, mark.sequence) for mark in marks if mark}) == len(
        marks
    )
    assert all(batch.num_rows <= 100 for reader in readers for batch in reader.batches)
    for reader in readers:
        times = [mark.sent_s for mark in map(marks_of, reader.batches) if mark]
        assert times == sorted(set(times)), "each message has its own time, in the order of sending"
        assert began_s < times[0] < times[-1] < time.time()


def test_slow_reader_slows_spark_down(spark_session: Any, driver_dir: str, tmp_path: Path) -> None:
    """A micro-batch has 20 batches of 50 ms each, so it cannot take less than a second."""
    import rstream

    write_files(tmp_path / "in", files=3, rows=1000)
    with rstream.Driver(dir=driver_dir):
        reader = Collector("spark-slow", driver_dir, delay_s=0.05)
        query = start(
            spark_session,
            tmp_path / "in",
            [reader.end.handle],
            tmp_path / "cp",
            rowsPerMessage="50",
            delivery="eager",
        )
        query.awaitTermination()
        progress = [p for p in query.recentProgress if p["numInputRows"]]
        reader.end.finish()
        reader.end.close()
    assert len(reader.rows()) == 3000
    assert all(p["durationMs"]["addBatch"] >= 900 for p in progress), [
        p["durationMs"] for p in progress
    ]


def test_failed_task_sends_its_rows_again_under_another_attempt(
    spark_session: Any, driver_dir: str, tmp_path: Path
) -> None:
    """The reader stalls until the first attempt fails for lack of room; Spark retries the task."""
    import rstream
    from rstream.spark import marks_of

    write_files(tmp_path / "in", files=1, rows=30_000)
    with rstream.Driver(dir=driver_dir):
        gate = threading.Event()
        reader = Collector("spark-retry", driver_dir)
        reader.end.close()
        reader = _Gated("spark-retry", driver_dir, gate)
        query = start(
            spark_session,
            tmp_path / "in",
            [reader.end.handle],
            tmp_path / "cp",
            rowsPerMessage="1000",
            offerTimeout="2",
            delivery="eager",
        )
        assert reader.has_any.wait(60)
        time.sleep(5)  # more than offerTimeout; how long Spark needs to begin does not count
        gate.set()
        query.awaitTermination()
        reader.end.finish()
        reader.end.close()
    attempts = {mark.attempt for mark in map(marks_of, reader.batches) if mark}
    assert len(attempts) >= 2, attempts
    assert {row["value"] for row in reader.rows()} == set(range(30_000))


class _Gated(Collector):
    def __init__(self, name: str, directory: str, gate: threading.Event) -> None:
        self.gate = gate
        self.has_any = threading.Event()
        super().__init__(name, directory)

    def _add(self, batch: Any) -> None:
        self.has_any.set()
        self.gate.wait(60)
        super()._add(batch)


def test_errors_of_wrong_options_name_the_option() -> None:
    from rstream import rate
    from rstream.errors import ConfigError
    from rstream.ray import StreamHandle
    from rstream.spark._options import SinkConfig

    text = StreamHandle(
        name="a", stream_id=7, ipc_channel="aeron:ipc", endpoint="", udp_channel="", host_token="t",
        driver_dir="/dev/shm/none", node="n", codec="arrow", delivery="committed",
    ).to_text()  # fmt: skip
    for options, what in (
        ({}, '"handles" is missing'),
        ({"handles": "nonsense"}, "not a stream handle"),
        ({"handles": text, "delivery": "eager", "ack": "maybe"}, "consumed or sent"),
        ({"handles": text, "ack": "sent"}, "for delivery=eager"),
        ({"handles": text, "delivery": "once"}, "must be committed or eager"),
        ({"handles": text, "routing": "random"}, "must be partition or key or broadcast or work"),
        ({"handles": text, "routing": "work"}, "needs delivery=eager"),
        ({"handles": text, "routing": "key"}, '"partitionBy" is not given'),
        ({"handles": text, "routing": "broadcast", "partitionBy": "a"}, "broadcast"),
        ({"handles": "[]"}, "empty list"),
        ({"handles": text, "partitionBy": "a", "partitionMap": '{"a": 3}'}, "names handle 3"),
        ({"handles": text, "rowsPerMessage": "0"}, "rowspermessage"),
        ({"handles": text, "rate": "fast"}, "option \"rate\" is 'fast'"),
        ({"handles": text, "rate": "10 parrots"}, 'option "rate"'),
        ({"handels": text}, 'no option "handels"; did you mean "handles"'),
        ({"handles": text, "zzz": "1"}, r'no option "zzz"\. The options'),
        ({"handles": text.replace("arrow", "msgpack")}, r"committed_reader\('a'\)"),
        ({"handles": json.dumps([text, text.replace("arrow", "raw")])}, "has the codec raw"),
    ):
        with pytest.raises(ConfigError, match=what):
            SinkConfig.from_options(options)
    assert SinkConfig.from_options({"handles": text}).wait_consumed
    assert SinkConfig.from_options({"handles": text}).rate is None
    sparks = {"queryName": "q", "checkpointLocation": "/c", "path": "/p"}
    assert SinkConfig.from_options({"handles": text, **sparks}).handles == (text,)
    assert SinkConfig.from_options({"handles": text, "rate": "2MB/s"}).rate == rate.Fixed("2MB/s")
    assert SinkConfig.from_options(
        {"handles": text, "Rate": "adaptive,d:5ms"}
    ).rate == rate.Adaptive(target_delay_s=0.005)


def test_a_reader_with_another_codec_is_refused_before_anything_is_sent(
    spark_session: Any, driver_dir: str, tmp_path: Path
) -> None:
    """Spark asks the sink at its first micro-batch: the query ends there, with what to do."""
    import rstream.ray

    write_files(tmp_path / "in", files=1, rows=10)
    with (
        rstream.Driver(dir=driver_dir),
        contextlib.closing(rstream.ray.reader("ticks", dir=driver_dir)) as end,
    ):
        query = start(spark_session, tmp_path / "in", [end.handle], tmp_path / "cp")
        with pytest.raises(Exception, match=r"committed_reader\('ticks'\)") as raised:
            query.awaitTermination()
        assert type(raised.value).__name__ == "StreamingQueryException"
        assert end.statistics()["publishers"] == 0


def test_an_unknown_option_ends_the_query(
    spark_session: Any, driver_dir: str, tmp_path: Path
) -> None:
    import rstream.ray

    write_files(tmp_path / "in", files=1, rows=10)
    with (
        rstream.Driver(dir=driver_dir),
        contextlib.closing(rstream.ray.committed_reader("ticks", dir=driver_dir)) as end,
    ):
        query = start(
            spark_session, tmp_path / "in", [end.handle], tmp_path / "cp", partitonBy="key"
        )
        with pytest.raises(Exception, match='did you mean "partitionby"'):
            query.awaitTermination()


def test_a_retried_task_reaches_a_reader_that_was_opened_anew(
    spark_session: Any, driver_dir: str, tmp_path: Path
) -> None:
    """on_item raises at the first batch. The task hears it at once, not after ``offerTimeout``."""
    import rstream
    from rstream.spark import marks_of

    def broken(batch: Any) -> None:
        raise ValueError("a bug")

    write_files(tmp_path / "in", files=1, rows=100)
    with rstream.Driver(dir=driver_dir):
        reader = Collector("spark-mended", driver_dir)
        reader.end.close()
        reader.end = open_again(reader, driver_dir)
        mended = threading.Event()

        def mend(error: BaseException | None) -> None:
            assert isinstance(error, ValueError)
            reader.end = open_again(reader, driver_dir)
            reader.end.start(reader._add)
            mended.set()

        handle = reader.end.handle
        reader.end.start(broken, on_end=mend)
        query = start(spark_session, tmp_path / "in", [handle], tmp_path / "cp", delivery="eager")
        assert mended.wait(60)
        query.awaitTermination()
        reader.end.finish()
    assert {row["value"] for row in reader.rows()} == set(range(100))
    assert {mark.attempt for mark in map(marks_of, reader.batches) if mark} == {1}


def open_again(reader: Collector, driver_dir: str, name: str = "spark-mended") -> Any:
    """The endpoint of a reader once more, at the same address, as in a Ray actor."""
    import rstream.ray
    from rstream.ray import _open

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_open, "new_stream_id", lambda: reader.end.handle.stream_id)
        return rstream.ray.committed_reader(name, dir=driver_dir, udp=False, term_length=1 << 18)


def test_a_continuous_query_commits_nothing(
    spark_session: Any, driver_dir: str, tmp_path: Path
) -> None:
    """It committed 26 epochs, one a second, and nothing arrived."""
    import rstream.ray
    import rstream.spark

    rstream.spark.register(spark_session)

    with (
        rstream.Driver(dir=driver_dir),
        rstream.ray.committed_reader("continuous", dir=driver_dir) as end,
    ):
        end.start(lambda batch: None)
        rows = spark_session.readStream.format("rate").load()
        query = (
            rows.writeStream.format("rstream")
            .option("handles", end.handle.to_text())
            .option("checkpointLocation", str(tmp_path / "cp"))
            .trigger(continuous="1 second")
            .start()
        )
        with contextlib.suppress(Exception):  # Spark's, if it tells the error of a commit
            query.awaitTermination(5)
        query.stop()
        assert list((tmp_path / "cp" / "commits").glob("[0-9]*")) == []
