"""from_stream on a scheduler: virtual time, event loops, threads; batches as elements."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from rstream import stream
from rstream.errors import PublisherLost
from tests.support import until

pytest.importorskip("reactivex")
from reactivex import of
from reactivex import operators as ops
from reactivex.scheduler import (
    CurrentThreadScheduler,
    EventLoopScheduler,
    NewThreadScheduler,
    ThreadPoolScheduler,
)
from reactivex.scheduler.eventloop import AsyncIOThreadSafeScheduler
from reactivex.testing import TestScheduler

from rstream import rx
from rstream.stream._internal import sending_of

pytestmark = pytest.mark.integration


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture
def pub(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
        yield publisher


def open_ended(observer_list):
    ends = []
    return ends, (observer_list.append, ends.append, lambda: ends.append(None))


def connected(pub, reader):
    """Both know each other, so that a message is there when ``send`` has returned."""
    until(lambda: (reader.poll(), reader.is_connected and pub.is_connected)[1])


def test_in_virtual_time_a_stream_is_read_when_the_clock_moves(driver_dir, name, pub, own_threads):
    scheduler = TestScheduler()
    reader = stream.subscriber(name, dir=driver_dir)
    connected(pub, reader)
    seen = []
    ends, callbacks = open_ended(seen)
    rx.from_reader(reader, scheduler=scheduler).pipe(
        ops.buffer_with_time(10.0, scheduler=scheduler)
    ).subscribe(*callbacks, scheduler=scheduler)
    pub.send_many(range(5000))
    assert seen == []
    scheduler.advance_to(10.5)
    assert [len(window) for window in seen] == [5000]
    pub.send_many([1, 2])
    scheduler.advance_to(15.0)
    pub.send(3)
    scheduler.advance_to(20.5)
    pub.close()
    scheduler.advance_to(21.0)
    assert seen[1:] == [[1, 2, 3], []]
    assert ends == [None]
    assert reader.is_closed
    assert not own_threads()


def test_the_scheduler_of_subscribe_counts_too(driver_dir, name, pub):
    """TestScheduler.start gives itself to subscribe, and disposes at 1000."""
    reader = stream.subscriber(name, dir=driver_dir)
    connected(pub, reader)
    pub.send_many([1, 2])
    scheduler = TestScheduler()
    observed = scheduler.start(lambda: rx.from_reader(reader))
    assert [message.value.value for message in observed.messages] == [1, 2]
    assert [round(message.time) for message in observed.messages] == [200, 200]
    assert reader.is_closed  # though no step came after the dispose


def test_an_event_loop_scheduler_reads_in_its_thread(driver_dir, name, pub):
    scheduler = EventLoopScheduler()
    seen, threads, done, others = [], set(), threading.Event(), []
    rx.from_stream(name, dir=driver_dir, scheduler=scheduler).subscribe(
        lambda item: (seen.append(item), threads.add(threading.current_thread())),
        on_completed=done.set,
    )
    pub.send(0)
    scheduler.schedule(lambda *_: others.append(len(seen)))  # it has turns for others
    until(lambda: others)
    pub.send_many(range(1, 1000))
    pub.close(linger_s=5)
    assert done.wait(20)
    assert seen == list(range(1000))
    assert threads == {scheduler._thread}
    scheduler.dispose()


def test_asyncio_reads_in_the_loop_and_the_loop_goes_on(driver_dir, name, pub):
    seen, ends = [], []

    async def main():
        scheduler = AsyncIOThreadSafeScheduler(asyncio.get_running_loop())
        rx.from_stream(name, dir=driver_dir, scheduler=scheduler).subscribe(
            lambda item: seen.append((item, threading.get_ident())),
            ends.append,
            lambda: ends.append(None),
        )
        sending = asyncio.create_task(asyncio.to_thread(pub.send_many, range(1000)))
        turns = 0
        while len(seen) < 1000:
            await asyncio.sleep(0)
            turns += 1
        await sending
        assert turns >= 1000 // 64
        await asyncio.to_thread(pub.close)
        while not ends:
            await asyncio.sleep(0.001)

    asyncio.run(main())
    assert seen == [(number, threading.get_ident()) for number in range(1000)]
    assert ends == [None]


@pytest.mark.parametrize("kind", ["new thread", "pool"])
def test_a_scheduler_with_threads_gives_one_until_the_end(driver_dir, name, pub, kind):
    scheduler = NewThreadScheduler() if kind == "new thread" else ThreadPoolScheduler(1)
    threads, done = set(), threading.Event()
    rx.from_stream(name, dir=driver_dir, scheduler=scheduler).subscribe(
        lambda _: threads.add(threading.current_thread()), on_completed=done.set
    )
    pub.send_many(range(100))
    pub.close(linger_s=5)
    assert done.wait(20)
    (thread,) = threads
    assert not thread.name.startswith("rstream")
    if kind == "pool":
        scheduler.executor.shutdown()


def test_the_current_thread_reads_in_subscribe(driver_dir, name, pub):
    seen = []

    def send():
        pub.send_many(range(100))
        pub.close(linger_s=5)

    sender = threading.Thread(target=send)
    sender.start()
    rx.from_stream(name, dir=driver_dir, scheduler=CurrentThreadScheduler()).subscribe(seen.append)
    assert seen == list(range(100))
    sender.join(20)


def test_operators_that_pass_on_their_own_default_do_not_move_the_reading(driver_dir, name, pub):
    """``delay`` gives its source RxPY's timers."""
    threads, done = set(), threading.Event()
    rx.from_stream(name, dir=driver_dir).pipe(
        ops.do_action(lambda _: threads.add(threading.current_thread().name)), ops.delay(0.001)
    ).subscribe(on_completed=done.set)
    pub.send(1)
    pub.close(linger_s=5)
    assert done.wait(20)
    assert threads == {f"rstream-rx-{name}"}


