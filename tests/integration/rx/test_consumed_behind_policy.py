"""Behind the queue of a policy too, what waits in the queue of an operator is not consumed."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("reactivex")
from reactivex import operators as ops
from reactivex.subject import Subject

from rstream import policy, rx, stream
from rstream.stream._internal import reading_of
from tests.support import until

from .test_consumed import (
    COUNT,
    QUEUES,
    STOP,
    WAIT_S,
    Cancelling,
    Stopping,
    leave_an_async_loop,
    loop_scheduler,
    next_item,
    publishing,
)

pytestmark = pytest.mark.integration

ROOM = 2 * COUNT
#: Their 64 bytes each fit an eighth of the window over UDP: policies that drop hold no more.
FEW = COUNT // 3
POLICIES = {
    "buffer": policy.Buffer(ROOM),
    "small buffer": policy.Buffer(10),
    "fail": policy.Fail(ROOM),
    "drop newest": policy.DropNewest(ROOM),
    "drop oldest": policy.DropOldest(ROOM),
    "latest": policy.Latest(key=lambda item: item, keys_max=ROOM),
}


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("on_slow", POLICIES)
def test_the_next_reader_begins_behind_what_the_observer_was_given(
    on_slow, queue, driver_dir, name
):
    observer = Stopping()
    observable = rx.from_stream(name, dir=driver_dir, on_slow=POLICIES[on_slow]).pipe(
        *QUEUES[queue]()
    )
    with publishing(name, driver_dir, observable, observer) as (publisher, subscription):
        subscription.dispose()
        observer.gate.set()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP
        assert observer.items == list(range(STOP))


@pytest.mark.parametrize("on_slow", POLICIES)
@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:0"])
def test_all_is_consumed_when_the_last_one_was_handled(channel, on_slow, driver_dir, name):
    """All others wait in the queue of the operator, or are done. They fit an eighth of the window:
    a policy that drops holds no more.
    """
    observer = Stopping()
    reader = stream.subscriber(
        name, channel=channel, dir=driver_dir, on_slow=POLICIES[on_slow], stays=True
    )
    if "udp" in channel:
        channel = f"aeron:udp?endpoint={reading_of(reader).reader.subscriptions[0].local_address}"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as publisher:
        queue = rx.observe_on_bounded(loop_scheduler(), FEW)
        subscription = observer.subscribe(rx.from_reader(reader).pipe(queue))
        publisher.send_many(range(FEW), timeout_s=WAIT_S)
        assert observer.reached.wait(WAIT_S)
        until(lambda: reader.statistics()["messages"] == FEW)
        until(lambda: reader.statistics()["waiting"] == 0)
        assert not publisher.wait_consumed(timeout_s=0.1)
        observer.gate.set()
        assert publisher.wait_consumed(timeout_s=WAIT_S)
        subscription.dispose()
    assert observer.items == list(range(FEW))


def test_every_part_of_what_was_merged_comes_again(driver_dir, name):
    observer = Stopping(1)
    merging = policy.Conflate(merge=lambda waiting, new: waiting + new)
    reader = stream.subscriber(name, dir=driver_dir, on_slow=merging)
    observable = rx.from_reader(reader).pipe(rx.observe_on_bounded(loop_scheduler(), 1))
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(observable)
        publisher.send([0])
        assert observer.reached.wait(WAIT_S)
        publisher.send_many([[number] for number in range(1, COUNT)], timeout_s=WAIT_S)
        until(lambda: reader.statistics()["messages"] == COUNT)
        subscription.dispose()
        observer.gate.set()
        until(lambda: not publisher.is_connected)
        assert observer.items == [[0]]
        assert next_item(name, driver_dir) == [1]


def test_what_was_dropped_before_the_operator_is_consumed(driver_dir, name):
    """Of a queue with little room: the next reader gets what waits in it, and in the operator."""
    observer = Stopping(1)
    observable = rx.from_stream(name, dir=driver_dir, on_slow=policy.DropOldest(5)).pipe(
        rx.observe_on_bounded(loop_scheduler(), 7)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(observable)
        publisher.send(0)
        assert observer.reached.wait(WAIT_S)
        publisher.send_many(range(1, COUNT), timeout_s=WAIT_S)
        subscription.dispose()
        observer.gate.set()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == 1


def test_a_pipeline_that_stands_still_does_not_slow_the_publisher(driver_dir, name):
    """The policy lets go what the operator holds when that is an eighth of the window."""
    observer = Stopping(1)
    source = rx.from_stream(name, dir=driver_dir, on_slow=policy.DropOldest(5))
    for operator in (rx.observe_on_bounded(loop_scheduler(), 100), rx.on_backpressure_latest()):
        observable = source.pipe(operator)
        with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
            subscription = observer.subscribe(observable)
            for _ in range(200):  # 2 MB, four windows
                publisher.send(bytes(10_000), timeout_s=WAIT_S)
            assert observer.reached.wait(WAIT_S)
            observer.gate.set()
            subscription.dispose()


def test_an_operator_above_that_has_enough(driver_dir, name):
    """The reader is closed when the operator's queue has handed on what it holds. Until then it
    drops nothing of what is for the next reader.
    """
    observer, left = Stopping(5), threading.Event()
    reader = stream.subscriber(name, dir=driver_dir, on_slow=policy.DropOldest(STOP))
    observable = rx.from_reader(reader).pipe(
        ops.finally_action(left.set), ops.take(STOP), rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        observer.subscribe(observable)
        publisher.send_many(range(STOP), timeout_s=WAIT_S)
        assert observer.reached.wait(WAIT_S)
        assert left.wait(WAIT_S)
        publisher.send_many(range(STOP, COUNT), timeout_s=WAIT_S)
        assert not publisher.wait_consumed(timeout_s=0.1)
        observer.gate.set()
        assert observer.done.wait(WAIT_S)
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP
    assert observer.items == list(range(STOP))


def test_work_in_flight_comes_again(driver_dir, name):
    works = {number: Subject() for number in range(4)}
    observable = rx.from_stream(name, dir=driver_dir, on_slow=policy.Buffer(ROOM)).pipe(
        rx.flat_map_bounded(works.__getitem__, 3)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observable.subscribe()
        publisher.send_many(range(4))
        until(lambda: all(works[number].observers for number in range(3)))
        for number in (0, 2):
            works[number].on_completed()
        until(lambda: bool(works[3].observers))
        assert not publisher.wait_consumed(timeout_s=0.1)
        subscription.dispose()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == 1


def test_an_async_loop_that_is_left(driver_dir, name):
    source = rx.from_stream(name, dir=driver_dir, on_slow=policy.Buffer(ROOM))
    leave_an_async_loop(name, driver_dir, source.pipe(rx.to_async_iterable(100)))


@pytest.mark.parametrize("queue", ["none", "observe_on_bounded", "two queues"])
def test_retry_goes_on_behind_the_item_that_failed(queue, driver_dir, name):
    items, done = [], threading.Event()
    fails = [STOP, STOP + 200]

    def handle(item):
        if item in fails:
            fails.remove(item)
            raise ValueError(item)
        items.append(item)

    observable = rx.from_stream(name, dir=driver_dir, on_slow=policy.Buffer(ROOM)).pipe(
        *QUEUES[queue](), ops.map(handle), ops.retry(3)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        observable.subscribe(on_completed=done.set)
        publisher.send_many(range(COUNT), timeout_s=WAIT_S)
        publisher.close(linger_s=WAIT_S)
    assert done.wait(WAIT_S)
    assert items == [number for number in range(COUNT) if number not in (STOP, STOP + 200)]


@pytest.mark.parametrize("way", ["source", "to_publisher"])
def test_a_subscriber_that_cancels_leaves_what_it_was_not_given(way, driver_dir, name):
    subscriber, on_slow = Cancelling(), policy.Buffer(ROOM)
    if way == "source":
        publisher = stream.source(name, dir=driver_dir, on_slow=on_slow)
    else:
        publisher = rx.from_stream(name, dir=driver_dir, on_slow=on_slow).pipe(rx.to_publisher(100))
    with stream.publisher(name, dir=driver_dir, linger_s=0) as sender:
        publisher.subscribe(subscriber)
        sender.send_many(range(COUNT), timeout_s=WAIT_S)
        subscriber.is_sent.set()
        until(lambda: len(subscriber.items) == STOP and not sender.is_connected)
        assert next_item(name, driver_dir) == STOP
