"""An item that is on its way to a queue when the pipeline is disposed, whoever has subscribed its
stream: it does not count as consumed, and the next reader begins with it.
"""

from __future__ import annotations

import threading
import time
from unittest import mock

import pytest

reactivex = pytest.importorskip("reactivex")
from reactivex import operators as ops  # noqa: E402

from rstream import rx, stream  # noqa: E402
from tests.support import until  # noqa: E402

from .test_consumed import (  # noqa: E402
    COUNT,
    STOP,
    WAIT_S,
    Stopping,
    loop_scheduler,
    next_item,
    publishing,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


class OnTheWay:
    """An operator that keeps one item while the pipeline is disposed."""

    def __init__(self, item):
        self.reached, self.gate = threading.Event(), threading.Event()
        self.operator = ops.map(self._pass)
        self._item = item

    def _pass(self, item):
        if item == self._item:
            self.reached.set()
            assert self.gate.wait(WAIT_S)
        return item


#: Most of these have RxPY subscribe the stream when the queue behind it has subscribed already.
JOINS = {
    "alone": lambda source: source,
    "merge": lambda source: reactivex.merge(source, reactivex.never()),
    "flat_map": lambda source: reactivex.of(0).pipe(ops.flat_map(lambda _: source)),
    "switch_latest": lambda source: reactivex.of(source).pipe(ops.switch_latest()),
    "later": lambda source: reactivex.timer(0.01).pipe(ops.flat_map(lambda _: source)),
    "catch": lambda source: reactivex.throw(ValueError()).pipe(ops.catch(lambda *_: source)),
    "flat_map_bounded": lambda source: reactivex.of(0).pipe(
        rx.flat_map_bounded(lambda _: source, 2)
    ),
    "retry": lambda source: reactivex.defer(lambda _: source).pipe(ops.retry(2)),
}


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("item", [0, STOP])
@pytest.mark.parametrize("queues", [1, 2])
@pytest.mark.parametrize("scheduler", [None, loop_scheduler], ids=["thread", "loop"])
def test_an_item_on_its_way_to_a_queue(driver_dir, name, item, queues, join, scheduler):
    """RxPY drops it in an operator that it has stopped; nobody was given it."""
    way, observer = OnTheWay(item), Stopping(COUNT)
    before = [rx.observe_on_bounded(loop_scheduler(), 100)] if queues == 2 else []
    source = rx.from_stream(name, dir=driver_dir, scheduler=scheduler and scheduler())
    observable = JOINS[join](source.pipe(*before, way.operator)).pipe(
        rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(observable)
        publisher.send_many(range(COUNT), timeout_s=WAIT_S)
        assert way.reached.wait(WAIT_S)
        until(lambda: len(observer.items) == item)
        subscription.dispose()
        way.gate.set()
        until(lambda: not publisher.is_connected)
        assert observer.items == list(range(item))
        assert next_item(name, driver_dir) == item


@pytest.mark.parametrize("join", JOINS)
def test_items_that_wait_behind_a_join(driver_dir, name, join):
    observer = Stopping()
    observable = JOINS[join](rx.from_stream(name, dir=driver_dir)).pipe(
        rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with publishing(name, driver_dir, observable, observer) as (publisher, subscription):
        subscription.dispose()
        observer.gate.set()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == len(observer.items) == STOP


def test_a_stream_that_a_mapper_opened_loses_nothing_when_another_one_fails(driver_dir, name):
    other, got, failed = f"{name}-2", [], threading.Event()
    reached, gate = threading.Event(), threading.Event()

    def on_next(item):
        got.append(item)
        if item == 1000:
            reached.set()
            assert gate.wait(WAIT_S)
            raise ValueError(item)

    observable = reactivex.of(name, other).pipe(
        rx.flat_map_bounded(lambda each: rx.from_stream(each, dir=driver_dir), 2)
    )
    with (
        stream.publisher(name, dir=driver_dir, linger_s=0) as first,
        stream.publisher(other, dir=driver_dir, linger_s=0) as second,
    ):
        observable.subscribe(on_next, lambda _error: failed.set())
        second.send(1000, timeout_s=WAIT_S)
        assert reached.wait(WAIT_S)
        first.send_many(range(10), timeout_s=WAIT_S)
        time.sleep(0.1)  # its thread takes the first item, and waits for its turn
        gate.set()
        assert failed.wait(WAIT_S)
        until(lambda: not first.is_connected)
        assert got == [1000]
        assert next_item(name, driver_dir) == 0


@pytest.mark.parametrize("join", JOINS)
def test_a_batch_on_its_way_to_a_queue(driver_dir, name, join):
    way, observer = OnTheWay(mock.ANY), Stopping(COUNT)
    source = rx.from_stream(name, dir=driver_dir, batches=True)
    observable = JOINS[join](source.pipe(way.operator)).pipe(
        rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(observable)
        publisher.send_many(range(COUNT), timeout_s=WAIT_S)
        assert way.reached.wait(WAIT_S)
        subscription.dispose()
        way.gate.set()
        until(lambda: not publisher.is_connected)
        assert observer.items == []
        assert next_item(name, driver_dir) == 0


def test_an_item_that_a_filter_dropped_is_not_on_its_way(driver_dir, name):
    observer = Stopping(COUNT)
    observable = rx.from_stream(name, dir=driver_dir).pipe(
        ops.filter(lambda item: item < STOP), rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(observable)
        publisher.send_many(range(COUNT), timeout_s=WAIT_S)
        assert publisher.wait_consumed(timeout_s=WAIT_S)
        subscription.dispose()
        until(lambda: not publisher.is_connected)
        with stream.subscriber(name, dir=driver_dir) as reader:
            publisher.send(-1, timeout_s=WAIT_S)
            assert reader.get(timeout_s=WAIT_S) == -1


def test_another_branch_goes_on_behind_an_item_on_its_way(driver_dir, name):
    """The queue that is left has the source in common with another one."""
    way, left, stays = OnTheWay(STOP), Stopping(COUNT), Stopping(COUNT + 1)
    shared = rx.from_stream(name, dir=driver_dir).pipe(ops.share())
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        branch = left.subscribe(
            shared.pipe(way.operator, rx.observe_on_bounded(loop_scheduler(), 100))
        )
        stays.subscribe(shared.pipe(rx.observe_on_bounded(loop_scheduler(), 100)))
        publisher.send_many(range(COUNT), timeout_s=WAIT_S)
        assert way.reached.wait(WAIT_S)
        branch.dispose()
        way.gate.set()
        assert publisher.wait_consumed(timeout_s=WAIT_S)
        assert stays.items == list(range(COUNT))
