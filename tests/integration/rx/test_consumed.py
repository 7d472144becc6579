"""What waits in the queue of an operator does not count as consumed: ``wait_consumed`` waits for
it, and when the pipeline is disposed the next reader begins with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from pathlib import Path

import pytest

from rstream import abc, stream
from tests.interrupts import at_each_place
from tests.support import in_thread, until

reactivex = pytest.importorskip("reactivex")
from reactivex import operators as ops  # noqa: E402
from reactivex.scheduler import (  # noqa: E402
    EventLoopScheduler,
    NewThreadScheduler,
    VirtualTimeScheduler,
)
from reactivex.subject import Subject  # noqa: E402

from rstream import rx  # noqa: E402
from rstream.rx import _drain  # noqa: E402

pytestmark = pytest.mark.integration

COUNT = 600
STOP = 25
WAIT_S = 20.0


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


class Stopping:
    """An observer that stands still in one item."""

    def __init__(self, stop=STOP):
        self.items, self.errors = [], []
        self.reached, self.gate, self.done = (threading.Event() for _ in range(3))
        self._stop = stop

    def on_next(self, item):
        self.items.append(item)
        if len(self.items) == self._stop:
            self.reached.set()
            assert self.gate.wait(WAIT_S)

    def on_error(self, error):
        self.errors.append(error)
        self.done.set()

    def on_completed(self):
        self.done.set()

    def subscribe(self, observable):
        return observable.subscribe(self.on_next, self.on_error, self.on_completed)


def loop_scheduler():
    return EventLoopScheduler(exit_if_empty=True)


def twice(item):
    return reactivex.of(item, item)


QUEUES = {
    "none": lambda: [],
    "observe_on_bounded": lambda: [rx.observe_on_bounded(loop_scheduler(), 100)],
    "new_threads": lambda: [rx.observe_on_bounded(NewThreadScheduler(), 100)],
    "limit_rate": lambda: [rx.limit_rate(100, 10)],
    "buffer": lambda: [rx.on_backpressure_buffer(100)],
    "buffer_drop_oldest": lambda: [rx.on_backpressure_buffer(COUNT, overflow="drop_oldest")],
    "buffer_fail": lambda: [rx.on_backpressure_error(COUNT)],
    "operators between": lambda: [
        ops.map(lambda item: item + 1),
        rx.observe_on_bounded(loop_scheduler(), 50),
        ops.filter(lambda item: item > 0),
        ops.map(lambda item: item - 1),
    ],
    "two queues": lambda: [
        rx.observe_on_bounded(loop_scheduler(), 7),
        ops.map(lambda item: item),
        rx.limit_rate(9, 3),
    ],
    "behind another": lambda: [
        rx.on_backpressure_buffer(COUNT),
        rx.observe_on_bounded(loop_scheduler(), 1),
    ],
}

DROPPING = ("buffer_drop_oldest", "buffer_fail", "behind another")


def next_item(name, driver_dir):
    """The first item of the next reader."""
    with stream.subscriber(name, dir=driver_dir) as reader:
        return reader.get(timeout_s=WAIT_S)


@contextlib.contextmanager
def publishing(name, driver_dir, observable, observer, count=COUNT):
    """Send while the observer reads; it stands still in an item when the block begins."""
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(observable)
        try:
            publisher.send_many(range(count), timeout_s=WAIT_S)
            assert observer.reached.wait(WAIT_S)
            yield publisher, subscription
        finally:
            observer.gate.set()
            subscription.dispose()


@pytest.mark.parametrize("queue", QUEUES)
def test_the_next_reader_begins_behind_what_the_observer_was_given(queue, driver_dir, name):
    observer = Stopping()
    observable = rx.from_stream(name, dir=driver_dir).pipe(*QUEUES[queue]())
    with publishing(name, driver_dir, observable, observer) as (publisher, subscription):
        assert not publisher.wait_consumed(timeout_s=0.1)
        subscription.dispose()
        observer.gate.set()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP
        assert observer.items == list(range(STOP))


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("channel", ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:0"])
def test_all_is_consumed_when_the_last_one_was_handled(queue, channel, driver_dir, name):
    observer = Stopping(COUNT)
    reader = stream.subscriber(name, channel=channel, dir=driver_dir, stays=True)
    if "udp" in channel:
        channel = f"aeron:udp?endpoint={reader.subscriptions[0].local_address}"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(rx.from_reader(reader).pipe(*QUEUES[queue]()))
        publisher.send_many(range(COUNT), timeout_s=WAIT_S)
        assert observer.reached.wait(WAIT_S)
        # A queue that drops holds an eighth of the window at most.
        assert queue in DROPPING or not publisher.wait_consumed(timeout_s=0.05)
        observer.gate.set()
        assert publisher.wait_consumed(timeout_s=WAIT_S)
        subscription.dispose()
    assert observer.items == list(range(COUNT))


def test_an_operator_below_that_has_enough(driver_dir, name):
    done = threading.Event()
    items = []
    observable = rx.from_stream(name, dir=driver_dir).pipe(
        rx.observe_on_bounded(loop_scheduler(), 100), ops.take(STOP)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        observable.subscribe(items.append, on_completed=done.set)
        publisher.send_many(range(COUNT))
        assert done.wait(WAIT_S)
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP
    assert items == list(range(STOP))


def test_an_operator_above_that_has_enough(driver_dir, name):
    """The reader is closed when the queue has handed on what it holds."""
    observer = Stopping(5)
    observable = rx.from_stream(name, dir=driver_dir).pipe(
        ops.take(STOP), rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with publishing(name, driver_dir, observable, observer) as (publisher, _):
        assert not observer.done.is_set()
        observer.gate.set()
        assert observer.done.wait(WAIT_S)
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP
    assert observer.items == list(range(STOP))


def test_an_operator_above_that_is_told_it_has_enough(driver_dir, name):
    """Between two steps of a loop: the reader is closed behind what the queue still hands on."""
    observer, enough = Stopping(), Subject()
    observable = rx.from_stream(name, dir=driver_dir, scheduler=loop_scheduler()).pipe(
        ops.take_until(enough), rx.on_backpressure_buffer(COUNT)
    )
    with publishing(name, driver_dir, observable, observer) as (publisher, _):
        enough.on_next(None)
        observer.gate.set()
        assert observer.done.wait(WAIT_S)
        until(lambda: not publisher.is_connected)
        assert observer.items == list(range(len(observer.items)))
        left = COUNT - len(observer.items)
        with stream.subscriber(name, dir=driver_dir) as reader:
            publisher.send(COUNT)
            assert reader.get(timeout_s=WAIT_S) == (len(observer.items) if left else COUNT)


def test_what_waits_at_the_end_of_the_stream_is_waited_for(driver_dir, name):
    observer = Stopping()
    publisher = stream.publisher(name, dir=driver_dir, linger_s=0)
    observer.subscribe(rx.from_stream(name, dir=driver_dir).pipe(rx.on_backpressure_buffer(COUNT)))
    publisher.send_many(range(COUNT))
    assert observer.reached.wait(WAIT_S)
    closing = threading.Thread(target=lambda: publisher.close(linger_s=WAIT_S))
    closing.start()
    observer.gate.set()
    assert observer.done.wait(WAIT_S)
    closing.join(WAIT_S)
    assert not closing.is_alive()
    assert observer.items == list(range(COUNT))
    assert not [event for event in publisher.events() if isinstance(event, stream.Gap)]


def test_several_items_made_of_one(driver_dir, name):
    observer = Stopping(2 * STOP - 1)  # in the first one of two
    observable = rx.from_stream(name, dir=driver_dir).pipe(
        ops.flat_map(twice), rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with publishing(name, driver_dir, observable, observer) as (publisher, subscription):
        subscription.dispose()
        observer.gate.set()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP - 1  # its second one was not given


def test_two_streams_in_one_queue(driver_dir, name):
    """Each stream counts its own items, in whatever order they were merged."""
    observer = Stopping(COUNT // 3)
    other = f"{name}-2"
    merged = reactivex.merge(
        rx.from_stream(name, dir=driver_dir), rx.from_stream(other, dir=driver_dir)
    ).pipe(rx.observe_on_bounded(loop_scheduler(), 100))
    with stream.publisher(other, dir=driver_dir, linger_s=0) as second:
        with publishing(name, driver_dir, merged, observer, COUNT // 2) as (
            publisher,
            subscription,
        ):
            second.send_many(range(1000, 1000 + COUNT), timeout_s=WAIT_S)
            subscription.dispose()
            observer.gate.set()
            until(lambda: not (publisher.is_connected or second.is_connected))
            got = [item for item in observer.items if item < 1000]
            assert next_item(name, driver_dir) == len(got)
            got = [item for item in observer.items if item >= 1000]
            assert next_item(other, driver_dir) == 1000 + len(got)


def test_an_observer_that_was_stopped_before_its_queue(driver_dir, name, monkeypatch):
    """RxPY stops the observer first: what is delivered before the queue stops reaches nobody."""
    observer, begun, gate = Stopping(1), threading.Event(), threading.Event()
    dispose = _drain.Drain.dispose

    def dispose_late(drain):
        begun.set()
        assert gate.wait(WAIT_S)
        dispose(drain)

    monkeypatch.setattr(_drain.Drain, "dispose", dispose_late)
    observable = rx.from_stream(name, dir=driver_dir).pipe(
        rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with publishing(name, driver_dir, observable, observer) as (publisher, subscription):
        disposing = in_thread(subscription.dispose)
        assert begun.wait(WAIT_S)
        observer.gate.set()
        time.sleep(0.1)  # the queue would deliver now
        gate.set()
        disposing.join(WAIT_S)
        until(lambda: not publisher.is_connected)
        assert observer.items == [0]
        assert next_item(name, driver_dir) == 1


def test_a_branch_that_was_disposed_holds_nothing(driver_dir, name):
    """Of two branches of one stream one is left. What waited there is gone; the other goes on."""
    left, stays = Stopping(), Stopping(COUNT)
    subject = Subject()
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        branch = left.subscribe(subject.pipe(rx.on_backpressure_buffer(COUNT)))
        stays.subscribe(subject.pipe(rx.on_backpressure_buffer(COUNT)))
        subscription = rx.from_stream(name, dir=driver_dir).subscribe(subject)
        publisher.send_many(range(COUNT))
        assert left.reached.wait(WAIT_S)
        assert stays.reached.wait(WAIT_S)
        stays.gate.set()
        assert not publisher.wait_consumed(timeout_s=0.1)
        branch.dispose()
        left.gate.set()
        assert publisher.wait_consumed(timeout_s=WAIT_S)
        subscription.dispose()
        stays.gate.set()


def test_work_in_flight_comes_again(driver_dir, name):
    """``flat_map_bounded``: the next reader begins at the oldest item whose work is not done."""
    works = {number: Subject() for number in range(4)}
    items = []
    observable = rx.from_stream(name, dir=driver_dir).pipe(
        rx.flat_map_bounded(works.__getitem__, 3)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observable.subscribe(items.append)
        publisher.send_many(range(4))
        until(lambda: all(works[number].observers for number in range(3)))
        for number in (0, 2):  # 3 takes the place of 0
            works[number].on_next(number)
            works[number].on_completed()
        until(lambda: bool(works[3].observers))
        assert not publisher.wait_consumed(timeout_s=0.1)
        subscription.dispose()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == 1
    assert items == [0, 2]


@pytest.mark.parametrize("is_caught", [False, True], ids=["retry", "catch within"])
def test_an_item_that_always_fails_beside_one_under_way(is_caught, driver_dir, name):
    """``flat_map_bounded``: each retry begins the one under way again, which is never done. Caught
    in its own Observable, the failure holds up nobody.
    """
    begun, items, errors, done = [], [], [], threading.Event()
    under_way = Subject()

    def work(number):
        begun.append(number)
        if number == 0:
            return under_way
        failing = reactivex.throw(ValueError("always"))
        return failing.pipe(ops.catch(reactivex.empty())) if is_caught else failing

    def fail(error):
        errors.append(str(error))
        done.set()

    observable = rx.from_stream(name, dir=driver_dir).pipe(
        rx.flat_map_bounded(work, 2), ops.retry(4)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        observable.subscribe(items.append, fail, done.set)
        publisher.send_many(range(2), timeout_s=WAIT_S)
        if is_caught:
            until(lambda: begun == [0, 1])
            under_way.on_next("done")
            under_way.on_completed()
            publisher.close(linger_s=WAIT_S)
        assert done.wait(WAIT_S)
    assert (items, errors) == ((["done"], []) if is_caught else ([], ["always"]))
    assert begun == [0, 1] * (1 if is_caught else 4)


def leave_an_async_loop(name, driver_dir, observable):
    """A loop over an Observable of the stream is left in the middle."""
    items = []

    async def read():
        async with contextlib.aclosing(aiter(observable)) as each:
            async for item in each:
                items.append(item)
                if len(items) == STOP:
                    break

    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        sending = threading.Thread(target=publisher.send_many, args=(range(COUNT),))
        sending.start()
        asyncio.run(read())
        sending.join(WAIT_S)
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP
    assert items == list(range(STOP))


def test_an_async_loop_that_is_left(driver_dir, name):
    observable = rx.from_stream(name, dir=driver_dir).pipe(rx.to_async_iterable(100))
    leave_an_async_loop(name, driver_dir, observable)


@pytest.mark.parametrize("prefetch", [1, 2, 16, 256])
@pytest.mark.parametrize("queue", ["none", "observe_on_bounded", "two queues"])
def test_retry_goes_on_behind_the_item_that_failed(queue, prefetch, driver_dir, name):
    # Twice, so that the second new reader begins where the first one stands, not the failed one.
    items, done = [], threading.Event()
    fails = [STOP, STOP + 200]

    def handle(item):
        if item in fails:
            fails.remove(item)
            raise ValueError(item)
        items.append(item)

    observable = rx.from_stream(name, dir=driver_dir, prefetch=prefetch).pipe(
        *QUEUES[queue](), ops.map(handle), ops.retry(3)
    )
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        observable.subscribe(on_completed=done.set)
        publisher.send_many(range(COUNT), timeout_s=WAIT_S)
        publisher.close(linger_s=WAIT_S)
    assert done.wait(WAIT_S)
    assert items == [number for number in range(COUNT) if number not in (STOP, STOP + 200)]


@pytest.mark.parametrize(
    "operator",
    [
        rx.on_backpressure_latest,
        rx.on_backpressure_drop,
        lambda: rx.on_backpressure_buffer(1000, overflow="drop_oldest"),
        lambda: rx.on_backpressure_latest(key=lambda item: item[0]),
    ],
    ids=["latest", "drop", "drop_oldest", "latest of keys"],
)
def test_a_queue_that_drops_slows_nobody_down(operator, driver_dir, name):
    observer = Stopping(1)
    observable = rx.from_stream(name, dir=driver_dir).pipe(operator())
    blob = b"x" * 10_000
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        subscription = observer.subscribe(observable)
        begun_s = time.monotonic()
        for _ in range(1000):  # 10 MB, twenty windows
            publisher.send(blob, timeout_s=WAIT_S)
        took_s = time.monotonic() - begun_s
        assert observer.reached.wait(WAIT_S)
        observer.gate.set()
        subscription.dispose()
    assert took_s < 5.0


class Cancelling(abc.Subscriber):
    """Takes some elements, all of which it has requested at once, and cancels in the last one."""

    def __init__(self):
        self.items, self.subscription = [], None
        self.is_sent = threading.Event()

    def on_subscribe(self, subscription):
        self.subscription = subscription
        subscription.request(COUNT)

    def on_next(self, item):
        self.items.append(item)
        if len(self.items) == STOP:
            assert self.is_sent.wait(WAIT_S)  # the sender would wait for another reader
            self.subscription.cancel()

    def on_error(self, error):
        raise AssertionError(error)

    on_complete = on_error


@pytest.mark.parametrize("way", ["source", "to_publisher"])
def test_a_subscriber_that_cancels_leaves_what_it_was_not_given(way, driver_dir, name):
    subscriber = Cancelling()
    if way == "source":
        publisher = stream.source(name, dir=driver_dir)
    else:
        publisher = rx.from_stream(name, dir=driver_dir).pipe(rx.to_publisher(100))
    with stream.publisher(name, dir=driver_dir, linger_s=0) as sender:
        publisher.subscribe(subscriber)
        sender.send_many(range(COUNT), timeout_s=WAIT_S)
        subscriber.is_sent.set()
        until(lambda: len(subscriber.items) == STOP and not sender.is_connected)
        assert next_item(name, driver_dir) == STOP


def test_a_source_as_an_observable_in_front_of_a_queue(driver_dir, name):
    observer = Stopping()
    observable = rx.from_publisher(stream.source(name, dir=driver_dir)).pipe(
        rx.observe_on_bounded(loop_scheduler(), 100)
    )
    with publishing(name, driver_dir, observable, observer) as (publisher, subscription):
        subscription.dispose()
        observer.gate.set()
        until(lambda: not publisher.is_connected)
        assert next_item(name, driver_dir) == STOP


def test_an_interrupted_delivery_leaves_the_rest_to_the_next_reader(driver_dir, name):
    """A signal handler raises at each place of it, in the thread of the program."""
    got, scheduler, subscription = [], None, None
    options = {"channel": "aeron:ipc?term-length=64k", "dir": driver_dir}

    def begin():
        nonlocal scheduler, subscription
        got.clear()
        scheduler = VirtualTimeScheduler()
        source = rx.from_stream(name, **options).pipe(rx.observe_on_bounded(scheduler, 100))
        subscription = source.subscribe(got.append)
        until(lambda: publisher.is_connected)
        publisher.send_many(range(3), timeout_s=WAIT_S)
        time.sleep(0.01)  # they come to the queue

    def check(where):
        subscription.dispose()
        until(lambda: not publisher.is_connected)
        left = []
        with stream.subscriber(name, **options) as reader:
            publisher.send(3, timeout_s=WAIT_S)
            while 3 not in left:
                left.append(reader.get(timeout_s=WAIT_S))
        assert got + left == [0, 1, 2, 3], where
        until(lambda: not publisher.is_connected)
        begin()

    with stream.publisher(name, linger_s=0, **options) as publisher:
        begin()
        drain = str(Path(rx.__file__).parent / "_drain.py")
        assert at_each_place(lambda: scheduler.start(), check, package=drain) > 10
