"""Committed delivery with Spark: whatever fails, each row is handed out once."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.spark.test_sink import Collector, open_again, write_files

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]

TIMEOUT_S = 30.0


class Stage:
    """A reader, a folder of files, and queries that stream them to the reader."""

    def __init__(self, spark: Any, directory: str, folder: Path) -> None:
        import rstream.spark
        from tests.integration.spark.faults import FaultySource

        rstream.spark.register(spark)
        spark.dataSource.register(FaultySource)
        self.spark, self.directory, self.folder = spark, directory, folder
        self.faults = folder / "faults"
        self.faults.mkdir()
        self.reader = Collector("committed", directory)

    def start(self, checkpoint: str = "cp", **options: str) -> Any:
        """Stream what is new, with the faults of the folder."""
        writer = (
            self.spark.readStream.schema("key STRING, value LONG")
            .option("header", "true")
            .option("maxFilesPerTrigger", "1")
            .csv(str(self.folder / "in"))
            .writeStream.format("rstream-faults")
            .option("handles", self.reader.end.handle.to_text())
            .option("faultDir", str(self.faults))
            .option("checkpointLocation", str(self.folder / checkpoint))
        )
        for name, value in options.items():
            writer = writer.option(name, value)
        return writer.trigger(availableNow=True).start()

    def run(self, checkpoint: str = "cp", **options: str) -> None:
        self.start(checkpoint, **options).awaitTermination()

    def plan(self, fault: str) -> None:
        (self.faults / fault).touch()

    def wait_for_fault(self, fault: str) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while not (self.faults / f"{fault}.done").exists():
            assert time.monotonic() < deadline_s, fault
            time.sleep(0.01)

    def values(self, count: int) -> Counter[int]:
        """The rows that the reader got; waits until there are so many."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while len(self.reader.rows()) < count and time.monotonic() < deadline_s:
            time.sleep(0.01)
        return Counter(row["value"] for row in self.reader.rows())


@pytest.fixture
def stage(spark_session: Any, driver_dir: str, tmp_path: Path) -> Iterator[Stage]:
    import rstream

    write_files(tmp_path / "in", files=2, rows=500)
    with rstream.Driver(dir=driver_dir):
        stage = Stage(spark_session, driver_dir, tmp_path)
        yield stage
        with contextlib.suppress(TimeoutError):
            stage.reader.end.close()


def test_a_worker_that_is_killed_mid_stream_leaves_nothing(stage: Stage) -> None:
    stage.plan("kill")
    stage.run()
    assert not (stage.faults / "kill").exists()
    assert stage.values(1000) == Counter(range(1000))
    assert stage.reader.end.statistics()["staged_bytes"] == 0


def test_a_task_attempted_twice_counts_once(stage: Stage) -> None:
    stage.plan("fail")
    stage.run()
    assert not (stage.faults / "fail").exists()
    assert stage.values(1000) == Counter(range(1000))


def test_a_micro_batch_that_is_replayed_is_written_once(stage: Stage) -> None:
    """Spark's driver dies between the commit and its own log: the commit raises after its work."""
    stage.plan("fail-commit")
    with pytest.raises(Exception, match="a fault after the commit"):
        stage.run()
    stage.run()
    assert stage.values(1000) == Counter(range(1000))
    assert stage.reader.end.statistics()["repeated_epochs"] >= 1


def test_a_lost_commit_log_is_a_replay_too(stage: Stage) -> None:
    stage.run()
    (stage.folder / "cp" / "commits" / "1").unlink()
    (stage.folder / "cp" / "commits" / ".1.crc").unlink(missing_ok=True)
    stage.run()
    assert stage.values(1000) == Counter(range(1000))
    assert stage.reader.end.statistics()["repeated_epochs"] >= 1


def test_a_new_checkpoint_is_a_new_stream(stage: Stage) -> None:
    stage.run()
    stage.run(checkpoint="other")
    assert stage.values(2000) == Counter([*range(1000), *range(1000)])


