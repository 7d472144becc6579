"""The stream readers of the format ``rstream``, asked as Spark asks them, without its Java side."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark.sql.streaming.datasource", reason="reading needs pyspark 4.2")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows
from pyspark.sql.types import BinaryType, LongType, StringType, StructType

import rstream
import rstream.spark
from rstream.errors import CodecError, ConfigError, MessagesLost, StorageError
from rstream.spark import _sink
from rstream.stream._publisher import send_encoded
from tests.support import free_port

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TIMEOUT_S = 20.0
ALL = ReadAllAvailable()
VALUES = StructType().add("value", LongType())


class Query:
    """What Spark does with a query that reads: it plans, runs, logs and commits micro-batches.

    ``log`` is the checkpoint: the offsets of what was planned, and how many are committed.
    """

    def __init__(self, directory: str, folder: Path, **options: str) -> None:
        self.options = {
            "stream": "in",
            "driverDir": directory,
            "spoolDir": str(folder / "spool"),
        } | options
        self.schema = VALUES
        self.log: list[dict[str, Any]] = []
        self.committed = 0
        self.rows: list[Any] = []
        self.reader: Any = None

    def start(self) -> Query:
        source = _sink.RstreamDataSource(dict(self.options))
        self.reader = source.streamReader(self.schema)
        if not self.log:
            self.log.append(self.reader.initialOffset())
        for index in range(self.committed, len(self.log) - 1):  # planned, and not committed
            self.run(index)
        self.reader.reportLatestOffset()
        return self

    def run(self, index: int, *, commits: bool = True) -> int:
        """Run a planned micro-batch; returns the number of its rows."""
        start, end = self.log[index], self.log[index + 1]
        worker = pickle.loads(pickle.dumps(self.reader))
        parts = pickle.loads(pickle.dumps(self.reader.partitions(start, end)))
        got = [row for part in parts for batch in worker.read(part) for row in batch.to_pylist()]
        if commits:
            self.rows += got
            self.committed = index + 1
            self.reader.commit(end)
        return len(got)

    def plan(self, limit: Any = ALL) -> bool:
        """Plan a micro-batch if there are rows for it."""
        end = self.reader.latestOffset(self.log[-1], limit)
        if end == self.log[-1]:
            return False
        self.log.append(end)
        return True

    def step(self, limit: Any = ALL) -> int:
        return self.run(len(self.log) - 2) if self.plan(limit) else 0

    def read_until(self, count: int) -> list[Any]:
        deadline_s = time.monotonic() + TIMEOUT_S
        while len(self.rows) < count and time.monotonic() < deadline_s:
            self.step()
            time.sleep(0.005)
        return [row["value"] for row in self.rows]

    def stop(self) -> None:
        if self.reader is not None:
            self.reader.stop()

    def die(self) -> None:
        """Vanish as a killed process does: nothing is told to the publisher or the spool."""
        feed = self.reader._feed
        feed._closed = True
        feed._spool.wake()
        feed._reader.wake()
        feed._thread.join(TIMEOUT_S)
        feed._reader.close()
        self.reader._spool.close()


def wait_until(is_done: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while not is_done():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


@pytest.fixture
def make_query(driver_dir: str, tmp_path: Path) -> Iterator[Callable[..., Query]]:
    queries: list[Query] = []

    def make(**options: str) -> Query:
        queries.append(Query(driver_dir, tmp_path, **options))
        return queries[-1]

    with rstream.Driver(dir=driver_dir):
        yield make
        for query in queries:
            query.stop()


def publisher(directory: str, codec: str = "msgpack", **options: Any) -> Any:
    return rstream.publisher("in", codec=codec, dir=directory, **options)


def test_a_query_reads_rows_in_order(make_query: Callable[..., Query], driver_dir: str) -> None:
    query = make_query().start()
    with publisher(driver_dir) as pub:
        pub.send_many({"value": value} for value in range(1000))
        assert query.read_until(1000) == list(range(1000))
    assert query.step() == 0
    assert query.reader._spool.length_bytes == 0, "what is committed is freed"


def test_a_restart_loses_and_doubles_nothing(
    make_query: Callable[..., Query], driver_dir: str
) -> None:
    """Stopped between micro-batches, in one that is planned, and with rows that no one asked for.

    The publisher sends on while no one reads, and waits.
    """
    query = make_query().start()
    with publisher(driver_dir) as pub:
        done = threading.Event()

        def send() -> None:
            for value in range(20_000):
                pub.send({"value": value}, timeout_s=TIMEOUT_S)
            done.set()

        thread = threading.Thread(target=send)
        thread.start()
        for number in range(6):
            wait_until(lambda: query.plan(ReadMaxRows(700)))
            is_planned = number % 3 != 0
            if number % 3 != 2:
                query.run(len(query.log) - 2, commits=not is_planned)
            query.die() if number % 2 else query.stop()
            query.start()
        assert query.read_until(20_000) == list(range(20_000))
        assert done.wait(TIMEOUT_S)
        thread.join()


def test_a_message_that_was_stored_and_not_consumed_comes_once(
    make_query: Callable[..., Query], driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between the two; a reader that gives back is what that looks like."""
    query = make_query().start()
    feed, spool = query.reader._feed, query.reader._spool
    add = spool.add

    def die_after_adding(*args: Any) -> None:
        add(*args)
        feed._closed = True

    monkeypatch.setattr(spool, "add", die_after_adding)
    monkeypatch.setattr(feed._reader, "consume", lambda count: None)
    with publisher(driver_dir) as pub:
        pub.send_many({"value": value} for value in range(100))
        wait_until(lambda: feed._closed)
        query.die()
        query.start().step()
        pub.send({"value": 100})
        assert query.read_until(101) == list(range(101))


