"""Handles as text, and what is refused in their place."""

from __future__ import annotations

import pytest

import rstream
from rstream.errors import (
    ConfigError,
)
from rstream.ray import reader


@pytest.mark.parametrize("udp", [True, False])
@pytest.mark.parametrize("label", [None, "a b/c d&f#g%h+i ü"])
def test_a_handle_is_a_uri(driver_dir, udp, label):
    from rstream import rate

    with reader(label, dir=driver_dir, udp=udp, rate=rate.Fixed("2MB/s")) as end:
        text = str(end.handle)
        assert text.startswith(f"rstream://{end.handle.endpoint}/")
        assert not set(text) & set(" ,;|\"'[]<>\n")
        assert rstream.ray.StreamHandle.from_text(f" {text}\n") == end.handle


@pytest.mark.parametrize(
    "text", ["", "{}", "rstream://", "http://h:1/ticks?v=3", "rstream://h:1/ticks?v=3&id=x"]
)
def test_what_is_no_handle_is_refused(text):
    with pytest.raises(ConfigError, match=r"not a stream handle.*str"):
        rstream.ray.StreamHandle.from_text(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ticks", "does not begin with rstream://"),
        ("rstream://ticks", "it has no v="),
        ("rstream://h:1/ticks?v=3&id=-1", "it has no codec="),
        ("rstream://h:1/ticks?v=2&id=-1", "of version 2, this rstream reads version 3"),
    ],
)
def test_what_a_handle_lacks_is_said(text, why):
    with pytest.raises(ConfigError, match=f"stream handle.*{why}"):
        rstream.ray.StreamHandle.from_text(text)


def test_a_text_beside_a_handle_is_refused_with_its_quotes(driver_dir, name):
    with rstream.ray.reader(name, dir=driver_dir, udp=False) as end:
        handle = end.handle
    with pytest.raises(
        ConfigError, match=r"^'rstream://.*…' is no stream handle; endpoint\.handle"
    ):
        rstream.ray.Group([handle, handle.to_text()])


@pytest.mark.parametrize("given", [5, [5], "ticks", ["ticks"]], ids=str)
@pytest.mark.parametrize(
    "take",
    [
        rstream.ray.Group,
        lambda given: rstream.ray.Group().add(given),
        lambda given: rstream.ray.datasink(5 if given == "ticks" else given),  # that is a name
        lambda given: rstream.spark.send(None, given),
    ],
    ids=["Group", "add", "datasink", "send"],
)
def test_what_is_no_handle_at_all_is_refused(take, given):
    with pytest.raises(ConfigError, match=r"is no stream handle; endpoint\.handle is one"):
        take(given)


def test_a_type_is_no_name():
    with pytest.raises(ConfigError, match=r"did you mean type=dict\?"):
        reader(dict)
    with pytest.raises(ConfigError, match="stream name 5: give a text"):
        rstream.ray.datasource(5)


@pytest.mark.parametrize("actor_id", ["", "30781d0301000000"])
def test_a_handle_travels_in_closures(actor_id):
    import pickle

    cloudpickle = pytest.importorskip("cloudpickle")
    handle = rstream.ray.StreamHandle(
        name="a", stream_id=-7, ipc_channel="aeron:ipc", endpoint="[::1]:7", node="n",
        udp_channel="aeron:udp", host_token="h", driver_dir="/d", codec="raw", actor_id=actor_id,
    )  # fmt: skip
    assert pickle.loads(cloudpickle.dumps(lambda: handle))() == handle
    assert rstream.ray.StreamHandle.from_text(str(handle)) == handle


def test_a_name_needs_a_running_ray():
    with pytest.raises(ConfigError, match=r"ray\.init"):
        rstream.ray.handle("ticks")
