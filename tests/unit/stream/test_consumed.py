"""What counts as consumed: what a loop was given and came back from, never what it only holds.

So ``wait_consumed`` and ``close`` of a publisher wait for the loop, and the reader that comes after
one that left or died begins with what that one was not given.
"""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import anyio
import pytest

import rstream
from rstream import stream
from rstream.errors import MessagesLost, RemoteError
from rstream.stream._internal import reading_of, sending_of
from tests.support import free_port, is_all_on_the_network, until, until_async

COUNT = 200


@pytest.fixture
def publisher(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as made:
        yield made


def read_the_rest(name, driver_dir):
    """What a reader that comes now gets."""
    with stream.subscriber(name, dir=driver_dir) as sub:
        until(lambda: sub.is_connected)
        return sub.poll()


@pytest.mark.parametrize("given", [1, 7, COUNT - 1])
def test_the_next_reader_begins_where_a_loop_was_left(driver_dir, name, publisher, given):
    with stream.subscriber(name, dir=driver_dir) as sub:
        publisher.send_many(range(COUNT))
        for number in sub:
            if number == given - 1:
                break
    until(lambda: not publisher.is_connected)
    assert read_the_rest(name, driver_dir) == list(range(given, COUNT))


def test_control_messages_and_others_between_do_not_shift_it(driver_dir, name):
    with stream.subscriber(name, int, dir=driver_dir, on_lost="event") as sub:
        with stream.publisher(name, dir=driver_dir, linger_s=0) as first:
            first.send_many([0, "not a number", 1, "nor this", 2, 3, 4, 5])
        with stream.publisher(name, dir=driver_dir, linger_s=0) as second:
            second.send_many(range(6, COUNT))
            for number in sub:
                if number == 20:
                    break
            sub.close()
            until(lambda: not second.is_connected)
            assert read_the_rest(name, driver_dir) == list(range(21, COUNT))


def test_each_channel_of_a_reader_counts_its_own(driver_dir, name, monkeypatch):
    """A reader of several channels begins each poll with another one."""
    monkeypatch.setattr("rstream.stream._pump.PART_S", 0.0)  # each item counts
    udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        stream.reader(name, channels=["aeron:ipc", udp], dir=driver_dir) as reader,
        stream.publisher(name, dir=driver_dir, channel="aeron:ipc", linger_s=0) as near,
        stream.publisher(name, dir=driver_dir, channel=udp, linger_s=0) as far,
    ):
        until(lambda: near.is_connected and far.is_connected)
        numbers = []
        for turn in range(0, 300, 100):  # another channel begins in each
            near.send_many(range(turn, turn + 40))
            far.send_many(range(1000 + turn, 1040 + turn))
            until(lambda: all(sub.fill[0] >= 40 * 64 for sub in reader.subscriptions))
            for number in reader:
                numbers.append(number)
                given = sum(one < 1000 for one in numbers)
                assert sending_of(near).session.core.consumed_position <= given * 64
                if len(numbers) % 80 == 0:
                    break
            assert near.wait_consumed(timeout_s=10)
            assert far.wait_consumed(timeout_s=10)
        assert [one for one in numbers if one < 1000] == [
            turn + one for turn in range(0, 300, 100) for one in range(40)
        ]
        assert len(set(numbers)) == 240


def test_a_publisher_waits_for_the_loop(driver_dir, name, publisher):
    with stream.subscriber(name, dir=driver_dir) as sub:
        position = publisher.send_many(range(COUNT)) and publisher.position
        reading = iter(sub)
        assert [next(reading) for _ in range(COUNT - 1)] == list(range(COUNT - 1))
        assert not publisher.wait_consumed(position, timeout_s=0.05)
        next(reading)
        assert not publisher.wait_consumed(position, timeout_s=0.05)  # it works on the last one
        reading.close()
        assert publisher.wait_consumed(position, timeout_s=10)


def test_what_a_poll_returned_is_consumed(driver_dir, name, publisher):
    with stream.subscriber(name, dir=driver_dir) as sub:
        publisher.send_many(range(COUNT))
        until(sub.poll)
        assert publisher.wait_consumed(timeout_s=10)


READER = """
import sys, time
from rstream import stream
from rstream.errors import MessagesLost
for number in stream.subscriber(sys.argv[1], dir=sys.argv[2]):
    print(number, flush=True)
    if number == 99:
        time.sleep(600)
"""


def test_a_killed_reader_loses_nothing(driver_dir, name, publisher):
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, name, driver_dir], stdout=subprocess.PIPE, text=True
    )
    until(lambda: publisher.is_connected)
    publisher.send_many(range(COUNT))
    assert [int(next(reader.stdout)) for _ in range(100)] == list(range(100))
    reader.send_signal(signal.SIGKILL)
    reader.wait()
    reader.stdout.close()
    until(lambda: not publisher.is_connected)
    rest = read_the_rest(name, driver_dir)
    assert rest == list(range(rest[0], COUNT))
    assert rest[0] <= 100


