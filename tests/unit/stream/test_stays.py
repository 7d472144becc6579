"""A reader with ``stays=True`` outlives the publishers that complete; only ``close`` ends it."""

from __future__ import annotations

import threading

import anyio
import pytest

import rstream
from rstream import aio, policy, stream
from rstream.errors import ClosedError, ReadTimeout, RemoteError, StreamEnded
from tests.support import in_thread, until

LIVES = 3
POLICIES = pytest.mark.parametrize(
    "on_slow", [policy.Block(), policy.Buffer(100), policy.DropOldest(100)], ids=repr
)


def completed(sub):
    return sub.statistics()["completed"]


def send_in_lives(name, driver_dir, items):
    """One publisher after the other; each one's object is there before the next one comes."""
    for number in range(LIVES):
        with stream.publisher(name, int, dir=driver_dir) as pub:
            pub.send(number)
        until(lambda wanted=number + 1: len(items) == wanted)


@POLICIES
@pytest.mark.parametrize("how", ["for", "batches"])
def test_a_loop_waits_for_the_next_publisher_until_it_is_closed(driver_dir, name, on_slow, how):
    items = []
    sub = rstream.subscriber(name, int, dir=driver_dir, stays=True, on_slow=on_slow)

    def read():
        if how == "for":
            for item in sub:
                items.append(item)  # noqa: PERF402 - each one must be seen at once
        else:
            for batch in sub.batches():
                items.extend(batch)

    thread = in_thread(read)
    send_in_lives(name, driver_dir, items)
    until(lambda: completed(sub) == LIVES)
    assert not sub.is_ended
    assert thread.is_alive()
    sub.close()
    thread.join(10)
    assert not thread.is_alive()
    assert items == list(range(LIVES))
    assert not sub.is_ended


@POLICIES
def test_get_waits_behind_the_end_of_a_publisher(driver_dir, name, on_slow):
    with stream.subscriber(name, int, dir=driver_dir, stays=True, on_slow=on_slow) as sub:
        for number in range(LIVES):
            with stream.publisher(name, int, dir=driver_dir) as pub:
                pub.send(number)
                assert sub.get(timeout_s=10) == number
            with pytest.raises(ReadTimeout):
                sub.get(timeout_s=0.01)
        waiting = threading.Event()
        error = []

        def wait():
            waiting.set()
            try:
                sub.get()
            except ClosedError as why:
                error.append(why)

        thread = in_thread(wait)
        assert waiting.wait(10)
        sub.close()
        thread.join(10)
        assert not thread.is_alive()
        assert len(error) == 1


def test_a_publisher_that_fails_is_told_and_the_others_are_read_on(driver_dir, name):
    with stream.subscriber(name, int, dir=driver_dir, stays=True) as sub:
        pub = stream.publisher(name, int, dir=driver_dir)
        pub.send(1)
        pub.fail("no more", linger_s=0)
        items = []
        with pytest.raises(RemoteError, match="no more"):
            items.extend(sub)
        with stream.publisher(name, int, dir=driver_dir) as pub:
            pub.send(2)
            for item in sub:
                items.append(item)
                break
        assert items == [1, 2]


def test_without_it_a_loop_ends_and_a_new_one_ends_at_once(driver_dir, name):
    """Until another publisher comes."""
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        for number in range(2):
            with stream.publisher(name, int, dir=driver_dir) as pub:
                pub.send(number)
                assert sub.get(timeout_s=10) == number
            assert [list(sub) for _ in range(3)] == [[]] * 3
            assert sub.is_ended
            with pytest.raises(StreamEnded):
                sub.get()


def test_a_reader_of_several_channels_stays(driver_dir, name):
    with stream.reader(name, int, dir=driver_dir, stays=True) as sub:
        with stream.publisher(name, int, dir=driver_dir) as pub:
            pub.send(1)
            assert sub.get(timeout_s=10) == 1
        until(lambda: sub.poll() == [] and completed(sub) == 1)
        assert not sub.is_ended


def test_an_awaited_loop_waits_for_the_next_publisher(driver_dir, name):
    async def run():
        items = []
        async with aio.subscriber(name, int, dir=driver_dir, stays=True) as sub:

            async def read():
                async for item in sub:
                    items.append(item)  # noqa: PERF401 - each one must be seen at once

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                await anyio.to_thread.run_sync(send_in_lives, name, driver_dir, items)
                while completed(sub) < LIVES:
                    await anyio.sleep(0.001)
                assert not sub.is_ended
                await sub.close()
        return items

    assert anyio.run(run) == list(range(LIVES))


@POLICIES
def test_a_reactive_source_does_not_complete(driver_dir, name, on_slow):
    items, ends = [], []

    class Taker(rstream.abc.Subscriber):
        def on_subscribe(self, subscription):
            self.subscription = subscription
            subscription.request(100)

        def on_next(self, item):
            items.append(item)

        def on_error(self, error):
            ends.append(error)

        def on_complete(self):
            ends.append(None)

    taker = Taker()
    stream.source(name, int, dir=driver_dir, stays=True, on_slow=on_slow).subscribe(taker)
    send_in_lives(name, driver_dir, items)
    assert ends == []
    pub = stream.publisher(name, int, dir=driver_dir)
    pub.send(LIVES)
    pub.fail("no more", linger_s=0)
    until(lambda: ends)
    assert items == list(range(LIVES + 1))
    assert isinstance(ends[0], RemoteError)