def test_a_loop_that_is_shut_down_closes_the_reader(driver_dir, name, pub):
    scheduler = EventLoopScheduler()
    scheduler.dispose()
    reader = stream.subscriber(name, dir=driver_dir)
    errors = []
    rx.from_reader(reader, scheduler=scheduler).subscribe(on_error=errors.append)
    assert len(errors) == 1
    assert reader.is_closed


@pytest.mark.parametrize("on_loop", [False, True])
def test_batches_as_elements(driver_dir, name, pub, on_loop):
    scheduler = EventLoopScheduler() if on_loop else None
    seen, done = [], threading.Event()
    rx.from_stream(name, dir=driver_dir, batches=True, scheduler=scheduler).subscribe(
        seen.append, on_completed=done.set
    )
    pub.send_many(range(1000))
    pub.close(linger_s=5)
    assert done.wait(20)
    assert all(1 <= len(batch) <= 256 for batch in seen)
    assert len(seen) < 1000
    assert [item for batch in seen for item in batch] == list(range(1000))
    if scheduler:
        scheduler.dispose()


@pytest.mark.parametrize("on_loop", [False, True])
def test_an_observer_that_raises_leaves_the_stream(driver_dir, name, pub, on_loop):
    scheduler = EventLoopScheduler() if on_loop else None
    errors, done = [], threading.Event()
    rx.from_stream(name, dir=driver_dir, scheduler=scheduler).subscribe(
        lambda number: 1 / number, lambda error: (errors.append(error), done.set())
    )
    pub.send_many([1, 0, 1])
    assert done.wait(20)
    assert isinstance(errors[0], ZeroDivisionError)
    until(lambda: not pub.is_connected)
    if scheduler:
        scheduler.dispose()


def test_a_lost_publisher_reaches_on_error_on_a_loop(driver_dir, name, pub):
    scheduler = EventLoopScheduler()
    seen, errors, done = [], [], threading.Event()
    rx.from_stream(name, dir=driver_dir, scheduler=scheduler).subscribe(
        seen.append, lambda error: (errors.append(error), done.set())
    )
    pub.send(1)
    sending_of(pub).session.core.close()
    assert done.wait(20)
    assert seen == [1]
    assert isinstance(errors[0], PublisherLost)
    scheduler.dispose()


def test_dispose_on_a_loop_leaves_the_stream(driver_dir, name, pub):
    scheduler = EventLoopScheduler()
    seen = []
    subscription = rx.from_stream(name, dir=driver_dir, scheduler=scheduler).subscribe(seen.append)
    pub.send(1)
    until(lambda: seen)
    subscription.dispose()
    until(lambda: not pub.is_connected)
    time.sleep(0.02)
    assert seen == [1]
    scheduler.dispose()


@pytest.mark.parametrize(
    ("operator", "ends"),
    [
        (lambda loop: rx.on_backpressure_buffer(10), lambda loop: None),
        (lambda loop: rx.limit_rate(10, 5), lambda loop: None),
        (lambda loop: rx.flat_map_bounded(of, 2), lambda loop: None),
        (lambda loop: rx.observe_on_bounded(loop, 10), EventLoopScheduler.dispose),
        (lambda loop: rx.observe_on_bounded(loop, 10), None),
    ],
    ids=["buffer", "limit_rate", "flat_map", "observe_on disposed", "observe_on exit_if_empty"],
)
def test_a_program_leaves_no_thread_behind(driver_dir, name, pub, own_threads, operator, ends):
    """An EventLoopScheduler has a thread of RxPY, which its owner ends."""
    loop = EventLoopScheduler(exit_if_empty=ends is None)
    counts, done = [], threading.Event()
    rx.from_stream(name, dir=driver_dir).pipe(operator(loop), ops.count()).subscribe(
        counts.append, on_completed=done.set
    )
    pub.send_many(range(100))
    pub.close()
    assert done.wait(20)
    assert counts == [100]
    if ends is not None:
        ends(loop)
    until(lambda: not own_threads())
