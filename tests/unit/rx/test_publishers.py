"""to_publisher and from_publisher: how much is made, in which thread, and whose error it is."""

from __future__ import annotations

import gc
import itertools
import logging
import threading
import time
import weakref

import pytest

pytest.importorskip("reactivex")
import reactivex
from reactivex import operators as ops
from reactivex.subject import Subject

from rstream import abc, rx, stream
from rstream.errors import ConfigError
from rstream.testing import TestSubscriber
from tests.support import until

from .sources import Collector, Items, ManualUpstream, ThreadSource


class Manual(abc.Publisher):
    """A publisher driven by hand."""

    def __init__(self):
        self.upstream = ManualUpstream()
        self.subscriber = None

    def subscribe(self, subscriber):
        self.subscriber = subscriber
        subscriber.on_subscribe(self.upstream)


# ---- to_publisher ----


def test_no_more_is_made_than_was_requested_and_the_capacity():
    source, subscriber = ThreadSource(range(1000)), TestSubscriber()
    source.observable.pipe(rx.to_publisher(4)).subscribe(subscriber)
    subscription = subscriber.expect_subscription()
    until(lambda: source.emitted == 5)  # four that wait, one in the source
    subscriber.request(10)
    assert subscriber.take(10) == list(range(10))
    until(lambda: source.emitted == 15)
    time.sleep(0.02)
    assert source.emitted == 15
    subscription.cancel()
    assert source.is_done.wait(20)
    assert source.emitted == 15
    subscriber.assert_no_violations()


def test_memory_stays_flat_through_both_conversions():
    items, taken = Items(), Collector(keep=lambda item: item.number)
    source = ThreadSource(items.make(number) for number in range(20_000))
    rx.from_publisher(source.observable.pipe(rx.to_publisher(16)), prefetch=16).subscribe(taken)
    assert taken.wait().items == list(range(20_000))
    assert items.alive_most <= 16 + 16 + 4


def test_a_hot_source_is_subscribed_when_subscribe_returns():
    subject, subscriber = Subject(), TestSubscriber()
    subject.pipe(rx.to_publisher(8)).subscribe(subscriber)
    for number in range(3):
        subject.on_next(number)
    subscriber.request(9)
    assert subscriber.take(3) == [0, 1, 2]
    subject.on_completed()
    subscriber.expect_complete()


def test_an_endless_source_that_emits_inside_subscribe_ends_with_its_subscription(own_threads):
    counted = itertools.count()
    subscriber = TestSubscriber()
    reactivex.from_iterable(counted).pipe(rx.to_publisher(4)).subscribe(subscriber)
    subscriber.request(1)
    subscriber.expect_next(0)
    subscriber.subscription.cancel()

    until(lambda: not own_threads())
    assert next(counted) < 10


def test_none_is_no_element():
    subscriber = TestSubscriber()
    reactivex.of(1, None, 2).pipe(rx.to_publisher()).subscribe(subscriber)
    subscriber.request(1)
    subscriber.expect_next(1)
    assert isinstance(subscriber.expect_error(), TypeError)
    subscriber.assert_no_violations()