def test_a_reader_that_restarts_before_the_commit_gets_the_replay(stage: Stage) -> None:
    stage.plan("wait-commit")
    query = stage.start(commitTimeout="2")
    stage.wait_for_fault("wait-commit")
    stage.reader.end.close()
    assert stage.reader.rows() == []
    first, stage.reader = stage.reader, Collector("other", stage.directory)
    stage.reader.end.close()
    stage.reader.end = open_again(first, stage.directory, "committed")
    stage.reader.end.start(stage.reader._add)
    (stage.faults / "go").touch()
    with pytest.raises(Exception, match=r"does not answer 'commit'|nothing is staged"):
        query.awaitTermination()
    stage.run()
    assert stage.values(1000) == Counter(range(1000))


def test_a_dead_reader_is_named(stage: Stage) -> None:
    stage.reader.end.close()
    with pytest.raises(Exception, match="committed"):
        stage.run(offerTimeout="1", commitTimeout="1")


def test_batch_write_and_send(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    import rstream.spark

    spark, handle = stage.spark, stage.reader.end.handle
    rows = spark.range(0, 5000, numPartitions=3).selectExpr("id AS value", "concat('k', id) AS key")
    rows.write.format("rstream").option("handles", handle.to_text()).mode("append").save()
    assert stage.values(5000) == Counter(range(5000))
    sent = rstream.spark.send(rows.selectExpr("value + 5000 AS value", "key"), handle)
    assert (sent.rows, sent.partitions, sent.is_repeated) == (5000, 3, False)
    assert stage.values(10_000) == Counter(range(10_000))
    assert {row["key"] for row in stage.reader.rows()} == {f"k{n}" for n in range(5000)}
    with monkeypatch.context() as patch:
        patch.setattr("rstream.spark._frames._arrow_batch_rdd", lambda df: None)
        sent = rstream.spark.send(rows.selectExpr("value + 10000 AS value", "key"), handle)
    assert (sent.rows, sent.partitions) == (5000, 3)
    assert stage.values(15_000) == Counter(range(15_000))
    with pytest.raises(Exception, match="cannot be overwritten"):
        rows.write.format("rstream").option("handles", handle.to_text()).mode("overwrite").save()


def test_a_batch_job_that_fails_leaves_nothing_staged(stage: Stage) -> None:
    """Otherwise each failed one takes room at the reader until good ones are refused."""
    import rstream.spark

    handle = stage.reader.end.handle
    good = stage.spark.range(0, 3000, numPartitions=2).selectExpr("id AS value", "'k' AS key")
    bad = good.selectExpr("IF(value = 2900, raise_error('boom'), value) AS value", "key")
    options = {"handles": handle.to_text(), "rowsPerMessage": "100"}
    with pytest.raises(Exception, match="boom"):
        bad.write.format("rstream").options(**options).mode("append").save()
    assert stage.reader.end.statistics()["staged_attempts"] == 0
    with pytest.raises(Exception, match="boom"):
        rstream.spark.send(bad, handle, rowsPerMessage=100)
    assert stage.reader.end.statistics()["staged_attempts"] == 0
    rstream.spark.send(good, handle)
    assert stage.values(3000) == Counter(range(3000))


def test_foreach_batch_recognises_a_replay(stage: Stage) -> None:
    import rstream.spark

    def start() -> Any:
        return (
            stage.spark.readStream.schema("key STRING, value LONG")
            .option("header", "true")
            .option("maxFilesPerTrigger", "1")
            .csv(str(stage.folder / "in"))
            .writeStream.foreachBatch(rstream.spark.foreach_batch(stage.reader.end.handle))
            .option("checkpointLocation", str(stage.folder / "cp"))
            .trigger(availableNow=True)
            .start()
        )

    start().awaitTermination()
    (stage.folder / "cp" / "commits" / "1").unlink()
    (stage.folder / "cp" / "commits" / ".1.crc").unlink(missing_ok=True)
    start().awaitTermination()
    assert stage.values(1000) == Counter(range(1000))
    assert stage.reader.end.statistics()["repeated_epochs"] >= 1
