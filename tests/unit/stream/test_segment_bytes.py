"""A message in a shared segment counts with its bytes wherever bytes that wait are counted.

The log has 64 bytes of it. What is told of queues, windows and views, and what closing waits for,
is about the message.
"""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

import rstream
from rstream import codecs, metrics, policy, rate, stream
from rstream.cli._stat import publication_lines
from rstream.errors import BackPressured
from rstream.prometheus._families import DirectoryLook, families
from rstream.testing import TestSubscriber
from tests.support import in_thread, until

MIB = 1 << 20
#: More than the frames of a few messages take, headers and padding included.
FRAMES = 4096
SEGMENTS_MAX = 32
SEGMENT_BYTES_MAX = 260 * MIB


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture
def pair(driver_dir, name):
    """Opens a publisher without a law and readers that have its first message."""
    opened = []

    def open_pair(codec=bytes, *, readers=1, reader=None, **options):
        pub = stream.publisher(
            name, codec="numpy" if codec is not bytes else "raw", dir=driver_dir, wait_for=readers,
            **({"linger_s": 0, "rate": rate.Unlimited()} | options),
        )  # fmt: skip
        opened.append(pub)
        for _ in range(readers):
            one = {"codec": codec} if codec is not bytes else {"codec": "raw"}
            opened.append(stream.subscriber(name, dir=driver_dir, **one, **(reader or {})))
        pub.send(np.zeros(1, "u1") if codec is not bytes else b"first")
        for sub in opened[1:]:
            sub.get(timeout_s=10)
            sub.poll()
        return list(opened)

    yield open_pair
    for one in opened:
        one.close()


def state_of(driver_dir, pub):
    (state,) = [s for s in metrics.publications(driver_dir) if s.session_id == pub.session_id]
    return state


def near(value, wanted):
    """The payload, and the frames that tell where it lies."""
    return wanted <= value < wanted + FRAMES


def views():
    return codecs.numpy(view=True)


# ---- queues ----


def test_what_waits_for_a_reader(pair):
    pub, sub = pair()
    window = sub.statistics()["window_bytes"]
    for _ in range(3):
        pub.send(bytes(MIB))
    assert near(sub.statistics()["fill_bytes"], 3 * MIB)
    assert sub.statistics()["window_bytes"] == window < MIB
    assert near(pub.statistics()["unread_bytes"], 3 * MIB)
    for left in (2, 1, 0):
        assert len(sub.poll(1)[0]) == MIB
        assert near(pub.statistics()["unread_bytes"], left * MIB)
    assert near(sub.statistics()["fill_bytes"], 0)
    pub.close()
    assert near(pub.statistics()["unread_bytes"], 0)


def test_messages_of_all_segments_many_times_over(pair):
    """The segments are used again and again, and the sums stay right."""
    pub, sub = pair()
    sent = taken = 0
    for count in (1, 5, 32, 7, 20, 32, 3):
        for number in range(count):
            pub.send(bytes(150_000 + number))
            sent += 150_000 + number
        assert near(sub.statistics()["fill_bytes"], sent - taken)
        for number in range(count):
            assert len(sub.get(timeout_s=10)) == 150_000 + number
            taken += 150_000 + number
        sub.poll()
        assert near(pub.statistics()["unread_bytes"], 0)


def test_a_reader_that_joins_late_counts_from_there(pair, driver_dir, name):
    pub, sub = pair()
    pub.send(bytes(MIB))
    sub.get(timeout_s=10)
    sub.poll()
    with stream.subscriber(name, bytes, dir=driver_dir) as late:
        until(lambda: late.is_connected)
        while late.poll():  # what the driver did not know to be consumed
            pass
        (before,) = late.subscriptions[0].images()
        assert before[11] in (0, MIB)
        assert near(late.statistics()["fill_bytes"], 0)
        pub.send(bytes(2 * MIB))
        assert near(late.statistics()["fill_bytes"], 2 * MIB)
        assert len(late.get(timeout_s=10)) == 2 * MIB
        late.poll()
        (image,) = late.subscriptions[0].images()
        assert image[11] == before[11] + 2 * MIB
        (image,) = sub.subscriptions[0].images()
        assert image[11] == MIB


