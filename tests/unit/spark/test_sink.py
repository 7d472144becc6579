"""What the sink refuses before or instead of a loss; without Spark's processes."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="Spark is not installed")
pytest.importorskip("pyarrow", reason="Arrow is not installed")

from rstream.errors import ConfigError, RStreamError
from rstream.ray import StreamHandle
from rstream.spark import _sink, foreach_batch, register, send
from rstream.spark._options import SinkConfig


def handle(number: int = 1, **fields: Any) -> StreamHandle:
    return StreamHandle(
        name=f"rows-{number}", stream_id=-number, ipc_channel="aeron:ipc", endpoint="",
        udp_channel="", host_token="h", driver_dir="/d", node="n", codec="arrow",
        **{"delivery": "committed", **fields},
    )  # fmt: skip


def options(*handles: StreamHandle, **more: str) -> dict[str, str]:
    return {"handles": json.dumps([one.to_text() for one in handles])} | more


# ---- handles ----


def test_a_handle_twice_is_refused_by_every_way_into_the_sink() -> None:
    """The reader took the second commit for a repeated one, and dropped half of the rows."""
    twice = "handles 0 and 2 of the list"
    one, other = handle(1), handle(2)
    with pytest.raises(ConfigError, match=twice):
        SinkConfig.from_options(options(one, other, one))
    with pytest.raises(ConfigError, match=twice):
        send(None, [one, other, one])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=twice):
        foreach_batch([one, other, handle(1, actor_id="ab")])
    assert len(SinkConfig.from_options(options(one, other)).handles) == 2


@pytest.mark.parametrize("text", ["[1]", "[null]", "[", '["rstream://"]'])
def test_what_is_no_handle_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="handle"):
        SinkConfig.from_options({"handles": text})


@pytest.mark.parametrize("given", [None, "x", [], [{"a": 1}], SimpleNamespace], ids=repr)
def test_what_is_no_data_frame_and_no_session_is_named(given: Any) -> None:
    for call in (lambda df: send(df, handle()), lambda df: foreach_batch(handle())(df, 0)):
        with pytest.raises(TypeError, match=r"no data frame of Spark; .*createDataFrame\(rows\)"):
            call(given)
    with pytest.raises(TypeError, match=r"no session of Spark; .*getOrCreate\(\)"):
        register(given)


# ---- routes ----


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ('{"AA": 1}', "names handle 1, there are 1"),
        ('{"AA": "0"}', "give a JSON object"),
        ('["AA"]', "give a JSON object"),
        ("AA=0", "is no JSON"),
    ],
)
def test_a_wrong_partition_map_is_explained(given: str, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        SinkConfig.from_options(options(handle(), partitionBy="carrier", partitionMap=given))


def test_a_partition_map_needs_its_column() -> None:
    with pytest.raises(ConfigError, match="it needs partitionBy"):
        SinkConfig.from_options(options(handle(), partitionMap='{"AA": 0}'))


# ---- continuous processing ----


@pytest.mark.parametrize("delivery", ["committed", "eager"])
@pytest.mark.parametrize("reports", [[], [None]])
def test_a_commit_without_reports_is_refused(delivery: str, reports: list[Any]) -> None:
    """So commits Spark's continuous trigger: each epoch was committed, and nothing arrived."""
    config = SinkConfig.from_options(options(handle(), delivery=delivery))
    with pytest.raises(RStreamError, match=r"0 of . tasks.*trigger\(continuous=...\)"):
        _sink.StreamWriter(config).commit(reports, 3)
    with pytest.raises(RStreamError, match=r"0 of . tasks"):
        _sink.BatchWriter(config).commit(reports)


def test_a_task_of_continuous_processing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {"__continuous_start_epoch": "0", "streaming.sql.batchId": "0"}
    context = SimpleNamespace(getLocalProperty=properties.get)
    monkeypatch.setattr(_sink.TaskContext, "get", lambda: context)
    writer = _sink.StreamWriter(SinkConfig.from_options(options(handle())))
    with pytest.raises(ConfigError, match=r"trigger\(continuous=...\) cannot be used"):
        writer.write(iter(()))
