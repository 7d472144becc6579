"""What counts as consumed: what a loop was given and came back from, never what it only holds.

So ``wait_consumed`` and ``close`` of a publisher wait for the loop, and the reader that comes after
one that left or died begins with what that one was not given.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import rstream
from rstream import stream
from tests.support import until

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


def test_a_queue_of_a_policy_has_consumed_what_it_holds(driver_dir, name, publisher):
    with stream.subscriber(name, dir=driver_dir, on_slow=rstream.policy.Buffer(COUNT)) as sub:
        publisher.send_many(range(COUNT))
        assert publisher.wait_consumed(timeout_s=10)
        assert sub.poll() == list(range(COUNT))


READER = """
import sys, time
from rstream import stream
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