def test_messages_in_the_log_and_in_parts_count_as_before(driver_dir, name):
    channel = str(rstream.Channel.udp("127.0.0.1:0"))
    with stream.subscriber(name, bytes, channel=channel, dir=driver_dir) as sub:
        port = sub.subscriptions[0].local_address.rpartition(":")[2]
        channel = f"aeron:udp?endpoint=127.0.0.1:{port}"
        with stream.publisher(name, bytes, channel=channel, dir=driver_dir, linger_s=0) as pub:
            sender = in_thread(pub.send, bytes(MIB))
            assert len(sub.get(timeout_s=20)) == MIB
            sender.join(10)
            sub.poll()
            assert sub.subscriptions[0].segments == (0, 0, 0, 0)
            until(lambda: pub.statistics()["unread_bytes"] == 0)
            state = state_of(driver_dir, pub)
            assert (state.large_bytes, state.segments) == (0, ())
            assert state.sent_bytes == state.sent


# ---- views ----


def test_views_of_segments_are_counted(pair, caplog):
    pub, sub = pair(views())
    for _ in range(2):
        pub.send(np.zeros(2 * MIB, "u1"))
    kept = [sub.get(timeout_s=10), sub.get(timeout_s=10)]
    sub.poll()
    assert near(sub.statistics()["view_bytes"], 4 * MIB)
    del kept[0]
    sub.poll()
    assert near(sub.statistics()["view_bytes"], 2 * MIB)
    kept.clear()
    sub.poll()
    assert sub.statistics()["view_bytes"] == 0
    assert sub.statistics()["view_holds"] == 0
    assert not caplog.records


@pytest.mark.parametrize(("length", "count"), [(150_000, 17), (44 * MIB, 3)])
def test_views_of_more_than_half_of_the_segments_are_told_once(pair, caplog, length, count):
    pub, sub = pair(views())
    kept = []
    for number in range(count):
        assert sub.statistics()["view_holds"] == 0
        pub.send(np.zeros(length, "u1"), timeout_s=10)
        kept.append(sub.get(timeout_s=10))
        assert sub.poll() == [], number
    assert sub.statistics()["view_holds"] == 1
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"hold {count} large messages of " in record.getMessage()
    assert "when it has 32, or 272629760 bytes" in record.getMessage()
    kept.clear()
    sub.poll()
    assert sub.statistics()["view_bytes"] == 0


def test_what_a_closed_reader_still_holds(pair):
    pub, sub = pair(views())
    pub.send(np.zeros(MIB, "u1"))
    kept = sub.get(timeout_s=10)
    sub.close()
    assert near(sub.statistics()["view_bytes"], MIB)
    assert kept.size == MIB


@pytest.mark.parametrize("term_length", ["64k", "1m", "16m"])
def test_what_a_loop_was_given_last_never_fills_the_segments(driver_dir, name, term_length):
    """All segments are unread when it begins. It refers to the last item while it waits for more,
    which must come; so no poll may hand out all of them.
    """
    channel = f"aeron:ipc?term-length={term_length}"
    ends = {"channel": channel, "dir": driver_dir}
    with (
        stream.subscriber(name, codec=views(), **ends) as sub,
        stream.publisher(name, codec="numpy", rate=rate.Unlimited(), linger_s=0, **ends) as pub,
    ):
        array = np.zeros(pub.max_unparted_length + 1, "u1")
        for _ in range(SEGMENTS_MAX):
            pub.send(array, timeout_s=10)
        got = []

        def read():
            for item in sub:
                got.append(item.size)
                if len(got) == SEGMENTS_MAX + 20:
                    break

        reader = in_thread(read)
        for _ in range(20):
            pub.send(array, timeout_s=10)
        reader.join(10)
        assert len(got) == SEGMENTS_MAX + 20


