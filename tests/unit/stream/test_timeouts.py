"""A time-out that is no number of seconds is refused at once; until nan one would wait for ever."""

from __future__ import annotations

import re

import pytest

from rstream import aio, policy, rate, stream
from rstream.client import Client
from rstream.config import ClientConfig, DriverConfig
from rstream.driver import ensure_driver
from rstream.errors import BackPressured, ConfigError

WRONG = [float("nan"), "1", [1.0]]


def refused(value, option="timeout_s"):
    text = re.escape(f"{option}={value!r}: must be a number of seconds")
    return pytest.raises(ConfigError, match=text)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("on_slow", [policy.Block(), policy.DropOldest(10)])
def test_of_a_subscriber(driver_dir, name, wrong, on_slow):
    with stream.subscriber(name, dir=driver_dir, on_slow=on_slow) as sub:
        for call in (sub.get, sub.wait):
            with refused(wrong):
                call(timeout_s=wrong)


@pytest.mark.parametrize("wrong", WRONG)
def test_of_a_publisher(driver_dir, name, wrong):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        for call, arguments in (
            (pub.send, [1]),  # without a reader it would wait; with room it does not look
            (pub.send_many, [[1]]),
            (pub.wait_consumed, []),
            (pub.set_rate, [rate.Unlimited()]),
        ):
            with refused(wrong):
                call(*arguments, timeout_s=wrong)
        with refused(wrong, "linger_s"):
            pub.close(linger_s=wrong)
        with refused(wrong, "linger_s"):
            pub.fail("no", linger_s=wrong)
        assert not pub.is_closed


def test_a_publisher_takes_an_infinite_timeout(driver_dir, name):
    with (
        stream.subscriber(name, bytes, dir=driver_dir) as sub,
        stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
    ):
        assert pub.send_many([bytes(1000)] * 10, timeout_s=float("inf")) == 10
        with pytest.raises(BackPressured):
            while True:
                pub.send(bytes(100_000), timeout_s=0.01)
        assert sub.poll(10) == [bytes(1000)] * 10
        assert len(sub.poll()) > 0
        assert pub.send(bytes(100_000), timeout_s=float("inf")) > 0


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("wrong", WRONG)
async def test_of_an_awaited_publisher(driver_dir, name, wrong):
    async with aio.publisher(name, dir=driver_dir, linger_s=0) as pub:
        for call, arguments in (
            (pub.send, [1]),
            (pub.send_many, [[1]]),
            (pub.wait_consumed, []),
            (pub.set_rate, [rate.Unlimited()]),
        ):
            with refused(wrong):
                await call(*arguments, timeout_s=wrong)
        for end in (pub.close, lambda linger_s: pub.fail("no", linger_s=linger_s)):
            with refused(wrong, "linger_s"):
                await end(linger_s=wrong)
        assert not pub.is_closed


@pytest.mark.parametrize("wrong", WRONG)
def test_of_a_client_and_a_driver(driver_dir, wrong):
    with Client(driver_dir) as client:
        with refused(wrong):
            client.add_publication("aeron:ipc", 1, timeout_s=wrong)
        with client.add_subscription("aeron:ipc", 1) as sub:
            with refused(wrong):
                sub.wait(wrong)
            with refused(wrong):
                sub.add_destination("aeron:ipc", timeout_s=wrong)
    with refused(wrong):
        ensure_driver(driver_dir, timeout_s=wrong)
    with refused(wrong, "driver_timeout_s"):
        ClientConfig(driver_timeout_s=wrong)
    with refused(wrong, "idle_exit_s"):
        DriverConfig(idle_exit_s=wrong)
