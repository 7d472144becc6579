"""Spark reads streams: each row is in one micro-batch, whatever fails; batches end.

What needs no Spark is in ``tests/unit/spark``.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
]

TIMEOUT_S = 60.0
ROWS = 1200


@pytest.fixture
def spark(spark_session: Any, driver_dir: str) -> Iterator[Any]:
    import rstream
    import rstream.spark

    rstream.spark.register(spark_session)
    with rstream.Driver(dir=driver_dir):
        yield spark_session


class Sender:
    """A publisher that sends rows from a thread, as fast as it may."""

    def __init__(self, directory: str, rows: int) -> None:
        import rstream

        self.pub = rstream.publisher("ticks", dir=directory, connect_timeout_s=None)
        self.rows = rows
        self.sent = 0
        self.thread = threading.Thread(target=self._send, daemon=True)
        self.thread.start()

    def _send(self) -> None:
        from rstream.errors import ClosedError

        with contextlib.suppress(ClosedError):  # the test has seen enough
            for value in range(self.rows):
                self.pub.send({"value": value, "symbol": f"s{value % 7}"}, timeout_s=TIMEOUT_S)
                self.sent = value + 1
        self.pub.close()


def stream(spark: Any, directory: str, folder: Path, **options: str) -> Any:
    reader = spark.readStream.format("rstream").schema("symbol STRING, value LONG")
    for name, value in {
        "stream": "ticks",
        "driverDir": directory,
        "spoolDir": str(folder / "spool"),
        **options,
    }.items():
        reader = reader.option(name, value)
    return reader.load()


class Batches:
    """A sink that keeps micro-batches by their number, and fails when it is told to."""

    def __init__(self) -> None:
        self.by_epoch: dict[int, list[int]] = {}
        self.failing: set[int] = set()

    def __call__(self, df: Any, epoch: int) -> None:
        values = [row.value for row in df.collect()]
        if epoch in self.failing:
            self.failing.remove(epoch)
            raise RuntimeError("a fault in the sink")
        assert self.by_epoch.setdefault(epoch, values) == values, "a replay has the same rows"

    @property
    def values(self) -> list[int]:
        return [value for epoch in sorted(self.by_epoch) for value in self.by_epoch[epoch]]

    def await_rows(self, count: int, query: Any) -> None:
        deadline_s = time.monotonic() + TIMEOUT_S
        while len(self.values) < count and query.isActive:
            assert time.monotonic() < deadline_s, len(self.values)
            time.sleep(0.02)


def test_a_restart_from_a_checkpoint_loses_and_doubles_nothing(
    spark: Any, driver_dir: str, tmp_path: Path
) -> None:
    """The query fails in one micro-batch, is stopped in a later one, and goes on each time."""
    batches = Batches()
    batches.failing = {1}
    sender = Sender(driver_dir, ROWS)
    rows = stream(spark, driver_dir, tmp_path, maxRowsPerTrigger="400")

    def start() -> Any:
        return (
            rows.writeStream.foreachBatch(batches)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )

    with pytest.raises(Exception, match="a fault in the sink"):
        start().awaitTermination(TIMEOUT_S)
    query = start()
    batches.await_rows(500, query)
    query.stop()
    query = start()
    batches.await_rows(ROWS, query)
    query.stop()
    sender.thread.join(TIMEOUT_S)
    assert batches.values == list(range(ROWS))
    assert max(map(len, batches.by_epoch.values())) <= 400


def test_a_slow_query_slows_the_publisher(spark: Any, driver_dir: str, tmp_path: Path) -> None:
    """What is there now is processed, and the query ends; then nobody reads."""
    batches = Batches()
    sender = Sender(driver_dir, 200_000)
    rows = stream(spark, driver_dir, tmp_path, spoolBytes="200000")
    writer = rows.writeStream.foreachBatch(batches).option(
        "checkpointLocation", str(tmp_path / "checkpoint")
    )
    writer.trigger(availableNow=True).start().awaitTermination(TIMEOUT_S)
    assert 0 < len(batches.values) <= sender.sent < sender.rows
    assert batches.values == list(range(len(batches.values)))
    stopped_at = sender.sent
    time.sleep(0.3)
    assert sender.sent - stopped_at < 20_000, "the window of the publisher, and no more"
    sender.pub.close(linger_s=0)
    sender.thread.join(TIMEOUT_S)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("spolBytes", 'did you mean "spoolbytes"'),
        ("spoolBytes", "must be a number above 0"),
    ],
)
def test_a_wrong_option_ends_the_query(
    spark: Any, driver_dir: str, tmp_path: Path, option: str, text: str
) -> None:
    """With our text, not with an error of PySpark's planner."""
    rows = stream(spark, driver_dir, tmp_path, **{option: "0"})
    with pytest.raises(Exception, match=text) as raised:
        rows.writeStream.foreachBatch(Batches()).option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        ).start().awaitTermination(TIMEOUT_S)
    assert "UnboundLocalError" not in str(raised.value)


def test_a_batch_ends_with_the_stream(spark: Any, driver_dir: str) -> None:
    sender = Sender(driver_dir, ROWS)
    df = (
        spark.read.format("rstream")
        .schema("value LONG")
        .option("driverDir", driver_dir)
        .load("ticks")
    )
    assert [row.value for row in df.collect()] == list(range(ROWS))
    sender.thread.join(TIMEOUT_S)