KILLED = """
import sys, time
from pyspark.sql.types import LongType, StructType
import rstream.spark
from rstream.spark import _sink
from tests.support import free_port
options = {"stream": "in", "driverDir": sys.argv[1], "spoolDir": sys.argv[2]}
reader = _sink.RstreamDataSource(options).streamReader(StructType().add("value", LongType()))
reader.initialOffset()
while True:
    print(reader.reportLatestOffset()["row"], flush=True)
    time.sleep(0.001)
"""


def test_a_process_that_is_killed_loses_and_doubles_nothing(
    make_query: Callable[..., Query], driver_dir: str, tmp_path: Path
) -> None:
    """The messages that it had in hand come again, and the spool has some of them."""
    query = make_query()
    with publisher(driver_dir) as pub:

        def send() -> None:
            for value in range(30_000):
                pub.send({"value": value}, timeout_s=TIMEOUT_S)

        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, driver_dir, query.options["spoolDir"]],
            stdout=subprocess.PIPE,
            text=True,
        )
        thread = threading.Thread(target=send)
        thread.start()
        assert process.stdout is not None
        told = next(int(line) for line in process.stdout if int(line) > 1000)
        process.kill()
        process.wait(TIMEOUT_S)
        process.stdout.close()
        query.start()
        assert query.reader._spool.last >= told
        assert query.read_until(30_000) == list(range(30_000))
        thread.join()


def test_a_full_spool_slows_the_publisher(
    make_query: Callable[..., Query], driver_dir: str
) -> None:
    query = make_query(spoolBytes="100000", codec="raw")
    query.schema = StructType().add("value", BinaryType())
    query.start()
    with publisher(driver_dir, "raw") as pub:
        count = 0
        blocked_s: float | None = None
        while blocked_s is None or time.monotonic() - blocked_s < 0.5:
            if pub.offer(b"x" * 1000) > 0:
                count += 1
                blocked_s = None
                assert count < 20_000, "nothing slows it"
            else:
                blocked_s = blocked_s or time.monotonic()
        spool = query.reader._spool
        assert spool.is_full
        assert spool.length_bytes < 100_000 + 2 * (1 << 20), "the spool has its bound"
        while query.step():
            pass
        assert len(query.read_until(count)) == count
        assert pub.offer(b"x" * 1000) > 0


def test_limits_of_a_micro_batch(make_query: Callable[..., Query], driver_dir: str) -> None:
    query = make_query(maxRowsPerTrigger="30").start()
    assert query.reader.getDefaultReadLimit() == ReadMaxRows(30)
    with publisher(driver_dir) as pub:
        pub.send_many({"value": value} for value in range(100))
        wait_until(lambda: query.reader._spool.last == 100)
    assert [query.step(ReadMaxRows(30)) for _ in range(5)] == [30, 30, 30, 10, 0]
    assert [row["value"] for row in query.rows] == list(range(100))


def test_limits_of_bytes(make_query: Callable[..., Query], driver_dir: str) -> None:
    query = make_query(maxBytesPerTrigger="10000", codec="arrow").start()
    assert query.reader.getDefaultReadLimit() == ReadMaxBytes(10_000)
    batch = pa.RecordBatch.from_pydict({"value": list(range(10_000))})
    with publisher(driver_dir, "arrow") as pub:
        pub.send(batch)
        wait_until(lambda: query.reader._spool.last == 10_000)
    sizes: list[int] = []
    while size := query.step(ReadMaxBytes(10_000)):
        sizes.append(size)
    assert max(sizes) <= 1250, "8 bytes a row"
    assert min(sizes[:-1]) > 1000
    assert [row["value"] for row in query.rows] == list(range(10_000))


