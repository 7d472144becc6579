"""`wait_any`: one thread reads several streams."""

from __future__ import annotations

import threading
import time

import pytest

import rstream
from rstream import policy, stream
from rstream.errors import ConfigError
from tests.support import in_thread, until

#: Far longer than any wake-up, so that a test that needs it has missed one.
LONG_S = 60.0


@pytest.fixture
def opened(driver_dir, name):
    """Two subscribers of two streams and their publishers."""
    with (
        stream.subscriber(f"{name}a", dir=driver_dir) as first,
        stream.subscriber(f"{name}b", dir=driver_dir) as second,
        stream.publisher(f"{name}a", dir=driver_dir, linger_s=0) as to_first,
        stream.publisher(f"{name}b", dir=driver_dir, linger_s=0) as to_second,
    ):
        for pub, sub in ((to_first, first), (to_second, second)):
            pub.send("hello")
            assert sub.get(timeout_s=10) == "hello"
            sub.poll()  # what a loop has handed out counts with the next poll
        yield (first, second), (to_first, to_second)


def ready_are(subs, wanted):
    """Wait until those are ready. Events of the client may wake the others too, but not again."""
    until(lambda: rstream.wait_any(subs, LONG_S) == wanted)


def settle(subs):
    """Poll until nothing is left that wakes a wait."""
    until(lambda: not any(sub.poll() for sub in subs) and not rstream.wait_any(subs, 0))


def test_it_returns_who_has_something_in_the_order_given(opened):
    subs, pubs = opened
    settle(subs)
    pubs[1].send(1)
    ready_are(subs, [subs[1]])
    assert subs[1].poll() == [1]
    settle(subs)
    for pub in reversed(pubs):
        pub.send(2)
    ready_are(subs, list(subs))
    assert rstream.wait_any(reversed(subs), 0) == list(reversed(subs))


def test_a_message_wakes_a_thread_that_waits(opened):
    subs, pubs = opened
    settle(subs)
    got = []

    def read():
        while len(got) < 100:
            for sub in rstream.wait_any(subs, LONG_S):
                got.extend(sub.poll())

    began_s = time.monotonic()
    reading = in_thread(read)
    for number in range(100):
        pubs[number % 2].send(number)
        until(lambda count=number: len(got) > count)
    reading.join(10)
    assert got == list(range(100))
    assert time.monotonic() - began_s < LONG_S


def test_nothing_within_the_time(opened):
    subs, _ = opened
    settle(subs)

    def took_s():
        began_s = time.monotonic()
        return None if rstream.wait_any(subs, 0.2) else time.monotonic() - began_s

    assert until(took_s) >= 0.2


def test_an_ended_and_a_closed_subscriber_are_always_ready(opened):
    subs, pubs = opened
    settle(subs)
    pubs[0].close()
    until(lambda: not subs[0].poll() and subs[0].is_ended)
    ready_are(subs, [subs[0]])
    subs[1].close()
    assert rstream.wait_any(subs, LONG_S) == list(subs)


def test_the_loop_of_the_docstring_ends(opened):
    subs, pubs = opened
    reading, got = list(subs), []
    for pub in pubs:
        pub.send_many(range(1000))
        pub.close()
    while reading:
        for sub in rstream.wait_any(reading, LONG_S):
            got += [(sub.name, item) for item in sub.poll()]
            if sub.is_ended:
                reading.remove(sub)
    for sub in subs:
        assert [item for name, item in got if name == sub.name] == list(range(1000))


@pytest.mark.parametrize("change", ["wake", "close"])
def test_another_thread_ends_the_wait(opened, change):
    subs, _ = opened
    settle(subs)
    began = threading.Event()
    ready = []

    def wait():
        began.set()
        while subs[1] not in ready:  # an event of the client may wake the other one before
            ready[:] = rstream.wait_any(subs, LONG_S)

    began_s = time.monotonic()
    waiting = in_thread(wait)
    began.wait(10)
    getattr(subs[1], change)()
    waiting.join(30)
    assert subs[1] in ready
    assert time.monotonic() - began_s < LONG_S


def test_a_queue_of_a_policy_wakes_it_too(driver_dir, name):
    with (
        stream.subscriber(f"{name}q", dir=driver_dir, on_slow=policy.DropOldest(8)) as queued,
        stream.subscriber(f"{name}p", dir=driver_dir) as plain,
        stream.publisher(f"{name}q", dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(1)
        ready_are([plain, queued], [queued])
        until(lambda: queued.poll() == [1])
        settle([plain, queued])
        pub.send(2)
        ready_are([plain, queued], [queued])


def test_a_publisher_that_died_ends_the_wait(opened):
    subs, pubs = opened
    settle(subs)
    pubs[0].fail(ValueError("no more"))
    ready_are(subs, [subs[0]])
    with pytest.raises(rstream.errors.RemoteError, match="no more"):
        while True:
            subs[0].poll()


def test_a_driver_that_goes_ends_the_wait(make_driver_dir, name):
    with rstream.Driver(dir=make_driver_dir()) as driver:
        sub = stream.subscriber(name, dir=driver.dir)
        until(lambda: not rstream.wait_any([sub], 0.1))
        waiting = in_thread(rstream.wait_any, [sub], LONG_S)
    waiting.join(30)
    assert not waiting.is_alive()
    sub.close()


def test_what_cannot_be_waited_for_is_refused(opened):
    subs, pubs = opened
    with pytest.raises(ConfigError, match="no subscribers"):
        rstream.wait_any([])
    with pytest.raises(TypeError, match=r"waits for a list of subscribers.*Publisher"):
        rstream.wait_any([subs[0], pubs[0]])
    with pytest.raises(ConfigError, match="timeout_s"):
        rstream.wait_any(subs, float("nan"))


def test_one_subscriber_without_a_list_is_refused_and_keeps_its_messages(driver_dir, name):
    """It is iterable: as a list of subscribers it would be read to its end."""
    with (
        stream.subscriber(name, dir=driver_dir) as sub,
        stream.publisher(name, dir=driver_dir) as pub,
    ):
        pub.send(1)
        with pytest.raises(TypeError, match=r"wait_any\(\[subscriber\]\)"):
            rstream.wait_any(sub, timeout_s=0)
        assert sub.get(timeout_s=5) == 1
