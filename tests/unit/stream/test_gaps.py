"""A reader that its group leaves behind: an exact gap at once, and reading goes on by ``on_gap``.

Under ``fc=max``, the default of a group, a publisher goes with its fastest reader. Here the fast
reader reads after every 64 messages, and the slow one not at all until four terms of data were
sent.
"""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest

import rstream
from rstream import policy, rate, stream
from rstream.errors import ConfigError, MessagesLost
from tests.support import free_port, until

TERM = 1 << 20  # of a named stream
LENGTH = 1000
FRAME = 1056  # a message in the log, with its header


class Group:
    """A publisher, a fast reader, and a slow one that has an ``on_gap``."""

    def __init__(self, stack, driver_dir, name, **options):
        control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
        self.driver_dir, self.name, self.options = driver_dir, name, options
        self.sent = 0
        self.channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}"
        self.publisher = stack.enter_context(
            stream.publisher(
                name,
                bytes,
                channel=f"aeron:udp?{control}",
                dir=driver_dir,
                linger_s=0,
                rate=rate.Unlimited(),  # else the slow reader would slow it down
            )
        )
        self.fast = stack.enter_context(
            stream.subscriber(
                name,
                bytes,
                channel=f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}",
                dir=driver_dir,
            )
        )
        self.received_by_fast = 0

    def send(self, count):
        for _ in range(count):
            payload = self.sent.to_bytes(8, "big") + bytes(LENGTH - 8)
            until(lambda payload=payload: self.publisher.offer(payload) > 0)
            self.sent += 1
            if self.sent % 64 == 0:
                until(self.take_fast)
        until(self.take_fast)

    def take_fast(self):
        self.received_by_fast += len(self.fast.poll())
        return self.received_by_fast == self.sent

    def leave_behind(self, slow):
        """Send until the slow reader cannot get all any more."""
        until(lambda: slow.is_connected)
        until(lambda: self.publisher.is_connected)
        self.send(4 * TERM // FRAME)


@pytest.fixture
def group(driver_dir, name):
    with contextlib.ExitStack() as stack:
        yield Group(stack, driver_dir, name)


def number_of(item):
    return int.from_bytes(item[:8], "big")


def read_until(slow, group, numbers):
    """Poll until the newest message was read; returns the error that a poll raised."""

    def poll():
        numbers.extend(number_of(item) for item in slow.poll())
        return numbers and numbers[-1] == group.sent - 1

    try:
        until(poll)
    except MessagesLost as error:
        return error
    return None


def check_gap(gap, before, after):
    """The gap begins behind the message ``before`` and ends where the message ``after`` begins."""
    terms = TERM // FRAME  # messages in a term

    def position_of(number):
        return number // terms * TERM + number % terms * FRAME

    assert gap.from_position == position_of(before) + FRAME
    assert gap.to_position == position_of(after)
    assert gap.length_bytes == gap.to_position - gap.from_position
    assert "slower than its group" in gap.reason


def test_a_gap_is_raised_exactly_and_the_next_poll_goes_on_behind_it(group):
    with stream.subscriber(group.name, bytes, channel=group.channel, dir=group.driver_dir) as slow:
        group.leave_behind(slow)
        numbers = []
        error = read_until(slow, group, numbers)
        assert numbers == list(range(len(numbers)))
        last = numbers[-1]
        assert error.gap in slow.events()
        assert error.session_id == group.publisher.session_id
        assert error.position == error.gap.from_position
        assert f"({error.gap.length_bytes} bytes)" in str(error)
        assert not slow.is_ended
        behind = []
        assert read_until(slow, group, behind) is None
        assert behind == list(range(behind[0], group.sent))
        check_gap(error.gap, last, behind[0])
        # What is lost is what had left the publisher's history of one term, and little more.
        assert error.gap.to_position <= group.publisher.position - TERM // 2
        statistics = slow.statistics()
        assert statistics["overruns"] == 1
        assert statistics["skipped_bytes"] == error.gap.length_bytes
        # The reader keeps up from here on.
        group.send(TERM // FRAME)
        assert read_until(slow, group, behind) is None
        assert behind == list(range(behind[0], group.sent))


def test_resume_tells_the_gap_as_an_event_only(group):
    with stream.subscriber(
        group.name, bytes, channel=group.channel, dir=group.driver_dir, on_gap="resume"
    ) as slow:
        group.leave_behind(slow)
        numbers = []
        assert read_until(slow, group, numbers) is None
        (gap,) = (event for event in slow.events() if isinstance(event, stream.Gap))
        jumps = [(before, after) for before, after in pairwise(numbers) if after != before + 1]
        assert len(jumps) == 1
        check_gap(gap, *jumps[0])


def test_a_function_fills_the_gap_with_a_snapshot(group):
    gaps = []

    def fetch(gap):
        gaps.append(gap)
        return [(10**9).to_bytes(8, "big"), (10**9 + 1).to_bytes(8, "big")]

    with stream.subscriber(
        group.name, bytes, channel=group.channel, dir=group.driver_dir, on_gap=fetch
    ) as slow:
        group.leave_behind(slow)
        numbers = []
        assert read_until(slow, group, numbers) is None
        at = numbers.index(10**9)
        assert numbers[:at] == list(range(at))
        assert numbers[at + 1] == 10**9 + 1
        assert numbers[at + 2 :] == list(range(numbers[at + 2], group.sent))
        assert len(gaps) == 1
        check_gap(gaps[0], at - 1, numbers[at + 2])


def test_an_exception_of_the_function_reaches_the_reader_once(group):
    def fetch(gap):
        raise LookupError("no snapshot")

    with stream.subscriber(
        group.name, bytes, channel=group.channel, dir=group.driver_dir, on_gap=fetch
    ) as slow:
        group.leave_behind(slow)
        numbers = []
        with pytest.raises(LookupError, match="no snapshot"):
            read_until(slow, group, numbers)
        assert read_until(slow, group, numbers) is None


class OneByOne(rstream.abc.Subscriber[bytes]):
    """Asks for one element at a time."""

    def __init__(self):
        self.numbers, self.errors, self.subscription = [], [], None

    def on_subscribe(self, subscription):
        self.subscription = subscription

    def on_next(self, item):
        self.numbers.append(number_of(item))

    def on_error(self, error):
        self.errors.append(error)

    def on_complete(self):
        pass


def test_a_snapshot_needs_demand_as_any_element(group):
    source = stream.source(
        group.name,
        bytes,
        channel=group.channel,
        dir=group.driver_dir,
        on_gap=lambda _: [(10**9 + number).to_bytes(8, "big") for number in range(3)],
    )
    subscriber = OneByOne()
    source.subscribe(subscriber)
    until(lambda: subscriber.subscription is not None)
    until(lambda: group.publisher.is_connected)
    group.send(4 * TERM // FRAME)
    while not subscriber.numbers or subscriber.numbers[-1] < 10**9 + 2:
        count = len(subscriber.numbers)
        subscriber.subscription.request(1)
        until(lambda count=count: len(subscriber.numbers) > count)
        assert len(subscriber.numbers) == count + 1
    assert not subscriber.errors
    subscriber.subscription.cancel()


def test_behind_a_queue_the_error_keeps_its_place(group):
    with stream.subscriber(
        group.name,
        bytes,
        channel=group.channel,
        dir=group.driver_dir,
        on_slow=policy.Buffer(10),
    ) as slow:
        group.leave_behind(slow)
        numbers = []
        error = read_until(slow, group, numbers)
        assert numbers == list(range(len(numbers)))
        behind = []
        assert read_until(slow, group, behind) is None
        assert behind == list(range(behind[0], group.sent))
        check_gap(error.gap, numbers[-1], behind[0])


@pytest.mark.parametrize("on_gap", ["skip", None, 1])
def test_what_no_policy_is_is_refused(driver_dir, name, on_gap):
    with pytest.raises(ConfigError, match="on_gap="):
        stream.subscriber(name, dir=driver_dir, on_gap=on_gap)
    with pytest.raises(ConfigError, match="on_gap="):
        stream.source(name, dir=driver_dir, on_gap=on_gap)


# ---- unreliable streams ----


@pytest.fixture
def lossy(tmp_path):
    """An embedded driver that drops a tenth of the datagrams that it receives."""
    options = {"fault-receive-data-loss": "0.1", "fault-seed": "7"}
    with rstream.Driver(dir=str(tmp_path / "lossy"), options=options) as driver:
        yield driver.dir


@pytest.mark.parametrize(
    ("length", "count"), [(1000, 500), (5000, 150)], ids=["whole", "fragmented"]
)
def test_an_unreliable_stream_tells_what_it_has_lost(lossy, name, length, count):
    """Each gap reaches from the end of one message to the beginning of another one."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    numbers, events, ends = [], [], []
    with stream.subscriber(
        name, bytes, channel=f"{channel}|reliable=false", dir=lossy, on_lost="event"
    ) as sub:

        def read():
            numbers.extend(map(number_of, sub.poll()))
            events.extend(sub.events())
            return any(isinstance(event, stream.Unavailable) for event in events)

        with stream.publisher(name, bytes, channel=channel, dir=lossy, linger_s=0) as pub:
            until(lambda: pub.is_connected)
            for number in range(count):
                payload = number.to_bytes(8, "big") + bytes(length - 8)
                while (position := pub.offer(payload)) <= 0:
                    read()
                ends.append(position)
        until(read, 30.0)
        statistics = sub.statistics()
    missing = [(before, after) for before, after in pairwise([-1, *numbers]) if after != before + 1]
    assert len(missing) > 5
    gaps = [event for event in events if isinstance(event, stream.Gap)]
    told = [(gap.from_position, gap.to_position) for gap in gaps if "unreliable" in gap.reason]
    expected = [(ends[before] if before >= 0 else 0, ends[after - 1]) for before, after in missing]
    assert told[: len(expected)] == expected  # the end may be lost too
    assert statistics["gaps"] == len(told)
    assert statistics["skipped_bytes"] == sum(end - begin for begin, end in told)


def test_a_raw_subscription_tells_its_gaps(lossy):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        rstream.Client(dir=lossy) as client,
        client.add_subscription(f"{channel}|reliable=false", 7) as subscription,
        client.add_publication(channel, 7) as publication,
    ):
        gaps, received = [], 0

        def look():
            nonlocal received
            publication.offer(bytes(1000))
            with subscription.poll(100) as batch:
                received += len(batch)
            gaps.extend(event for event in subscription.events() if event.kind == "gap")
            return len(gaps) >= 3

        until(look)
        assert received > 0
        for gap in gaps:
            assert gap.end_position - gap.position == gap.received_position > 0
            assert gap.received_position % FRAME == 0
            assert not gap.is_available
