"""The options ``key`` and ``secretKey`` of Spark's sink, and ``key`` of its source."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="Spark is not installed")
pytest.importorskip("pyarrow", reason="Arrow is not installed")

from rstream import keys
from rstream.errors import ConfigError
from rstream.keys import GroupKey
from rstream.ledger._messages import Ask
from rstream.spark import _ends, _sink
from rstream.spark._ends import _asking_channel
from rstream.spark._frames import _config
from rstream.spark._options import SinkConfig
from rstream.spark._source_options import SourceConfig
from tests.unit.spark.test_sink import handle, options
from tests.unit.test_keys import said

UDP = "aeron:udp?endpoint=127.0.0.1:40123"


def far(key: GroupKey | None) -> Any:
    """The handle of a reader on another host."""
    parameter = "none" if key is None else f"id:{key.id}"
    made = handle()
    fields = {name: getattr(made, name) for name in made.__slots__}
    fields |= {"endpoint": "127.0.0.1:40123", "udp_channel": f"{UDP}|rs-key={parameter}"}
    return type(made)(**fields)


def test_the_secret_key_is_carried_and_not_shown() -> None:
    key = GroupKey.new()
    config = SinkConfig.from_options(options(handle(), secretKey=key.secret.hex()))
    assert config.keys == (key,)
    assert key.secret.hex() not in f"{config!r} {config}"
    assert repr(key.secret) not in repr(config)
    assert keys.known_key(f"id:{key.id}") is None
    pickle.loads(pickle.dumps(config)).learn_keys()  # what a task does first
    assert keys.known_key(f"id:{key.id}") == key


def test_a_reference_is_looked_up_by_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is that of the worker, so the program need not have it."""
    of_file, of_variable = GroupKey.new(), GroupKey.new()
    path = tmp_path / "group.key"
    by_file = SinkConfig.from_options(options(handle(), key=f"file:{path}"))
    by_variable = SinkConfig.from_options(options(handle(), KEY="env:MY_KEY"))
    assert by_file.key == f"file:{path}"
    with pytest.raises(ConfigError, match=f"key file {path}: No such file"):
        by_file.learn_keys()
    with pytest.raises(ConfigError, match="env:MY_KEY"):
        by_variable.learn_keys()
    keys.write_file(path, [of_file])
    monkeypatch.setenv("MY_KEY", of_variable.secret.hex())
    by_file.learn_keys()
    by_variable.learn_keys()
    for key in (of_file, of_variable):
        assert keys.known_key(f"id:{key.id}") == key


def test_the_keys_of_handles_go_with_the_sink() -> None:
    """Of the handles that a program has: a task runs where Ray does not."""
    known, unknown = GroupKey.new(), GroupKey.new()
    assert known.reference == f"id:{known.id}"
    assert _config(far(known), {}).keys == (known,)
    assert _config(far(unknown), {}).keys == ()
    assert _config(far(None), {}).keys == ()
    config = _config(far(known), {"secretKey": unknown.secret.hex()})
    assert set(config.keys) == {known, unknown}
    for key in config.keys:
        assert key.secret.hex() not in repr(config)


def test_the_format_takes_the_key_where_its_planner_is_connected_to_ray(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key, strange = GroupKey.new(), GroupKey.new()
    monkeypatch.setattr("rstream.ray._job_key.job_key", lambda: key)
    for given, found in ((far(key), (key,)), (far(strange), ()), (far(None), ())):
        planner = _sink.RstreamDataSource(options(given))
        schema: Any = None
        for writer in (planner.streamWriter(schema, False), planner.writer(schema, False)):
            assert pickle.loads(pickle.dumps(writer)).config.keys == found


def test_a_task_without_the_key_names_the_option() -> None:
    key = GroupKey.new()
    config = SinkConfig.from_options(options(far(key)))
    question = Ask(do="begin", query="q", epoch=0, attempts=())
    for call in (
        lambda: _ends.publisher_of(config, 0),
        lambda: _ends.ask(config, 0, question, timeout_s=1.0),
    ):
        with pytest.raises(ConfigError, match=f"'rows-1'.* has no key {key.id}") as refused:
            call()
        for text in ('option "secretKey"', "rstream.ray.job_key().secret.hex()"):
            assert text in refused.value.hint
        assert key.secret.hex() not in said(refused.value)


def test_questions_about_commits_have_the_key_too() -> None:
    key = GroupKey.new()
    assert _asking_channel(far(key)) == f"{UDP}|rs-key=id:{key.id}"
    assert _asking_channel(far(None)) == f"{UDP}|rs-key=none"


@pytest.mark.parametrize("wrong", ["DIGITS", "none", "file:", "env:", "id:0badc0de"])
def test_a_wrong_reference_is_refused_before_a_task_runs(wrong: str) -> None:
    secret = GroupKey.new().secret.hex()
    given = options(handle(), key=wrong.replace("DIGITS", secret))
    with pytest.raises(ConfigError, match='option "key" must be file:PATH or env:NAME') as refused:
        SinkConfig.from_options(given)
    assert "secretKey" in str(refused.value.hint)
    assert secret not in said(refused.value)


def test_a_wrong_secret_key_is_not_repeated() -> None:
    secret = GroupKey.new().secret.hex()[1:]
    with pytest.raises(ConfigError, match='option "secretKey" is not a key: must be 64') as refused:
        SinkConfig.from_options(options(handle(), secretKey=secret))
    assert secret not in said(refused.value)


def test_a_slip_names_the_option() -> None:
    with pytest.raises(ConfigError, match='did you mean "secretkey"'):
        SinkConfig.from_options(options(handle(), secretKeys="x"))


def test_the_source_takes_a_reference() -> None:
    def config(**given: str) -> SourceConfig:
        return SourceConfig.from_options({"stream": "ticks", **given}, is_stream=False)

    made = config(channel=UDP, key="file:/etc/my.key")
    assert made.channel == f"{UDP}|rs-key=file:/etc/my.key"
    assert config(channel=UDP, key="none").channel == f"{UDP}|rs-key=none"
    with pytest.raises(ConfigError, match=r"key='file:/etc/my.key' on aeron:ipc"):
        config(key="file:/etc/my.key")
    secret = GroupKey.new().secret.hex()
    with pytest.raises(ConfigError, match="rstream source: key= is no reference") as refused:
        config(channel=UDP, key=secret)
    assert secret not in said(refused.value)
