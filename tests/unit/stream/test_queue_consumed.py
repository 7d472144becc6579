"""What waits in the queue of a policy does not count as consumed: the next reader gets it."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from reactivex import operators as ops

import rstream
from rstream import aio, policy, stream
from rstream.errors import RStreamError, SlowConsumer
from tests.support import in_thread, until

COUNT = 200
ROOM = 300

POLICIES = {
    "buffer": policy.Buffer(ROOM),
    "fail": policy.Fail(ROOM),
    "drop newest": policy.DropNewest(ROOM),
    "drop oldest": policy.DropOldest(ROOM),
    "latest": policy.Latest(key=lambda item: item, keys_max=ROOM),
}


@pytest.fixture
def publisher(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as made:
        yield made


def rest_of(name, driver_dir, publisher):
    """What a reader that comes now gets."""
    until(lambda: not publisher.is_connected)
    with stream.subscriber(name, dir=driver_dir) as sub:
        return until(sub.poll)


def filled(name, driver_dir, publisher, on_slow, count=COUNT):
    sub = rstream.subscriber(name, dir=driver_dir, on_slow=on_slow, prefetch=64)
    publisher.send_many(range(count), timeout_s=5)
    until(lambda: sub.statistics()["messages"] == count)
    return sub


def by_get(sub):
    with sub:
        return [sub.get(timeout_s=5) for _ in range(7)]


def by_poll(sub):
    with sub:
        return sub.poll(7)


def by_break(sub):
    with sub:
        for item in sub:
            if item == 6:
                return range(7)
    return None


def by_error(sub):
    with pytest.raises(RuntimeError), sub:
        for item in sub:
            if item == 6:
                raise RuntimeError("the seventh")
    return range(7)


def by_loop_and_get(sub):
    with sub:
        for item in sub:
            if item == 2:
                break
        return [0, 1, 2, *sub.poll(3), sub.get(timeout_s=5)]


def by_batches(sub):
    with sub:
        return next(iter(sub.batches()))


FACES = {
    "get": by_get,
    "poll": by_poll,
    "break": by_break,
    "error": by_error,
    "loop, then get": by_loop_and_get,
    "batches": by_batches,
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("on_slow", POLICIES)
def test_the_next_reader_gets_what_waited(driver_dir, name, publisher, on_slow, face):
    given = list(FACES[face](filled(name, driver_dir, publisher, POLICIES[on_slow])))
    assert given == list(range(len(given)))
    assert rest_of(name, driver_dir, publisher) == list(range(len(given), COUNT))


@pytest.mark.parametrize("on_slow", POLICIES)
def test_an_awaited_loop_gives_back_what_waited(driver_dir, name, publisher, on_slow):
    async def read():
        sub = await aio.subscriber(name, dir=driver_dir, on_slow=POLICIES[on_slow])
        publisher.send_many(range(COUNT), timeout_s=5)
        async with sub:
            async for item in sub:
                if item == 6:
                    break

    asyncio.run(read())
    assert rest_of(name, driver_dir, publisher) == list(range(7, COUNT))


def test_an_observer_gives_back_what_waited(driver_dir, name, publisher):
    source = rstream.rx.from_stream(name, dir=driver_dir, on_slow=policy.Buffer(ROOM))
    seen: list[int] = []
    taken = ops.take_while(lambda item: item < 6, inclusive=True)
    subscription = source.pipe(taken).subscribe(seen.append)
    publisher.send_many(range(COUNT), timeout_s=5)
    until(lambda: len(seen) == 7)
    subscription.dispose()
    assert rest_of(name, driver_dir, publisher) == list(range(7, COUNT))


SCRIPT = """
import sys
import rstream
from rstream import policy
sub = rstream.subscriber(sys.argv[1], dir=sys.argv[2], on_slow=policy.Buffer(300))
for item in sub:
    if item == 0:
        print("reads", flush=True)
    if item == 6:
        raise RuntimeError("the seventh")
