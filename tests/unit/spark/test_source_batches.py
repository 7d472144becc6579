"""Batch reads of the format ``rstream``, and options that are refused in both ways of reading."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.streaming.datasource", reason="reading needs pyspark 4.2")

from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StructType

import rstream
import rstream.spark
from rstream.errors import CodecError, ConfigError, PublisherLost
from rstream.spark import _sink
from rstream.stream._internal import reading_of

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TIMEOUT_S = 20.0
ALL = ReadAllAvailable()
VALUES = StructType().add("value", LongType())


def publisher(directory: str, codec: str = "msgpack", **options: Any) -> Any:
    return rstream.publisher("in", codec=codec, dir=directory, **options)


# ---- batches ----


def read(directory: str, **options: str) -> list[Any]:
    source = _sink.RstreamDataSource({"stream": "in", "driverDir": directory, **options})
    reader = pickle.loads(pickle.dumps(source.reader(VALUES)))
    (part,) = reader.partitions()
    return [row for batch in reader.read(part) for row in batch.to_pylist()]


def send_later(directory: str, count: int, *, closes: bool = True) -> threading.Thread:
    def send() -> None:
        pub = publisher(directory)
        pub.send_many({"value": value} for value in range(count))
        pub.close() if closes else pub.wait_consumed(timeout_s=TIMEOUT_S)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_a_batch_ends_with_the_stream_or_at_its_bound(
    driver_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    with rstream.Driver(dir=driver_dir):
        for options, wanted in (
            ({}, 100),
            ({"maxMessages": "40"}, 40),
            ({"maxMessages": "100"}, 100),
            ({"idleTimeout": "20"}, 100),
        ):
            thread = send_later(driver_dir, 100)
            rows = read(driver_dir, **options)
            assert [row["value"] for row in rows] == list(range(wanted)), options
            assert wanted == 40 or "maxMessages" not in caplog.text
            caplog.clear()
            if wanted == 40:  # what a bound leaves waits for the next reader
                rows = read(driver_dir)
                assert [row["value"] for row in rows] == list(range(40, 100))
            thread.join()
        assert read(driver_dir, idleTimeout="0.2") == []


def test_what_a_bound_leaves_is_logged_and_stays(
    driver_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"stream": "in", "driverDir": driver_dir, "maxMessages": "40"}
    batch_reader: Any = _sink.RstreamDataSource(options).reader(VALUES)
    with rstream.Driver(dir=driver_dir):
        source: Any = rstream.stream.reader("in", codec="msgpack", dir=driver_dir)
        with publisher(driver_dir) as pub:
            pub.send_many([{"value": 1}, {"value": 2}])
            assert source.poll(1)
            batch_reader._tell_rest(reading_of(source))
            assert "stream 'in': ends at maxMessages=40, and more has arrived" in caplog.text
            source.close()
            assert [row["value"] for row in read(driver_dir, maxMessages="1")] == [2]


def test_a_batch_is_not_cut_short_silently(driver_dir: str) -> None:
    with rstream.Driver(dir=driver_dir):
        with publisher(driver_dir) as pub:
            where = rf"'in', session {pub.session_id}, position 128: .*none of the columns"
            threading.Timer(0.1, lambda: pub.send_many([{"value": 1}, {"other": 1}])).start()
            with pytest.raises(CodecError, match=where):
                read(driver_dir)


DYING = """
import os, signal, sys, rstream
with rstream.publisher("in", codec="msgpack", dir=sys.argv[1]) as pub:
    pub.send({"value": 1})
    pub.wait_consumed(timeout_s=10)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_death_of_a_publisher_fails_a_batch(driver_dir: str) -> None:
    with rstream.Driver(dir=driver_dir):
        process = subprocess.Popen([sys.executable, "-c", DYING, driver_dir])
        with pytest.raises(PublisherLost):
            read(driver_dir)
        process.wait(TIMEOUT_S)


# ---- options ----


def test_a_wrong_option_is_raised_by_every_question_but_stop() -> None:
    """PySpark's planner stops a reader behind any error, and fails itself if there is none."""
    reader = _sink.RstreamDataSource({"nme": "in"}).streamReader(VALUES)
    for ask in (
        reader.initialOffset,
        reader.getDefaultReadLimit,
        lambda: reader.latestOffset({}, ALL),
        lambda: reader.partitions({}, {}),
    ):
        with pytest.raises(ConfigError, match='no option "nme"'):
            ask()
    reader.stop()


def test_errors_of_wrong_options_name_the_option(tmp_path: Path) -> None:
    spool = str(tmp_path)
    for options, what in (
        ({}, '"stream" is missing'),
        ({"stream": "in"}, '"spoolDir" is missing'),
        ({"stream": "in", "spoolDir": spool, "spolBytes": "1"}, 'did you mean "spoolbytes"'),
        ({"stream": "in", "spoolDir": spool, "spoolBytes": "0"}, "must be a number above 0"),
        ({"stream": "in", "spoolDir": spool, "onGap": "ignore"}, "must be fail or report"),
        ({"stream": "in", "spoolDir": spool, "codec": "pickle"}, "must be msgpack or arrow or raw"),
        ({"stream": "in", "spoolDir": spool, "codec": "raw"}, "one column of type binary"),
        ({"stream": "in", "spoolDir": spool, "idleTimeout": "1"}, "is for read$"),
    ):
        with pytest.raises(ConfigError, match=what):
            _sink.RstreamDataSource(options).streamReader(VALUES).initialOffset()
    with pytest.raises(ConfigError, match="is for readStream"):
        _sink.RstreamDataSource({"stream": "in", "spoolDir": spool}).reader(VALUES)
    with pytest.raises(ConfigError, match="needs the columns"):
        _sink.RstreamDataSource({"stream": "in", "codec": "arrow"}).schema()
    assert _sink.RstreamDataSource({"stream": "in"}).schema() == "value binary"
    assert _sink.RstreamDataSource({"path": "in"}).reader(VALUES).codec == "msgpack"
    assert not list(tmp_path.iterdir()), "nothing is opened before Spark asks"
