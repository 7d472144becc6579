"""A window that the socket's buffer cannot hold: bounded and told, of a raw one refused."""

from __future__ import annotations

import json

import pytest

import rstream
from rstream import metrics
from rstream.errors import ChannelError, DriverError
from tests.support import free_port
from tests.system.test_cli import run

WANTED = 32 << 20


def test_a_stream_flows_with_a_smaller_window_and_says_so(driver_dir: str) -> None:
    """The channel gives the socket 64 KiB, whatever the system allows."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    wide = f"{channel}|rcv-wnd=32m|so-rcvbuf=64k"
    with (
        rstream.Driver(dir=driver_dir),
        rstream.subscriber("wide", channel=wide, dir=driver_dir) as sub,
        rstream.publisher(
            "wide", channel=f"{channel}|term-length=64m", cc="static", dir=driver_dir
        ) as pub,
    ):
        pub.send(b"x")
        assert next(iter(sub)) == b"x"
        (state,) = metrics.images(driver_dir)
        assert state.wanted_window_bytes == WANTED
        advice = f"raise so-rcvbuf and net.core.rmem_max to {WANTED}"
        text = run("stat", "--once", "--dir", driver_dir).stdout
        assert f"    window bounded by so-rcvbuf: {advice}" in text
        (reader,) = json.loads(run("stat", "--json", "--dir", driver_dir).stdout)["readers"]
        assert reader["wanted_window_bytes"] == WANTED
        found = run("doctor", "--dir", driver_dir).stdout
        assert "window bounded by so-rcvbuf" in found
        assert advice in found
        assert "is bounded to the 65536 bytes" in run("errors", "--dir", driver_dir).stdout


def test_the_buffer_grows_with_the_window(driver_dir: str) -> None:
    """Without so-rcvbuf the socket gets as much as the system grants: what fits is not told."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    window = 192 * 1024  # Linux grants 208 KiB where nobody has set rmem_max
    with (
        rstream.Driver(dir=driver_dir),
        rstream.subscriber("grows", channel=f"{channel}|rcv-wnd={window}", dir=driver_dir) as sub,
        rstream.publisher("grows", channel=channel, dir=driver_dir) as pub,
    ):
        pub.send(b"x")
        assert next(iter(sub)) == b"x"
        (state,) = metrics.images(driver_dir)
        assert state.wanted_window_bytes == 0
        assert "bounded" not in run("stat", "--once", "--dir", driver_dir).stdout


def test_a_raw_subscription_is_refused_as_by_aerons_driver(driver_dir: str) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|rcv-wnd=1m|so-rcvbuf=64k"
    with rstream.Driver(dir=driver_dir), rstream.Client(dir=driver_dir) as client:
        with pytest.raises((ChannelError, DriverError), match="rcv-wnd=1048576 is greater than"):
            client.add_subscription(channel, 7)