def test_a_trigger_for_what_is_there_now_ends(
    make_query: Callable[..., Query], driver_dir: str
) -> None:
    query = make_query()
    with publisher(driver_dir) as pub:
        query.start()
        pub.send_many({"value": value} for value in range(100))
        query.reader.prepareForTriggerAvailableNow()
        pub.send_many({"value": value} for value in range(100, 150))
        wait_until(lambda: query.reader._spool.last == 150)
        assert [query.step(), query.step()] == [100, 0]
        query.stop()
        query.start()
        assert query.read_until(150) == list(range(150))


def lose_some(query: Query, directory: str, pub: Any) -> None:
    """Have another reader take what is sent while the query does not read."""
    query.stop()
    with rstream.subscriber("in", dir=directory) as other:
        pub.send_many({"value": value} for value in range(10, 20))
        assert [other.get(timeout_s=TIMEOUT_S)["value"] for _ in range(10)] == list(range(10, 20))
        assert pub.wait_consumed(timeout_s=TIMEOUT_S)


def test_a_gap_fails_the_query_once(make_query: Callable[..., Query], driver_dir: str) -> None:
    query = make_query().start()
    with publisher(driver_dir) as pub:
        pub.send_many({"value": value} for value in range(10))
        query.read_until(10)
        lose_some(query, driver_dir, pub)
        query.start()
        with pytest.raises(MessagesLost, match="sent while the query did not read") as raised:
            query.read_until(11)
        assert raised.value.gap is not None
        length_bytes = raised.value.gap.length_bytes
        assert length_bytes is not None
        assert length_bytes > 0
        query.stop()
        query.start().step()
        pub.send({"value": 20})
        assert query.read_until(11) == [*range(10), 20]


