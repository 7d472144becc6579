"""Demand through an Observable: subscriber, Observable, stream, and the upstream of its sink."""

from __future__ import annotations

import time

import pytest

from rstream import stream
from rstream.testing import TestSubscriber
from tests.support import until
from tests.unit.rx.sources import ManualUpstream

pytest.importorskip("reactivex")
from reactivex import operators as ops

from rstream import rx

pytestmark = pytest.mark.integration


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


def test_a_subscriber_that_asks_for_nothing_stops_the_source_of_the_stream(driver_dir, name):
    """sink -> stream -> from_stream -> to_publisher: what is asked for crosses all of it."""
    subscriber, upstream = TestSubscriber(), ManualUpstream()
    rx.from_stream(name, dir=driver_dir, prefetch=8).pipe(
        ops.map(lambda n: n * 10), rx.to_publisher(4)
    ).subscribe(subscriber)
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    sink.on_subscribe(upstream)
    sent = 0

    def send_what_is_wanted():
        nonlocal sent
        while sent < upstream.requested:
            sink.on_next(sent)
            sent += 1

    def settle():
        deadline_s, before = time.monotonic() + 0.2, -1
        while time.monotonic() < deadline_s or before != sent:
            before = sent
            send_what_is_wanted()
            time.sleep(0.005)

    until(lambda: upstream.requested > 0)
    settle()
    assert 4 <= sent <= 4 + 1 + 8  # the queue, one in the Observable, and what is prefetched
    subscriber.request(10)
    assert subscriber.take(4) == [0, 10, 20, 30]
    settle()
    assert subscriber.take(6) == [40, 50, 60, 70, 80, 90]
    assert 14 <= sent <= 14 + 1 + 8
    subscriber.expect_none()
    sink.on_complete()
    subscriber.request(100)
    for number in range(10, sent):
        subscriber.expect_next(number * 10)
    subscriber.expect_complete()
    subscriber.assert_no_violations()


def test_a_source_is_an_observable(driver_dir, name):
    items, ends = [], []
    rx.from_publisher(stream.source(name, dir=driver_dir), prefetch=2).subscribe(
        items.append, ends.append, lambda: ends.append(None)
    )
    with stream.publisher(name, dir=driver_dir) as pub:
        pub.send_many(range(100))
    until(lambda: ends)
    assert (items, ends) == (list(range(100)), [None])