"""


def test_a_script_that_ends_by_an_error_gives_back_what_waited(driver_dir, name):
    command = [sys.executable, "-c", SCRIPT, name, driver_dir]
    whole = "aeron:ipc?pub-wnd=512k"  # all are there at once, however soon the script ends
    with stream.publisher(name, channel=whole, dir=driver_dir, linger_s=0) as publisher:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            until(lambda: publisher.is_connected)
            publisher.send_many(range(COUNT), timeout_s=5)
            assert program.wait(20) == 1
        assert rest_of(name, driver_dir, publisher) == list(range(7, COUNT))


def test_a_publisher_waits_for_what_waits_in_the_queue(driver_dir, name, publisher):
    with filled(name, driver_dir, publisher, policy.Buffer(ROOM)) as sub:
        assert not publisher.wait_consumed(timeout_s=0.05)
        assert sub.poll(COUNT - 1) == list(range(COUNT - 1))
        assert not publisher.wait_consumed(timeout_s=0.05)
        assert sub.get(timeout_s=5) == COUNT - 1
        assert publisher.wait_consumed(timeout_s=10)


@pytest.mark.parametrize(
    ("on_slow", "left"),
    [
        (policy.DropOldest(5), range(COUNT - 3, COUNT)),
        (policy.DropNewest(5), range(2, 5)),
    ],
    ids=["oldest", "newest"],
)
def test_what_was_dropped_is_consumed(driver_dir, name, publisher, on_slow, left):
    """And what was taken; of a queue that drops the newest, all behind it has come and gone."""
    with filled(name, driver_dir, publisher, on_slow) as sub:
        taken = sub.poll(2)
    rest = rest_of(name, driver_dir, publisher)
    assert taken + rest[: len(left)] == [*range(left[0] - 2, left[0]), *left]


def test_what_was_merged_into_an_item_that_waits_comes_again(driver_dir, name, publisher):
    on_slow = policy.Conflate(merge=lambda waiting, new: waiting + new)
    with filled(name, driver_dir, publisher, on_slow) as sub:
        assert sub.poll() == [sum(range(COUNT))]
        publisher.send_many(range(COUNT, 2 * COUNT), timeout_s=5)
        until(lambda: sub.statistics()["messages"] == 2 * COUNT)
    assert rest_of(name, driver_dir, publisher) == list(range(COUNT, 2 * COUNT))


def test_a_queue_larger_than_the_window_does_not_hold_the_publisher(
    driver_dir, name, publisher, caplog
):
    """Then what waited longest counts as consumed, and the log says so when it is lost."""
    count = 20_000  # of 64 bytes, which is more than twice the window
    with filled(name, driver_dir, publisher, policy.Buffer(count), count) as sub:
        assert sub.poll(10) == list(range(10))
    rest = rest_of(name, driver_dir, publisher)
    lost = [record.args[1] for record in caplog.records if "are lost" in record.msg]
    assert len(lost) == 1
    assert rest[0] == 10 + lost[0]


def test_a_queue_that_drops_does_not_slow_its_publisher(driver_dir, name, publisher):
    with rstream.subscriber(name, dir=driver_dir, on_slow=policy.DropOldest(3)) as sub:
        publisher.send_many(range(50_000), timeout_s=20)
        until(lambda: sub.statistics()["messages"] == 50_000)
        assert sub.poll() == [49_997, 49_998, 49_999]


def test_an_error_of_the_key_leaves_the_stream(driver_dir, name, publisher):
    on_slow = policy.Latest(key=lambda item: 1 // (item - 3), keys_max=5)
    with rstream.subscriber(name, dir=driver_dir, on_slow=on_slow) as sub:
        publisher.send_many(range(10), timeout_s=5)
        until(lambda: not publisher.is_connected)
        assert sub.get(timeout_s=5) is not None
        with pytest.raises((ZeroDivisionError, RStreamError)):
            until(lambda: sub.poll() and False)


@pytest.mark.parametrize("face", ["get", "break"])
@pytest.mark.parametrize("room", [50, 1000, 3000])
def test_a_full_window_behind_the_queue_loses_nothing(
    driver_dir, name, publisher, caplog, room, face
):
    """What waits in the window holds nobody up that the queue could let go."""
    sender = in_thread(publisher.send_many, range(20_000))
    with rstream.subscriber(name, dir=driver_dir, on_slow=policy.Buffer(room)) as sub:
        until(lambda: sub.statistics()["waiting"] == room)
        until(lambda: publisher.statistics()["waits"] > 0)
        items = sub if face == "break" else iter(lambda: sub.get(timeout_s=5), None)
        for number, item in enumerate(items):
            assert item == number
            if number == 9:
                break
    with rstream.subscriber(name, dir=driver_dir) as sub:
        rest = [sub.get(timeout_s=20) for _ in range(20_000 - 10)]
    sender.join(20)
    assert rest == list(range(10, 20_000))
    assert "are lost" not in caplog.text


def test_what_made_a_policy_fail_is_for_the_next_reader(driver_dir, name, publisher):
    with rstream.subscriber(name, dir=driver_dir, on_slow=policy.Fail(50)) as sub:
        publisher.send_many(range(300), timeout_s=5)
        got = []
        with pytest.raises(SlowConsumer):
            for item in sub:
                got.append(item)
                until(lambda: not publisher.is_connected)
    assert got == list(range(len(got)))
    assert len(got) >= 50
    assert rest_of(name, driver_dir, publisher) == list(range(len(got), 300))