# ---- what others see ----


def test_the_queue_of_each_reader_is_told_to_tools(pair, driver_dir):
    pub, slow, quick = pair(readers=2)
    for _ in range(8):
        pub.send(bytes(4 * MIB))
    for _ in range(8):
        quick.get(timeout_s=10)
    quick.poll()
    slow.get(timeout_s=10)
    slow.get(timeout_s=10)
    state = state_of(driver_dir, pub)
    assert near(state.sent_bytes, 32 * MIB)
    assert near(state.queued_bytes, 24 * MIB)
    assert near(state.consumed_bytes, 8 * MIB)
    assert state.fill == pytest.approx(6 / SEGMENTS_MAX)  # messages, and of bytes a tenth
    assert state.slowest is None or state.slowest.fill(state.sent) < 0.01  # of the log
    look = DirectoryLook(
        dir=driver_dir,
        is_alive=True,
        publications=[state],
        images=[i for i in metrics.images(driver_dir) if i.session_id == pub.session_id],
    )
    found = {family.name: [value for _, value in family.samples] for family in families(look)}
    assert near(found["rstream_publication_sent_bytes"][0], 32 * MIB)
    assert near(found["rstream_publication_offered_bytes"][0], 32 * MIB)
    assert near(found["rstream_publication_consumed_bytes"][0], 8 * MIB)
    queues = sorted(found["rstream_reader_queued_bytes"])
    assert near(queues[0], 0)
    assert near(queues[1], 24 * MIB)
    consumed = sorted(found["rstream_reader_consumed_bytes"])
    assert near(consumed[0], 8 * MIB)
    assert near(consumed[1], 32 * MIB)


def test_a_publication_that_has_ended(pair, driver_dir):
    pub, _ = pair()
    pub.send(bytes(MIB))
    state = state_of(driver_dir, pub)
    pub.close()
    until(lambda: state_of(driver_dir, pub).is_ended)
    ended = state_of(driver_dir, pub)
    assert near(ended.queued_bytes, MIB)
    assert near(ended.sent_bytes, state.sent_bytes)


def test_tools_see_that_a_message_waits_and_which(pair, driver_dir):
    """The log has room, so only the publisher knows."""
    pub, sub = pair()
    for _ in range(SEGMENTS_MAX):
        pub.send(bytes(150_000))
    state = state_of(driver_dir, pub)
    assert (state.waits_for, state.waiting_bytes, state.fill) == (None, 0, 1.0)
    sender = in_thread(pub.send, bytes(200_000))
    state = until(lambda: (now := state_of(driver_dir, pub)).waiting_bytes and now)
    assert (state.waits_for, state.waiting_bytes) == ("window", 200_000)
    lines = publication_lines([state], driver_dir)
    assert "a message of 200,000 bytes waits until readers have consumed earlier" in lines[2]
    assert f"sent {state.sent_bytes:,} bytes" in "".join(lines)
    assert near(state.sent_bytes, SEGMENTS_MAX * 150_000)
    assert len(sub.get(timeout_s=10)) == 150_000
    sender.join(10)
    state = state_of(driver_dir, pub)
    assert (state.waits_for, state.waiting_bytes) == (None, 0)
    with pytest.raises(BackPressured, match=r"no room; .* bytes are unread") as caught:
        for _ in range(SEGMENTS_MAX):
            pub.send(bytes(150_000), timeout_s=0.1)
    assert caught.value.held_by == "window"
    assert state_of(driver_dir, pub).waiting_bytes == 0  # it has given up


# ---- closing and waiting ----


def test_wait_consumed_waits_for_the_reader_of_the_message(pair):
    pub, sub = pair()
    pub.send(bytes(MIB))
    assert not pub.wait_consumed(timeout_s=0.1)
    assert len(sub.get(timeout_s=10)) == MIB
    assert pub.wait_consumed(timeout_s=10)