def test_an_error_comes_behind_the_items_without_demand():
    subscriber = TestSubscriber()
    reactivex.of(1, 0, 2).pipe(ops.map(lambda n: 1 // n), rx.to_publisher()).subscribe(subscriber)
    subscriber.expect_subscription()
    subscriber.expect_none()
    subscriber.request(1)
    subscriber.expect_next(1)
    assert isinstance(subscriber.expect_error(), ZeroDivisionError)
    subscriber.assert_no_violations()


def test_a_subscriber_that_raises_is_cancelled_and_the_source_left(caplog):
    class Failing(TestSubscriber):
        def received(self, item):
            raise ZeroDivisionError

    source, subscriber = ThreadSource(range(1000)), Failing()
    with caplog.at_level(logging.ERROR, "rstream"):
        source.observable.pipe(rx.to_publisher(4)).subscribe(subscriber)
        subscriber.request(5)
        assert source.is_done.wait(20)
    assert source.raised == []
    assert "on_next raised" in caplog.text


def test_the_callers_executor_delivers_in_the_callers_thread():
    executor, subscriber = stream.CallerExecutor(), TestSubscriber()
    reactivex.of(1, 2).pipe(rx.to_publisher(executor=executor)).subscribe(subscriber)
    subscriber.request(5)
    subscriber.expect_none()
    executor.run()
    assert subscriber.take(2) == [1, 2]
    subscriber.expect_complete()


# ---- from_publisher ----


def test_it_requests_half_when_half_is_done():
    publisher, taken = Manual(), Collector()
    rx.from_publisher(publisher, prefetch=4).subscribe(taken)
    requested = [publisher.upstream.requested]
    for number in range(8):
        publisher.subscriber.on_next(number)
        requested.append(publisher.upstream.requested)
    assert requested == [4, 4, 6, 6, 8, 8, 10, 10, 12]
    publisher.subscriber.on_complete()
    assert (taken.items, taken.ends) == (list(range(8)), [None])


def test_what_is_not_done_is_not_requested_again():
    publisher, taken = Manual(), Collector(is_slow=True)
    rx.from_publisher(publisher, prefetch=1).subscribe(taken)
    thread = threading.Thread(target=publisher.subscriber.on_next, args=(0,))
    thread.start()
    assert taken.is_in.wait(20)
    assert publisher.upstream.requested == 1
    taken.gate.set()
    thread.join(20)
    assert publisher.upstream.requested == 2


def test_the_observers_exception_cancels_and_is_not_thrown_into_the_publisher(caplog):
    errors, publisher = [], Manual()
    rx.from_publisher(publisher).subscribe(lambda number: 1 / number, errors.append)
    publisher.subscriber.on_next(0)
    assert publisher.upstream.cancelled.is_set()
    assert isinstance(errors[0], ZeroDivisionError)
    publisher.subscriber.on_next(1)  # §2.8
    publisher.subscriber.on_complete()
    assert len(errors) == 1

    nobody_listens = Manual()
    rx.from_publisher(nobody_listens).subscribe()
    with caplog.at_level(logging.ERROR, "rstream"):
        nobody_listens.subscriber.on_error(ValueError("not handled"))
    assert "not handled" in caplog.text


def test_dispose_cancels_once():
    publisher, taken = Manual(), Collector()
    subscription = rx.from_publisher(publisher).subscribe(taken)
    subscription.dispose()
    assert publisher.upstream.cancelled.is_set()
    publisher.subscriber.on_next(1)
    assert (taken.items, taken.ends) == ([], [])


def test_take_leaves_an_endless_publisher_that_delivers_inside_request():
    class Eager(ManualUpstream):
        delivered = 0
        is_delivering = False

        def request(self, n):
            super().request(n)
            if self.is_delivering:  # §3.3
                return
            self.is_delivering = True
            while self.delivered < self.requested and not self.cancelled.is_set():
                assert self.delivered < 100
                publisher.subscriber.on_next(self.delivered)
                self.delivered += 1
            self.is_delivering = False

    publisher, taken = Manual(), Collector()
    publisher.upstream = Eager()
    rx.from_publisher(publisher, prefetch=4).pipe(ops.take(2)).subscribe(taken)
    assert (taken.items, taken.ends) == ([0, 1], [None])
    assert publisher.upstream.cancelled.is_set()


@pytest.mark.parametrize("has_subscription", [True, False])
def test_required_spec205_must_cancel_a_second_subscription(has_subscription):
    publisher, taken, second = Manual(), Collector(), ManualUpstream()
    subscription = rx.from_publisher(publisher).subscribe(taken)
    if not has_subscription:
        subscription.dispose()
    publisher.subscriber.on_subscribe(second)
    assert second.cancelled.is_set()
    assert second.requested == 0
    assert publisher.upstream.cancelled.is_set() is not has_subscription


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_required_spec213_must_throw_when_parameters_are_null(signal):
    publisher = Manual()
    rx.from_publisher(publisher).subscribe()
    with pytest.raises(TypeError):
        getattr(publisher.subscriber, signal)(None)


@pytest.mark.parametrize("signal", ["on_complete", "on_error"])
def test_required_spec203_must_not_call_the_subscription_in_terminal_signals(signal):
    publisher, taken = Manual(), Collector()
    rx.from_publisher(publisher).subscribe(taken)
    publisher.upstream.has_ended = True
    getattr(publisher.subscriber, signal)(*([ValueError()] if signal == "on_error" else []))
    assert publisher.upstream.calls_after_end == []


def test_an_observer_is_dropped_at_the_end():
    publisher, taken = Manual(), Collector()
    subscription = rx.from_publisher(publisher).subscribe(taken)
    publisher.subscriber.on_complete()
    subscription.dispose()
    reference = weakref.ref(taken)
    publisher.subscriber = None
    del taken, subscription
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize(
    "make", [lambda: rx.to_publisher(0), lambda: rx.from_publisher(Manual(), prefetch=0)]
)
def test_no_capacity_is_refused(make):
    with pytest.raises(ConfigError):
        make()
