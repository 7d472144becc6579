"""Errors and objects keep their order, also for a reader that is slower than its publishers.

The error of a message is raised between the objects before it and those behind it. The error of a
publisher that failed or died comes behind its own objects and does not wait until nothing else has
arrived. Each test fills the stream before it reads, so that no poll finds the stream empty.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack

import numpy as np
import pytest

import rstream
from rstream import abc, codecs, policy, stream
from rstream import rx as rrx
from rstream.errors import CodecError, MessagesLost, PublisherLost, RemoteError, RStreamError
from rstream.ledger._internal import CommittedReading
from rstream.stream._internal import face_of, reading_of, sending_of
from rstream.stream._names import KIND_PLAIN, header_of
from rstream.stream._reading._placed_errors import PlacedErrors
from tests.support import free_port, until

BAD = "bad"
ERROR = "CodecError"
#: Bad messages first, last, side by side and alone.
SENT = [BAD, 0, 1, 2, BAD, BAD, 3, BAD, *range(4, 300), BAD]


@pytest.fixture
def publisher(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as made:
        yield made


def wanted(sent=SENT):
    return [ERROR if one == BAD else one for one in sent]


def polled(sub, count, limit=None):
    """What polls give, with the names of the errors in their places."""
    got = []

    def has_all():
        try:
            got.extend(sub.poll(limit))
        except RStreamError as error:
            got.append(type(error).__name__)
        return len(got) >= count

    until(has_all)
    return got


def looped(sub, count):
    """The same from loops: each is left by an error, and another one begins."""
    got = []
    while len(got) < count:
        try:
            for item in sub:
                got.append(item)
                if len(got) == count:
                    break
        except RStreamError as error:
            got.append(type(error).__name__)
    return got


def in_batches(sub, count):
    got = []
    while len(got) < count:
        try:
            for items in sub.batches():
                got += items
                if len(got) >= count:
                    break
        except RStreamError as error:
            got.append(type(error).__name__)
    return got


def got_one_by_one(sub, count):
    got = []
    while len(got) < count:
        try:
            got.append(sub.get(timeout_s=20))
        except RStreamError as error:
            got.append(type(error).__name__)
    return got


def got_and_looped(sub, count):
    """A loop is left by the error in the middle of what it polled; ``get`` goes on."""
    got = looped(sub, 5)
    return got + got_one_by_one(sub, count - len(got))


@pytest.mark.parametrize("read", [polled, looped, in_batches, got_one_by_one, got_and_looped])
def test_an_error_stands_where_its_message_stood(driver_dir, name, publisher, read):
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        publisher.send_many(SENT)
        assert read(sub, len(SENT)) == wanted()
        assert not sub.poll()
        assert sub.statistics()["refused"] == SENT.count(BAD)
        assert sub.statistics()["messages"] == len(SENT) - SENT.count(BAD)
        assert not sub.is_ended
        publisher.close()
        until(lambda: not sub.poll() and sub.is_ended)


def test_no_poll_exceeds_its_limit(driver_dir, name, publisher):
    """Also when an earlier poll has read more than this one may hand out."""
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        publisher.send_many([0, BAD, *range(1, 10)])
        assert polled(sub, 2) == [0, ERROR]
        assert reading_of(sub).is_ready()
        assert sub.wait(0)
        assert sub.poll(4) == [1, 2, 3, 4]
        assert sub.poll(4) == [5, 6, 7, 8]
        assert sub.poll(4) == [9]
        assert not reading_of(sub).is_ready()


def test_the_end_waits_for_what_is_behind_an_error(driver_dir, name, publisher):
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        publisher.send_many([BAD, 1, BAD])
        publisher.close()
        until(lambda: sub.subscriptions[0].fill[0] > 0)
        got = []
        while not sub.is_ended:
            try:
                got += sub.poll()
            except CodecError:
                got.append(ERROR)
        assert got == [ERROR, 1, ERROR]


def test_a_flood_does_not_hold_an_error_back(driver_dir, name):
    """The reader never finds the stream empty."""
    is_over = threading.Event()

    def feed():
        with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
            pub.send_many([1, BAD])
            while not is_over.is_set():
                pub.offer(2)

    with stream.subscriber(name, int, dir=driver_dir, prefetch=16) as sub:
        thread = threading.Thread(target=feed)
        thread.start()
        try:
            assert looped(sub, 3) == [1, ERROR, 2]
        finally:
            is_over.set()
            thread.join()


class Flood:
    """A publisher whose stream is full before the reader begins."""

    def __init__(self, pub):
        self.pub = pub

    def fill(self):
        while self.pub.offer("flood") > 0:
            pass


@pytest.mark.parametrize("channels", [1, 2])
def test_a_failure_of_one_comes_though_others_flood(driver_dir, name, channels):
    """With several channels each has its own transport subscription."""
    uris = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(channels)]
    with ExitStack() as stack:
        sub = stack.enter_context(
            stream.reader(name, channels=uris, dir=driver_dir, on_lost="raise", prefetch=64)
        )
        flood = Flood(
            stack.enter_context(stream.publisher(name, channel=uris[0], dir=driver_dir, linger_s=0))
        )
        failing = stack.enter_context(
            stream.publisher(name, channel=uris[-1], dir=driver_dir, linger_s=0)
        )
        until(lambda: failing.is_connected and flood.pub.is_connected)
        failing.send_many(range(10))
        failing.fail(ValueError("no more"))
        flood.fill()
        until(lambda: sum(one.fill[0] > 0 for one in sub.subscriptions) == channels)
        got, polls = [], 0
        with pytest.raises(RemoteError, match="no more"):
            while polls < 40:
                polls += 1
                got += sub.poll()
                flood.fill()
        assert [one for one in got if one != "flood"] == list(range(10))
        until(lambda: "flood" in sub.poll())  # more of it may still be on its way


DYING = """
import sys, rstream
pub = rstream.publisher(sys.argv[1], dir=sys.argv[2], linger_s=0)
pub.send_many(range(10))
print("sent", flush=True)
sys.stdin.read()
"""


def test_a_death_comes_though_others_flood(driver_dir, name, publisher):
    with stream.subscriber(name, dir=driver_dir, prefetch=64) as sub:
        flood = Flood(publisher)
        process = subprocess.Popen(
            [sys.executable, "-c", DYING, name, driver_dir],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            assert process.stdout.readline() == b"sent\n"
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        got = []

        def has_died():
            flood.fill()
            got.extend(sub.poll())

        with pytest.raises(PublisherLost):
            until(has_died)
        assert [one for one in got if one != "flood"] == list(range(10))
        until(lambda: "flood" in sub.poll())  # more of it may still be on its way


def test_without_a_loop_the_rest_stays_with_the_stream(driver_dir, name, publisher):
    """What lies behind the error is not consumed: the next reader gets it."""
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        publisher.send_many([0, 1, BAD, 2, 3])
        consumed = []
        with pytest.raises(CodecError):
            for item in sub:
                consumed.append(item)  # noqa: PERF402 - kept at the error
        assert consumed == [0, 1]
        assert sub.get(timeout_s=0) == 2
    until(lambda: not publisher.is_connected)
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        assert polled(sub, 1) == [3]


def test_a_message_whose_error_was_raised_is_consumed(driver_dir, name, publisher):
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        publisher.send_many([0, BAD])
        assert looped(sub, 2) == [0, ERROR]
        assert publisher.wait_consumed(timeout_s=5)


def test_places_of_objects_behind_an_error(driver_dir, name, publisher):
    """Each poll tells session and position of its own objects."""
    with stream.reader(name, int, dir=driver_dir, on_lost="raise") as reader:
        reading, ends = reading_of(reader), []
        for one in (0, BAD, 1, BAD, 2):
            publisher.send(one)
            ends.append(publisher.position)
        got = []
        for _ in range(5):
            try:
                items = reading.poll_held(None)
            except CodecError as error:
                got.append(str(error))
                continue
            places = reading.held_places()
            reading.consume(len(items))
            got.append(list(zip(items, places, strict=True)))
        session_id = publisher.session_id
        assert [got[at] for at in (0, 2, 4)] == [
            [(number, (session_id, ends[2 * number]))] for number in range(3)
        ]
        assert f"position {ends[1]}" in got[1]
        assert f"position {ends[3]}" in got[3]


def test_views_behind_an_error_are_valid(driver_dir, name):
    """Views of one batch hold it together until the last of them is gone."""
    codec = codecs.numpy("u1", (8192,), view=True)
    channel = "aeron:ipc?mtu=16k"
    with (
        stream.publisher(name, bytes, channel=channel, dir=driver_dir, linger_s=0) as pub,
        stream.subscriber(name, codec=codec, channel=channel, dir=driver_dir) as sub,
    ):
        sending_of(pub).state.header = header_of(
            KIND_PLAIN, codec.codec_id, name
        )  # any bytes, as if of the codec
        arrays = [np.full(8192, number, "u1") for number in range(4)]
        data = [b"".join(codec.encode(array)) for array in arrays]
        pub.send(data[3])
        first = polled(sub, 1)  # until then the window is not known, and a poll takes one message
        pub.send_many([data[0], b"broken", data[1], data[2]])
        got = [sub.poll()]
        with pytest.raises(CodecError):
            sub.poll()
        got.append(sub.poll())
        assert [len(items) for items in got] == [1, 2]
        kept = [*first, *got[0], *got[1]]
        pub.send(data[3])
        assert len(sub.poll()) == 1
        assert [array[0] for array in kept] == [3, 0, 1, 2]
        assert all((array == array[0]).all() for array in kept)


@pytest.mark.parametrize(
    "on_slow", [policy.Buffer(1000), policy.DropNewest(1000), policy.DropOldest(1000)]
)
@pytest.mark.parametrize("read", [polled, looped, got_one_by_one])
def test_the_queue_of_a_policy_keeps_the_order(driver_dir, name, publisher, on_slow, read):
    with stream.subscriber(name, int, dir=driver_dir, on_slow=on_slow) as sub:
        publisher.send_many(SENT)
        until(lambda: sub.statistics()["refused"] == SENT.count(BAD))
        until(lambda: sub.statistics()["waiting"] == len(SENT) - SENT.count(BAD))
        assert read(sub, len(SENT)) == wanted()
        assert not sub.poll()


def test_an_error_moves_up_when_older_items_are_dropped(driver_dir, name, publisher):
    with stream.subscriber(name, int, dir=driver_dir, on_slow=policy.DropOldest(3)) as sub:
        publisher.send_many([0, 1, 2, BAD, 3, 4])
        until(lambda: sub.statistics()["dropped"] == 2)
        assert polled(sub, 4) == [2, ERROR, 3, 4]


def test_an_error_stands_behind_what_is_merged(driver_dir, name, publisher):
    """A merged item keeps its place, so new items never hold the error back."""
    with stream.subscriber(name, int, dir=driver_dir, on_slow=policy.Latest()) as sub:
        publisher.send_many([0, BAD, 1, 2])
        until(lambda: sub.statistics()["conflated"] == 2)
        assert polled(sub, 2) == [2, ERROR]
        publisher.send(3)
        assert polled(sub, 1) == [3]


def test_places_in_a_queue():
    errors = PlacedErrors()
    assert not errors.is_due
    assert errors.most(7) == 7
    first, second = ValueError(1), ValueError(2)
    errors.put(first, 2)
    errors.put(second, 5)
    assert len(errors) == 2
    assert errors.most(7) == 2
    errors.gone += 1
    assert errors.most(7) == 1
    assert not errors.is_due
    errors.gone += 1
    assert errors.is_due
    assert errors.most(7) == 0
    assert errors.take() is first
    assert not errors.is_due
    assert errors.most(7) == 3
    errors.gone += 9  # the oldest were dropped
    assert errors.most(7) == 0
    assert errors.take() is second


def test_the_pump_of_committed_delivery_keeps_the_order(driver_dir, name, publisher):
    """Writers that know nothing of commits share the queue with those that do."""
    source = stream.reader(name, list[int], dir=driver_dir, on_lost="raise")
    reading = CommittedReading(
        reading_of(source), name=name, stream_id=1, channels={}, dir=driver_dir
    )
    with face_of(reading) as sub:
        reading._start_pump([])
        publisher.send_many([[0], BAD, [1], [2], BAD])
        until(lambda: len(reading._errors) == 2)
        assert polled(sub, 5) == [[0], ERROR, [1], [2], ERROR]
        assert not reading.is_ready()


def test_an_event_loop_gets_the_order(driver_dir, name, publisher):
    async def read():
        got = []
        async with rstream.aio.subscriber(name, int, dir=driver_dir) as sub:
            publisher.send_many(SENT)
            while len(got) < len(SENT):
                try:
                    async for item in sub:
                        got.append(item)  # noqa: PERF401 - kept at the error
                except RStreamError as error:
                    got.append(type(error).__name__)
        return got

    assert asyncio.run(asyncio.wait_for(read(), 30)) == wanted()


def test_rx_ends_with_the_error_in_its_place(driver_dir, name, publisher):
    got, done = [], threading.Event()
    rrx.from_stream(name, int, dir=driver_dir).subscribe(
        got.append, lambda error: (got.append(type(error).__name__), done.set())
    )
    until(lambda: publisher.is_connected)
    publisher.send_many([0, 1, BAD, 2])
    assert done.wait(20)
    assert got == [0, 1, ERROR]


class Requester(abc.Subscriber):
    """Requests a few elements, and notes the signals."""

    def __init__(self, count):
        self.count, self.got, self.subscription = count, [], None

    def on_subscribe(self, subscription):
        self.subscription = subscription
        subscription.request(self.count)

    def on_next(self, element):
        self.got.append(element)

    def on_error(self, error):
        self.got.append(type(error).__name__)

    def on_complete(self):
        self.got.append("complete")


@pytest.mark.parametrize("requested", [2, 10])
def test_a_reactive_subscriber_gets_the_error_in_its_place(driver_dir, name, publisher, requested):
    """The error itself needs no demand, but the element before it does."""
    subscriber = Requester(requested)
    stream.source(name, int, dir=driver_dir).subscribe(subscriber)
    until(lambda: publisher.is_connected)
    for one in (0, 1, BAD, 2):
        publisher.offer(one)
    until(lambda: len(subscriber.got) >= 2)
    if requested == 2:
        subscriber.subscription.request(1)  # the message that cannot be decoded is taken for it
    until(lambda: subscriber.got == [0, 1, ERROR])


def test_the_error_of_a_gap_keeps_its_place(driver_dir, name, publisher):
    """What was reported before comes first."""
    with stream.reader(name, int, dir=driver_dir, on_lost="raise") as reader:
        publisher.send_many([0, BAD, 1])
        assert polled(reader, 1) == [0]
        reading = reading_of(reader)
        reading.gaps.on_overrun(reading.inputs.joined[0], publisher.session_id, 64, 128)
        assert polled(reader, 3) == [ERROR, 1, MessagesLost.__name__]


def test_a_codec_that_returns_too_few_ends_no_order(driver_dir, name):
    """No object is known to belong to a message; the publisher's failure comes behind the error."""

    class Short:
        codec_id = codecs.USER_CODEC_ID

        def encode(self, obj):
            return obj

        def decode_many(self, messages):
            return [1] * (len(messages) - 1)

    with (
        stream.reader(name, codec=Short(), dir=driver_dir, on_lost="raise") as reader,
        stream.publisher(name, codec=Short(), dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send_many([b"1", b"2"])
        pub.fail("over")
        assert polled(reader, 2) == [ERROR, "RemoteError"]