def test_a_reader_between_two_looks_hides_no_loss(driver_dir, name):
    """Two readers leave before the publisher looks. It knows where the second one began and
    stopped; what the first one missed still is a gap.
    """
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:

        def leave_after(number):
            with stream.subscriber(name, channel=channel, dir=driver_dir) as sub:
                until(lambda: sub.is_connected)
                until(lambda: sending_of(pub).session.core.is_connected)
                if number is not None:
                    pub.send_many(range(10))
                    until(lambda: sub.subscriptions[0].fill[0] == pub.position)
                    assert [sub.get() for _ in range(number)] == list(range(number))
            until(lambda: not sending_of(pub).session.core.is_connected)

        leave_after(3)
        leave_after(None)
        assert sending_of(pub).session.core.left.times == 2
        events = pub.events()
        (gone,) = [event for event in events if isinstance(event, stream.Disconnected)]
        (gap,) = [event for event in events if isinstance(event, stream.Gap)]
        three = 3 * pub.position // 10
        assert gone.consumed_position <= three
        assert gap.from_position <= three
        assert gap.to_position == pub.position


def test_waiting_tells_what_the_last_reader_may_have_missed(driver_dir, name):
    """Over UDP the next reader begins behind it, so the positions alone would say "consumed"."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        with stream.subscriber(name, channel=channel, dir=driver_dir) as sub:
            until(lambda: pub.is_connected)
            pub.send_many(range(10))
            assert sub.get(timeout_s=5) == 0
            until(lambda: is_all_on_the_network(pub, driver_dir))
        until(lambda: not pub.is_connected)
        with stream.subscriber(name, channel=channel, dir=driver_dir) as sub:
            until(lambda: pub.is_connected)
            with pytest.raises(MessagesLost, match="bytes that were sent may be lost") as caught:
                pub.wait_consumed(timeout_s=5)
            (gap,) = [event for event in pub.events() if isinstance(event, stream.Gap)]
            assert caught.value.gap == gap
            pub.send(10)
            assert sub.get(timeout_s=5) == 10
            assert pub.wait_consumed(timeout_s=5)  # told once


@pytest.mark.parametrize("leaves", ["before", "meanwhile"])
@pytest.mark.parametrize("how", ["close", "fail"])
def test_waiting_tells_at_once_that_the_only_reader_has_left(driver_dir, name, leaves, how):
    """Also when it leaves in the wait, or nobody has looked since: no other reader comes."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    error = MessagesLost if how == "close" else RemoteError
    with (
        stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub,
        ThreadPoolExecutor(1) as pool,
    ):
        sub = stream.reader(name, channels=[channel], dir=driver_dir)
        until(lambda: pub.is_connected)
        pub.send_many(range(10))
        assert sub.get(timeout_s=5) == 0
        until(lambda: is_all_on_the_network(pub, driver_dir))
        leave = sub.close if how == "close" else functools.partial(sub.fail, "no use")
        if leaves == "before":
            leave()
            until(lambda: not sending_of(pub).session.core.is_connected)
        waiting = pool.submit(pub.wait_consumed, timeout_s=20)
        if leaves == "meanwhile":
            with suppress(TimeoutError):
                waiting.result(0.05)
            leave()
        with pytest.raises(error):
            waiting.result(3)


def test_waiting_is_silent_about_a_gap_that_events_has_told(driver_dir, name):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        with stream.subscriber(name, channel=channel, dir=driver_dir):
            until(lambda: pub.is_connected)
            pub.send_many(range(10))
            until(lambda: is_all_on_the_network(pub, driver_dir))
        until(lambda: not pub.is_connected)
        with stream.subscriber(name, channel=channel, dir=driver_dir):
            until(lambda: pub.is_connected)
            assert [event for event in pub.events() if isinstance(event, stream.Gap)]
            assert pub.wait_consumed(timeout_s=5)


def test_an_event_loop_is_told_too(driver_dir, name):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"

    async def main():
        async with rstream.aio.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
            async with rstream.aio.subscriber(name, channel=channel, dir=driver_dir):
                await pub.send(1)
                await until_async(lambda: is_all_on_the_network(pub, driver_dir))
            while pub.is_connected:
                await anyio.sleep(0.01)
            async with rstream.aio.subscriber(name, channel=channel, dir=driver_dir):
                with pytest.raises(MessagesLost):
                    await pub.wait_consumed(timeout_s=5)
                assert await pub.wait_consumed(timeout_s=5)

    anyio.run(main)


def test_an_end_alone_has_no_places(driver_dir, name):
    """A publisher of shared work stopped for ever when it took the end of a reader's reports."""
    with stream.subscriber(name, dir=driver_dir) as sub:
        stream.publisher(name, dir=driver_dir, linger_s=0).close()
        pub = stream.publisher(name, dir=driver_dir, linger_s=0)
        until(lambda: pub.is_connected)
        pub.close()
        reading = reading_of(sub)
        until(lambda: not reading.poll_held(8) and not reading.held_places() and sub.is_ended)
