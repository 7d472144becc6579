"""A subscriber with a queue that the program drops leaves the stream when it is collected, as one
without a queue does: its thread ends, and what waited is for the next reader.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref

import pytest

import rstream
from rstream import aio, policy, stream
from rstream.errors import MessagesLost, SlowConsumer
from rstream.stream._internal import BufferedReading, reading_of
from tests.support import free_port, in_thread, until

pytestmark = pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")

COUNT = 200
ROOM = 300

POLICIES = {
    "block": policy.Block(),
    "buffer": policy.Buffer(ROOM),
    "full buffer": policy.Buffer(20),
    "fail": policy.Fail(ROOM),
    "drop newest": policy.DropNewest(ROOM),
    "drop oldest": policy.DropOldest(ROOM),
    "latest": policy.Latest(key=lambda item: item, keys_max=ROOM),
}


@pytest.fixture
def publisher(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as made:
        yield made


def threads_of(name):
    return [one for one in threading.enumerate() if one.name == f"rstream-pump-{name}"]


def opened(publisher, name, on_slow, **options):
    """A subscriber that has all that it can take of COUNT numbers."""
    sub = rstream.subscriber(name, on_slow=on_slow, prefetch=16, **options)
    until(lambda: publisher.is_connected)
    publisher.send_many(range(COUNT), timeout_s=5)
    if isinstance(reading_of(sub), BufferedReading):
        most = min(COUNT, sub.statistics()["capacity"])
        until(lambda: sub.statistics()["messages"] >= most)
    return sub


def by_get(sub):
    return [sub.get(timeout_s=5) for _ in range(7)]


def by_poll(sub):
    return sub.poll(7)


def by_break(sub):
    for item in sub:
        if item == 6:
            break
    return range(7)


def by_error(sub):
    try:
        for item in sub:
            if item == 6:
                raise RuntimeError("the seventh")
    except RuntimeError:
        return range(7)


def by_batches(sub):
    return next(iter(sub.batches()))


FACES = [by_get, by_poll, by_break, by_error, by_batches]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("on_slow", POLICIES)
def test_the_next_reader_gets_what_waited(driver_dir, name, publisher, on_slow, face):
    given = list(face(opened(publisher, name, POLICIES[on_slow], dir=driver_dir)))
    gc.collect()
    assert given == list(range(len(given)))
    until(lambda: not threads_of(name))
    with stream.subscriber(name, dir=driver_dir) as sub:
        assert not publisher.wait_consumed(timeout_s=0)
        rest = [sub.get(timeout_s=5) for _ in range(len(given), COUNT)]
        assert not sub.poll()
        assert rest == list(range(len(given), COUNT))
        assert publisher.wait_consumed(timeout_s=5)


def is_told(publisher):
    try:
        publisher.wait_consumed(timeout_s=0.1)
    except MessagesLost:
        return True
    return False


@pytest.mark.parametrize("on_slow", POLICIES)
def test_over_udp_the_publisher_is_told_and_the_next_reader_joins(driver_dir, name, on_slow):
    where = {"dir": driver_dir, "channel": f"aeron:udp?endpoint=127.0.0.1:{free_port()}"}
    with stream.publisher(name, linger_s=0, **where) as publisher:
        by_error(opened(publisher, name, POLICIES[on_slow], **where))
        gc.collect()
        until(lambda: not threads_of(name))
        until(lambda: is_told(publisher))
        with stream.subscriber(name, **where) as sub:
            publisher.send("after it has joined", timeout_s=20)
            rest = [sub.get(timeout_s=5)]
            while rest[-1] != "after it has joined":
                rest.append(sub.get(timeout_s=5))
            # What was not sent to the first one is not lost.
            assert rest[:-1] == list(range(COUNT))[COUNT + 1 - len(rest) :]


def merged(_waiting, new):
    return new


@pytest.mark.parametrize(
    "on_slow", [policy.Conflate(merged), policy.Latest(), policy.DropOldest(1), policy.Fail(1)]
)
def test_a_policy_that_merges_drops_or_fails_lets_go(driver_dir, name, publisher, on_slow):
    sub = rstream.subscriber(name, on_slow=on_slow, dir=driver_dir)
    publisher.send_many(range(COUNT), timeout_s=5)
    statistics, gone = weakref.WeakMethod(sub.statistics), weakref.ref(sub)
    until(lambda: statistics()()["messages"] == COUNT)
    del sub
    gc.collect()
    assert gone() is None
    until(lambda: not threads_of(name))
    until(lambda: not publisher.is_connected)


def test_after_its_policy_has_failed(driver_dir, name, publisher):
    def read():
        sub = rstream.subscriber(name, on_slow=policy.Fail(2), dir=driver_dir)
        publisher.send_many(range(COUNT), timeout_s=5)
        until(lambda: not threads_of(name))  # it has left
        assert sub.get() == 0
        with pytest.raises(SlowConsumer):
            by_error(sub)

    read()
    gc.collect()
    with stream.subscriber(name, dir=driver_dir) as sub:
        assert until(sub.poll) == list(range(2, COUNT))


def test_a_dropped_subscriber_warns(driver_dir, name):
    with pytest.warns(ResourceWarning, match=r"was not closed; made at .*test_queue_dropped\.py"):
        rstream.subscriber(name, on_slow=policy.Latest(), dir=driver_dir)
    until(lambda: not threads_of(name))


@pytest.mark.filterwarnings("error:.*was not closed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_it_leaves_where_warnings_are_errors(driver_dir, name):
    rstream.subscriber(name, on_slow=policy.Latest(), dir=driver_dir)
    until(lambda: not threads_of(name))


def test_its_own_thread_may_collect_it(driver_dir, name, publisher):
    box = []

    def merge(waiting, new):
        box.clear()
        return new

    box.append(rstream.subscriber(name, on_slow=policy.Conflate(merge), dir=driver_dir))
    publisher.send_many(range(COUNT), timeout_s=5)
    until(lambda: not box and not threads_of(name))
    until(lambda: not publisher.is_connected)


def test_a_lock_that_its_thread_needs_is_held_meanwhile(driver_dir, name, publisher):
    lock, is_merging = threading.Lock(), threading.Event()

    def merge(_waiting, new):
        is_merging.set()
        with lock:
            return new

    with lock:
        sub = rstream.subscriber(name, on_slow=policy.Conflate(merge), dir=driver_dir)
        publisher.send_many(range(COUNT), timeout_s=5)
        assert is_merging.wait(5)
        begun_s = time.monotonic()
        del sub
        assert time.monotonic() - begun_s < 4
        assert threads_of(name)
    until(lambda: not threads_of(name))
    until(lambda: not publisher.is_connected)


def test_one_that_was_never_started(driver_dir, name, publisher, monkeypatch):
    monkeypatch.setattr(BufferedReading, "start", lambda one: one)
    sub = rstream.subscriber(name, on_slow=policy.Buffer(ROOM), dir=driver_dir)
    until(lambda: publisher.is_connected)
    del sub
    until(lambda: not publisher.is_connected)


def test_another_thread_collects_many_while_they_are_sent_to(driver_dir, name, publisher):
    subs = [rstream.subscriber(name, on_slow=policy.Latest(), dir=driver_dir) for _ in range(5)]
    subs.append(subs)  # a cycle
    until(lambda: publisher.is_connected)
    sending = in_thread(lambda: publisher.send_many(range(100_000), timeout_s=20))
    del subs
    in_thread(gc.collect).join(20)
    until(lambda: not threads_of(name))
    with stream.subscriber(name, dir=driver_dir) as sub:
        while sending.is_alive():
            sub.poll()


@pytest.mark.parametrize("is_asleep", [False, True], ids=["read", "asleep"])
def test_an_awaited_subscriber(driver_dir, name, publisher, is_asleep):
    async def read():
        sub = await aio.subscriber(name, dir=driver_dir, on_slow=policy.Buffer(ROOM))
        await asyncio.to_thread(publisher.send_many, range(COUNT), timeout_s=5)
        async for item in sub:
            if item == (COUNT - 1 if is_asleep else 6):
                break
        if is_asleep:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(aiter(sub)), 0.2)

    async def main():
        await read()
        gc.collect()
        await asyncio.sleep(0)
        gc.collect()
        until(lambda: not threads_of(name))

    asyncio.run(main())
    until(lambda: not publisher.is_connected)
    if not is_asleep:
        with stream.subscriber(name, dir=driver_dir) as sub:
            assert until(sub.poll) == list(range(7, COUNT))
