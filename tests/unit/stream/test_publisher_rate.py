"""A publisher's own rate: it holds, and a refused offer says what held it back."""

from __future__ import annotations

import re
import time

import pytest

import rstream
from rstream import policy, rate, stream
from rstream.errors import (
    BackPressured,
    ClosedError,
    NotSupported,
)
from rstream.stream._internal import sending_of
from tests.support import free_port, until

CHANNELS = ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:{port}"]


@pytest.fixture(params=CHANNELS, ids=["ipc", "udp"])
def channel(request):
    return request.param.format(port=free_port())


def test_fixed_rate_holds(driver_dir, name, channel):
    limit = rate.Fixed(1_000_000)
    with (
        stream.subscriber(
            name, bytes, dir=driver_dir, channel=channel, on_slow=policy.DropNewest(1)
        ),
        stream.publisher(
            name, bytes, dir=driver_dir, channel=channel, rate=limit, linger_s=0
        ) as pub,
    ):
        pub.send(b"x")
        started, began_ns = pub.position, time.monotonic_ns()
        for _ in range(300):
            pub.send(b"x" * 992)
        # The law is an upper bound, so a busy machine cannot break it: the bytes sent were earned,
        # up to a burst, one message and, on the network, the bytes between the publisher's limit
        # and the sender.
        # one message, and on the network what stands between the publisher's limit and the sender.
        elapsed_s = (time.monotonic_ns() - began_ns) / 1e9
        assert pub.position - started <= 1_000_000 * elapsed_s + 66_000
        assert pub.statistics()["waits"] > 0


def test_an_offer_distinguishes_rate_from_window(driver_dir, name, channel):
    with (
        stream.subscriber(name, bytes, dir=driver_dir, channel=channel) as sub,
        stream.publisher(
            name, bytes, dir=driver_dir, channel=channel, rate=rate.Fixed(1000), linger_s=0
        ) as pub,
    ):
        pub.send(b"x")
        until(lambda: pub.offer(bytes(1000)) == rstream.RATE_LIMITED)
        assert pub.is_rate_limited
        with pytest.raises(BackPressured, match="rate") as caught:
            for _ in range(100):
                pub.send(bytes(1000), timeout_s=0.001)
        assert caught.value.held_by == "rate"
        pub.set_rate(rate.Unlimited())
        until(lambda: pub.offer(bytes(1000)) == rstream.BACK_PRESSURED)  # no reader polls
        assert not pub.is_rate_limited

        def refused():
            """The refusal of a message, once the window holds it: what is under way does first."""
            try:
                pub.send(bytes(1000), timeout_s=0.001)
            except BackPressured as error:
                return error if error.held_by == "window" else None
            return None

        assert re.search(r"no room; the readers.*raise timeout_s, or open", str(until(refused)))
        del sub


def test_the_argument_goes_before_the_channel(driver_dir, name):
    channel = "aeron:ipc?rs-rate=fixed,r:5"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        assert "rs-rate=fixed,r:5" in pub.channel
    with stream.publisher(
        name, channel=channel, dir=driver_dir, rate=rate.Aimd(), linger_s=0
    ) as pub:
        assert pub.channel.count("rs-rate=") == 1
        assert "rs-rate=aimd" in pub.channel
        pub.set_rate(rate.Nak())
        # it must be there when the publisher joins again after a lost driver
        assert "rs-rate=nak" in pub.channel
    with pytest.raises(ClosedError):
        pub.set_rate(rate.Unlimited())
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        assert "rs-rate" not in pub.channel  # the driver's option carries it


def test_beside_aerons_driver_the_publisher_keeps_its_rate(driver_dir, name, monkeypatch):
    """This driver is treated as Aeron's, which does not read rs-rate: the publisher limits itself.

    The channel carries the rate, and nothing else enforces it.
    """
    monkeypatch.setattr("rstream.client.Client.is_aeron_driver", True)
    with pytest.raises(NotSupported, match="adaptive"):
        stream.publisher(name, bytes, dir=driver_dir, rate=rate.Adaptive())
    with (
        stream.subscriber(name, bytes, dir=driver_dir, on_slow=policy.DropNewest(1)),
        stream.publisher(name, bytes, dir=driver_dir, rate=rate.Fixed(1), linger_s=0) as pub,
    ):
        pub.send(b"x")
        assert (
            sending_of(pub).state.bucket is not None
        )  # its burst is 64 KiB, many times the driver's
        sent = 0
        while sending_of(pub).state.bucket.delay_ns(time.monotonic_ns()) == 0 and sent < 100:
            sending_of(pub).state.bucket.spend(1000)
            sent += 1
        assert 60 <= sent <= 67
        assert pub.offer(b"x") == rstream.RATE_LIMITED
        assert pub.is_rate_limited
        with pytest.raises(BackPressured) as caught:
            pub.send(b"x", timeout_s=0.01)
        assert caught.value.held_by == "rate"
        with pytest.raises(NotSupported, match="nak"):
            pub.set_rate(rate.Nak())
        pub.set_rate(rate.Unlimited())
        assert sending_of(pub).state.bucket is None
