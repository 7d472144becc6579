"""``rcv_wnd``, ``cc`` and ``mtu`` by name: what goes into a channel, what each face refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rstream
from rstream import aio, stream
from rstream._link_options import with_link_options
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

UDP = "aeron:udp?endpoint=127.0.0.1:40123"


def test_nothing_given_leaves_the_channel_alone() -> None:
    assert with_link_options(None, is_publisher=True) is None
    assert with_link_options("whatever", is_publisher=False) == "whatever"


@pytest.mark.parametrize(
    ("is_publisher", "channel", "given", "made"),
    [
        (True, UDP, {"cc": "path", "mtu": 8192}, f"{UDP}|cc=path|mtu=8192"),
        (True, UDP, {"mtu": "8k"}, f"{UDP}|mtu=8192"),
        (False, UDP, {"rcv_wnd": "8m", "cc": "auto"}, f"{UDP}|rcv-wnd=8388608|cc=auto"),
        (False, f"{UDP}|rcv-wnd=64k", {"rcv_wnd": 65536}, f"{UDP}|rcv-wnd=65536"),
        (False, rstream.Channel.udp("10.0.0.7:1"), {"cc": "cubic"}, "cc=cubic"),
    ],
)
def test_they_become_parameters(
    is_publisher: bool, channel: str, given: dict[str, Any], made: str
) -> None:
    assert str(with_link_options(channel, is_publisher=is_publisher, **given)).endswith(made)


@pytest.mark.parametrize("channel", [None, "aeron:ipc", "aeron:ipc?term-length=1m"])
@pytest.mark.parametrize(
    ("face", "option", "value"),
    [
        (rstream.publisher, "cc", "path"),
        (rstream.publisher, "mtu", 8192),
        (rstream.subscriber, "rcv_wnd", "8m"),
        (rstream.subscriber, "cc", "auto"),
        (stream.source, "rcv_wnd", 65536),
        (stream.sink, "mtu", 8192),
    ],
)
def test_shared_memory_has_none_of_them(
    face: Callable[..., object], option: str, value: object, channel: str | None
) -> None:
    with pytest.raises(ConfigError, match=f"{option}={value!r} on aeron:ipc.*only UDP") as refused:
        face("ticks", channel=channel, **{option: value})
    assert f"leave {option} out" in str(refused.value.hint)


@pytest.mark.parametrize("channel", ["aeron:ipc", f"aeron-spy:{UDP}"])
def test_a_spy_has_none_either(channel: str) -> None:
    with pytest.raises(ConfigError, match="only UDP"):
        with_link_options(channel, is_publisher=False, rcv_wnd=65536)


@pytest.mark.parametrize(
    ("face", "given", "text"),
    [
        (rstream.publisher, {"cc": "auto"}, "cc='auto': must be \"path\".*the subscriber"),
        (rstream.publisher, {"cc": "fast"}, "cc='fast': must be \"path\""),
        (rstream.publisher, {"mtu": 63}, "mtu=63: must be 64 to 65504 bytes"),
        (rstream.publisher, {"mtu": 65505}, "mtu=65505: must be 64 to 65504 bytes"),
        (rstream.publisher, {"mtu": True}, "mtu=True: must be"),
        (rstream.subscriber, {"cc": "path"}, "cc='path': must be .*the publisher"),
        (rstream.subscriber, {"rcv_wnd": 255}, "rcv_wnd=255: must be 256 to 1073741824 bytes"),
        (rstream.subscriber, {"rcv_wnd": "8 MB"}, "rcv_wnd='8 MB': must be"),
        (rstream.subscriber, {"rcv_wnd": 1.5}, "rcv_wnd=1.5: must be"),
    ],
)
def test_a_wrong_value_names_what_is_right(
    face: Callable[..., object], given: dict[str, object], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        face("ticks", channel=UDP, **given)


@pytest.mark.parametrize(
    ("face", "option"), [(rstream.publisher, "rcv_wnd"), (rstream.subscriber, "mtu")]
)
def test_an_option_of_the_other_side_is_unknown(face: Callable[..., object], option: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        face("ticks", channel=UDP, **{option: 8192})


def test_another_value_in_the_channel_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"rcv_wnd='8m': the channel .* says rcv-wnd=64k"):
        rstream.subscriber("ticks", channel=f"{UDP}|rcv-wnd=64k", rcv_wnd="8m")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("face", "given"), [(aio.publisher, {"cc": "path"}), (aio.subscriber, {"rcv_wnd": "8m"})]
)
async def test_the_faces_of_event_loops_refuse_alike(
    face: Callable[..., Any], given: dict[str, object]
) -> None:
    with pytest.raises(ConfigError, match="only UDP"):
        await face("ticks", **given)


def test_ray_refuses_them_without_a_port() -> None:
    pytest.importorskip("ray")
    import rstream.ray as on_ray

    for given in ({"rcv_wnd": "8m"}, {"cc": "path"}, {"cc": "auto"}, {"mtu": 8192}):
        with pytest.raises(ConfigError, match="only UDP"):
            on_ray.reader(udp=False, **given)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="cc='fast': must be one of"):
        on_ray.reader(cc="fast")
    with pytest.raises(ConfigError, match="mtu=63"):
        on_ray.reader(mtu=63)


def test_sparks_source_takes_them() -> None:
    pytest.importorskip("pyspark")
    from rstream.spark._source_options import SourceConfig

    def config(**given: str) -> SourceConfig:
        return SourceConfig.from_options({"stream": "ticks", **given}, is_stream=False)

    made = config(channel=UDP, rcvWnd="8m", cc="auto")
    assert made.channel == f"{UDP}|rcv-wnd=8388608|cc=auto"
    assert config(channel=UDP).channel == UDP
    with pytest.raises(ConfigError, match="rstream source: rcv_wnd='8m' on aeron:ipc"):
        config(rcvWnd="8m")
    with pytest.raises(ConfigError, match=r'rstream source: cc=.path.: must be "static"'):
        config(channel=UDP, cc="path")
