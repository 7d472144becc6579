"""A negative number of seconds is an error of the caller, on every face, whatever is there to read
or to send: not a wait that is over at once.
"""

from __future__ import annotations

import asyncio
import time

import pytest

import rstream
import rstream.driver
from rstream import aio, service, stages, stream, work
from rstream.errors import ConfigError
from rstream.spark._options import number as spark_number
from rstream.stages import for_each, from_iterable
from rstream.testing import TestPublisher, TestSubscriber

MINUS = -0.5


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


def refused(call, *args, **keywords):
    with pytest.raises(ConfigError, match="0 or more"):
        call(*args, **keywords)


def test_streams(driver_dir, name):
    with (
        stream.subscriber(name, dir=driver_dir) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(1)
        refused(pub.send, 2, timeout_s=MINUS)
        refused(pub.send_many, [2], timeout_s=MINUS)
        refused(pub.wait_consumed, timeout_s=MINUS)
        refused(pub.set_rate, rstream.rate.Adaptive(), timeout_s=MINUS)
        refused(pub.close, linger_s=MINUS)
        refused(pub.fail, "no", linger_s=MINUS)
        refused(sub.get, timeout_s=MINUS)
        refused(sub.wait, MINUS)
        refused(stream.wait_any, [sub], timeout_s=MINUS)
        assert sub.get(timeout_s=0) == 1
    for option in ("linger_s", "connect_timeout_s"):
        refused(stream.publisher, name, dir=driver_dir, **{option: MINUS})
    buffered = stream.subscriber(name, dir=driver_dir, on_slow=rstream.policy.Latest())
    with buffered:
        refused(buffered.get, timeout_s=MINUS)
        refused(buffered.wait, MINUS)


def test_in_an_event_loop(driver_dir, name):
    async def awaited(call, *args, **keywords):
        with pytest.raises(ConfigError, match="0 or more"):
            await call(*args, **keywords)

    async def main():
        async with (
            aio.subscriber(name, dir=driver_dir) as sub,
            aio.publisher(name, dir=driver_dir, linger_s=0) as pub,
        ):
            await pub.send(1)
            await awaited(pub.send, 2, timeout_s=MINUS)
            await awaited(pub.send_many, [2], timeout_s=MINUS)
            await awaited(pub.wait_consumed, timeout_s=MINUS)
            await awaited(pub.set_rate, rstream.rate.Adaptive(), timeout_s=MINUS)
            await awaited(pub.close, linger_s=MINUS)
            await awaited(sub.get, timeout_s=MINUS)
            await awaited(sub.wait, MINUS)
            await awaited(aio.request, name, 1, timeout_s=MINUS, dir=driver_dir)
        async with (
            aio.work_subscriber(f"{name}-work", dir=driver_dir) as jobs,
            aio.work_publisher(f"{name}-work", dir=driver_dir, linger_s=0) as pub,
        ):
            await awaited(jobs.get, timeout_s=MINUS)
            await awaited(pub.send, 1, timeout_s=MINUS)
            await awaited(pub.wait_acknowledged, timeout_s=MINUS)
            await awaited(pub.close, linger_s=MINUS)

    asyncio.run(main())


def test_work(driver_dir, name):
    with (
        work.subscriber(name, dir=driver_dir) as jobs,
        work.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        refused(jobs.get, timeout_s=MINUS)
        refused(pub.send, 1, timeout_s=MINUS)
        refused(pub.send_many, [1], timeout_s=MINUS)
        refused(pub.wait_acknowledged, timeout_s=MINUS)
        refused(pub.close, linger_s=MINUS)
    for option in ("linger_s", "connect_timeout_s"):
        refused(work.publisher, name, dir=driver_dir, **{option: MINUS})


def test_requests(driver_dir, name):
    with service.serve(name, dir=driver_dir)(lambda query: query) as serving:
        refused(rstream.request, name, 1, timeout_s=MINUS, dir=driver_dir)
        with service.requester(name, dir=driver_dir) as asks:
            refused(asks.request, 1, timeout_s=MINUS)
            refused(asks.request_stream, 1, timeout_s=MINUS)
            assert asks.request(1, timeout_s=20) == 1
        refused(serving.close, timeout_s=MINUS)


def test_a_served_function_may_pass_its_remaining_time_on(driver_dir, name):
    """A deadline that is over is no error of the caller."""
    left = []

    def slow(_query):
        call = service.current_call()
        while call.remaining_s > 0:
            time.sleep(0.005)
        left.append(call.remaining_s)

    with service.serve(name, dir=driver_dir)(slow):
        with pytest.raises(rstream.errors.RequestTimeout):
            rstream.request(name, 1, timeout_s=0.1, dir=driver_dir)
    assert left == [0.0]


def test_the_transport_and_the_driver(driver_dir, name):
    with rstream.Client(driver_dir) as client:
        refused(client.add_subscription, "aeron:ipc", 7, timeout_s=MINUS)
        with (
            client.add_subscription("aeron:ipc", 7) as sub,
            client.add_publication("aeron:ipc", 7) as pub,
        ):
            refused(sub.wait, MINUS)
            refused(pub.wait, MINUS)
            refused(pub.set_rate, rstream.rate.Adaptive(), timeout_s=MINUS)
    refused(rstream.driver.ensure_driver, driver_dir, timeout_s=MINUS)
    refused(rstream.config.ClientConfig, registration_timeout_s=MINUS)


def test_a_programs_own_tests():
    reader: TestSubscriber[int] = TestSubscriber()
    for wait in (reader.take, reader.await_end, reader.expect_complete, reader.expect_subscription):
        refused(wait, timeout_s=MINUS)
    refused(reader.await_count, 1, timeout_s=MINUS)
    refused(reader.expect_none, for_s=MINUS)
    source: TestPublisher[int] = TestPublisher()
    for wait in (source.await_subscriber, source.await_request, source.await_cancel):
        refused(wait, timeout_s=MINUS)


def test_reactive_streams_and_policies(driver_dir, name):
    refused(stream.CallerExecutor().run_pending, wait_s=MINUS)
    evict = rstream.policy.Evict(MINUS)
    refused(stream.subscriber, name, dir=driver_dir, on_slow=evict)
    with pytest.raises(ConfigError, match="must be a number above 0"):
        spark_number({"offertimeout": "nan"}, "offertimeout", "120", float)


def test_stages():
    queue = stages.source_queue(4)
    refused(queue.send, 1, timeout_s=MINUS)
    refused(for_each, from_iterable([1]), print, timeout_s=MINUS)