def test_wait_consumed_waits_for_a_view(pair):
    pub, sub = pair(views())
    pub.send(np.zeros(MIB, "u1"))
    kept = sub.get(timeout_s=10)
    sub.poll()
    assert not pub.wait_consumed(timeout_s=0.1)
    assert kept.size == MIB
    del kept
    assert pub.wait_consumed(timeout_s=10)


def test_closing_waits_for_readers_for_linger_s_and_tells_what_is_left(pair, caplog):
    pub, sub = pair()
    for number in range(3):
        pub.send(bytes([number]) * MIB)
    began_s = time.monotonic()
    pub.close(linger_s=0.3)
    assert 0.3 <= time.monotonic() - began_s < 3
    (record,) = caplog.records
    (unread,) = [argument for argument in record.args if isinstance(argument, int)]
    assert near(unread, 3 * MIB), record.getMessage()
    assert [sub.get(timeout_s=10)[-1] for _ in range(3)] == [0, 1, 2]


def test_closing_ends_when_the_last_message_is_read(pair):
    pub, sub = pair()
    for _ in range(5):
        pub.send(bytes(MIB))
    closing = in_thread(lambda: pub.close(linger_s=60))
    for _ in range(5):
        assert closing.is_alive()
        assert len(sub.get(timeout_s=10)) == MIB
    until(lambda: not closing.is_alive() or sub.poll() is None)


def test_a_publisher_that_waits_tells_how_many_bytes_are_unread(pair, caplog):
    """Not how much memory it has, which it keeps."""
    pub, sub = pair()
    for _ in range(2):
        pub.send(bytes(20 * MIB))
        assert len(sub.get(timeout_s=10)) == 20 * MIB
    for _ in range(SEGMENTS_MAX):
        pub.send(bytes(150_000))
    with caplog.at_level(logging.WARNING, "rstream"):
        sender = in_thread(pub.send, bytes(150_000))
        until(lambda: "a large message waits" in caplog.text)
    (record,) = [each for each in caplog.records if "a large message waits" in each.getMessage()]
    assert near(record.args[1], SEGMENTS_MAX * 150_000)
    for _ in range(SEGMENTS_MAX + 1):
        assert len(sub.get(timeout_s=10)) == 150_000
    sender.join(10)


# ---- bounded with a reader that requests few ----


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("law", [rate.Default(), rate.Unlimited()])
def test_memory_is_bounded_when_a_reader_requests_few(driver_dir, name, view, law):
    """It gets as many messages as it asks for. What comes after them waits in the segments."""
    messages = SEGMENTS_MAX if view else SEGMENTS_MAX + 3  # views hold their segments
    few = TestSubscriber(initial_request=3)
    codec = codecs.numpy(view=view)
    source = stream.source(name, codec=codec, dir=driver_dir)
    source.subscribe(few)
    array = np.zeros(MIB, "u1")
    with stream.publisher(name, codec="numpy", dir=driver_dir, rate=law, linger_s=0) as pub:
        until(lambda: pub.is_connected)
        sent = 0
        with pytest.raises(BackPressured):
            while sent <= messages:
                pub.send(array, timeout_s=0.7)
                sent += 1
        assert 6 < sent <= messages
        assert len(few.values) == 3
        assert pub.statistics()["segment_bytes"] <= SEGMENT_BYTES_MAX
        unread = sent if view else sent - 3
        assert near(pub.statistics()["unread_bytes"], unread * MIB)
        few.request(2)
        until(lambda: len(few.values) == 5)
        few.cancel()


def test_a_policy_that_queues_takes_as_many_messages_as_it_says(pair):
    """The queue counts messages. What does not fit it waits in segments."""
    pub, sub = pair(reader={"on_slow": policy.Buffer(2)}, rate=rate.Unlimited())
    sender = in_thread(lambda: [pub.send(bytes([number]) * MIB) for number in range(10)])
    until(lambda: sub.statistics()["waiting"] == 2)
    sender.join(10)
    assert sub.statistics()["fill_bytes"] >= 6 * MIB
    assert [sub.get(timeout_s=10)[-1] for _ in range(10)] == list(range(10))