def test_a_gap_is_reported(
    make_query: Callable[..., Query], driver_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    query = make_query(onGap="report").start()
    with publisher(driver_dir) as pub:
        pub.send_many({"value": value} for value in range(10))
        query.read_until(10)
        lose_some(query, driver_dir, pub)
        query.start().step()
        pub.send({"value": 20})
        assert query.read_until(11) == [*range(10), 20]
    assert "are lost to this query" in caplog.text


def test_another_spool_than_the_checkpoints(
    make_query: Callable[..., Query], driver_dir: str, tmp_path: Path
) -> None:
    query = make_query().start()
    with publisher(driver_dir) as pub:
        pub.send({"value": 1})
        query.read_until(1)
        query.stop()
        query.options["spoolDir"] = str(tmp_path / "other")
        query.start()
        with pytest.raises(ConfigError, match="about another spool") as raised:
            query.step()
        assert "onGap=report" in str(raised.value.hint)
        query.stop()
        query.options["onGap"] = "report"
        query.start().step()
        pub.send({"value": 2})
        assert query.read_until(2) == [1, 2]


def test_a_message_that_does_not_fit_fails_the_query_once(
    make_query: Callable[..., Query], driver_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    query = make_query().start()
    with publisher(driver_dir) as pub:
        pub.send_many([{"value": 1}, {"value": "many"}, {"valeu": 2}, {"value": 3}])
        with pytest.raises(CodecError, match=r"position .*: a message is skipped.*and 1 more"):
            query.read_until(3)
        assert "it has none of the columns value; the publisher sends valeu" in caplog.text
        query.stop()
        query.start().step()
        pub.send({"value": 4})
        assert query.read_until(3) == [1, 3, 4]


def test_a_message_that_cannot_be_read_takes_no_other_one_along(
    make_query: Callable[..., Query], driver_dir: str
) -> None:
    """Those before and behind it in the same poll are stored."""
    pack = rstream.codecs.msgpack().encode
    query = make_query()
    with publisher(driver_dir, connect_timeout_s=None) as pub:
        messages = [pack({"value": 1}), b"\xc1", pack({"value": 2}), b"\xc1", pack({"value": 3})]
        thread = threading.Thread(
            target=lambda: [send_encoded(pub, message, None) for message in messages]
        )
        thread.start()
        failures = 0
        while len(query.rows) < 3:
            assert failures < 3
            query.start()
            try:
                query.read_until(3 if failures else 4)  # the rows come before the failure
            except CodecError:
                failures += 1
                query.stop()
        thread.join()
    assert query.read_until(3) == [1, 2, 3]
    assert failures >= 1


def test_a_stop_takes_what_has_been_sent(
    make_query: Callable[..., Query], driver_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher that closes meanwhile counts on this query, not on the next run."""
    query = make_query().start()
    feed = query.reader._feed
    is_asleep = threading.Event()

    def sleep(seconds: float) -> None:
        is_asleep.set()
        wait_until(lambda: feed._closed)

    with publisher(driver_dir) as pub:
        pub.send({"value": 1})
        assert query.read_until(1) == [1]
        monkeypatch.setattr(feed._reader, "wait", sleep)
        assert is_asleep.wait(TIMEOUT_S)
        pub.send({"value": 2})
        query.stop()
    assert query.start().read_until(2) == [1, 2]
    assert not [event for event in pub.events() if isinstance(event, rstream.stream.Gap)]


@pytest.mark.parametrize("kind", ["schema", "codec"])
def test_a_failure_that_nobody_has_seen_is_told_by_the_next_run(
    make_query: Callable[..., Query], driver_dir: str, kind: str
) -> None:
    """The query is stopped between the message and Spark's next question."""
    query = make_query(onGap="report").start()
    with publisher(driver_dir) as pub, publisher(driver_dir, "raw") as other:
        if kind == "schema":
            pub.send_many([{"value": 1}, {"valeu": 2}])
        else:
            pub.send({"value": 1})
            wait_until(lambda: query.reader._spool.last == 1)
            other.send(b"2")
        wait_until(lambda: query.reader._feed._error is not None)
        query.stop()
        query.start()
        with pytest.raises(CodecError, match=r"session .*\(an earlier run"):
            query.step()
        query.stop()
        query.start().step()
        pub.send({"value": 3})
        assert query.read_until(2) == [1, 3]


def test_another_codec_fails_the_query(make_query: Callable[..., Query], driver_dir: str) -> None:
    query = make_query(codec="arrow").start()
    with publisher(driver_dir) as pub:
        pub.send({"value": 1})
        with pytest.raises(CodecError, match="written with codec msgpack"):
            query.read_until(1)


def test_columns_are_matched_by_name(make_query: Callable[..., Query], driver_dir: str) -> None:
    query = make_query(codec="arrow")
    query.schema = StructType().add("value", LongType()).add("note", StringType())
    query.start()
    with publisher(driver_dir, "arrow") as pub:
        pub.send(pa.RecordBatch.from_pydict({"other": [1.5], "value": pa.array([1], pa.int8())}))
        pub.send(pa.RecordBatch.from_pydict({"note": ["a", "b"], "value": [2, 3]}))
        pub.send(pa.RecordBatch.from_pydict({"note": pa.array([], pa.string())}))
        assert query.read_until(3) == [1, 2, 3]
    assert [row["note"] for row in query.rows] == [None, "a", "b"]


@pytest.mark.parametrize("tasks", ["local", "anywhere"])
def test_tasks_on_another_host(
    make_query: Callable[..., Query],
    driver_dir: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tasks: str,
) -> None:
    """There the spool's file is not."""
    query = make_query(tasks=tasks, codec="arrow", maxRowsPerTrigger="30").start()
    with publisher(driver_dir, "arrow") as pub:
        for begin in range(0, 100, 10):
            pub.send(pa.RecordBatch.from_pydict({"value": list(range(begin, begin + 10))}))
        wait_until(lambda: query.reader._spool.last == 100)
    query.plan(ReadMaxRows(25))
    parts = pickle.dumps(query.reader.partitions(*query.log))
    worker = pickle.loads(pickle.dumps(query.reader))
    query.stop()
    (tmp_path / "spool").rename(tmp_path / "elsewhere")
    if tasks == "local":
        with pytest.raises(StorageError, match="tasks=anywhere"):
            [list(worker.read(part)) for part in pickle.loads(parts)]
        return
    got = [
        row["value"]
        for part in pickle.loads(parts)
        for batch in worker.read(part)
        for row in batch.to_pylist()
    ]
    assert got == list(range(25))


def test_over_udp_nothing_is_lost_silently(
    make_query: Callable[..., Query], driver_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is on its way when the query stops is lost there, and told."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    query = make_query(channel=channel, onGap="report").start()
    with publisher(driver_dir, channel=channel) as pub:

        def send() -> None:
            for value in range(50_000):
                pub.send({"value": value}, timeout_s=TIMEOUT_S)

        thread = threading.Thread(target=send)
        thread.start()
        query.read_until(1000)
        query.stop()
        assert "lost" not in caplog.text
        query.start()
        deadline_s = time.monotonic() + TIMEOUT_S
        while not query.rows or query.rows[-1]["value"] < 49_999:
            assert time.monotonic() < deadline_s
            query.step()
        thread.join()
    values = [row["value"] for row in query.rows]
    assert values == sorted(set(values))
    assert (len(values) == 50_000) == ("are lost to this query" not in caplog.text)
