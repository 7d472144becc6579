"""Messages in parts: any size, put together; small ones pass; what cannot be is told and freed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time

import pytest

import rstream
from rstream import policy, rate, stream
from rstream._core import ReaderLeft
from rstream.errors import (
    BackPressured,
    ClosedError,
    ConcurrentUseError,
    ConfigError,
    MessageTooLarge,
)
from rstream.stream import _parts
from rstream.stream._internal import sending_of
from tests.support import free_port, in_thread, until

MIB = 1 << 20
SIZES = (0, 1, 70, 1376, MIB // 8, MIB // 8 + 1, 200_000, MIB, 5 * MIB + 13)


def message_of(number, length):
    """Bytes that no other message has, nor any other place of the same one."""
    return random.Random(number).randbytes(length)


@contextlib.contextmanager
def pair(name, driver_dir, channel=None, *, reader=None, **options):
    """A reader and a publisher that is connected to it."""
    with (
        stream.subscriber(name, bytes, channel=channel, dir=driver_dir, **(reader or {})) as sub,
        stream.publisher(
            name, bytes, channel=channel, dir=driver_dir, linger_s=0, **options
        ) as pub,
    ):
        until(lambda: pub.is_connected)
        yield sub, pub


def take(sub, count, timeout_s=30.0):
    """That many messages."""
    found = []
    deadline_s = time.monotonic() + timeout_s
    while len(found) < count:
        found += sub.poll()
        assert time.monotonic() < deadline_s, f"{len(found)} of {count} messages"
        sub.wait(0.05)
    return found


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """The directory of a driver that loses one datagram in a hundred."""
    options = {"fault-receive-data-loss": "0.01", "fault-seed": "7"}
    directory = str(tmp_path_factory.mktemp("large") / "lossy")
    with rstream.Driver(dir=directory, options=options) as driver:
        yield driver.dir


def channels():
    group = f"aeron:udp?endpoint=224.20.30.51:{free_port()}|interface=127.0.0.1"
    return [None, f"aeron:udp?endpoint=127.0.0.1:{free_port()}", group]


@pytest.mark.parametrize("medium", range(3), ids=["ipc", "udp", "multicast"])
def test_every_size_arrives_as_it_was_sent(lossy, name, medium):
    sent = [message_of(number, length) for number, length in enumerate(SIZES)]
    with pair(name, lossy, channels()[medium]) as (sub, pub):
        sender = in_thread(pub.send_many, sent)
        assert take(sub, len(sent), 60.0) == sent
        sender.join(10.0)
        assert pub.statistics()["messages"] == len(sent)
        assert pub.progress is None
        assert sub.statistics()["partial_bytes"] == 0
        assert sub.statistics()["refused"] == 0


def test_buffers_of_one_object_are_one_message(driver_dir, name):
    class Pieces:
        codec_id = 200

        def encode(self, obj):
            return list(obj)

        def decode_many(self, messages):
            return messages

    pieces = [message_of(1, 100_001), b"", memoryview(bytearray(range(200)) * 500), b"end"]
    with (
        stream.subscriber(name, codec=Pieces(), dir=driver_dir) as sub,
        stream.publisher(name, codec=Pieces(), dir=driver_dir, linger_s=0) as pub,
    ):
        until(lambda: pub.is_connected)
        sender = in_thread(pub.send, pieces)
        assert take(sub, 1) == [b"".join(pieces)]
        sender.join(10.0)


def test_parts_are_whole_frames_and_cover_the_message(driver_dir, name):
    with stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub:
        core = sending_of(pub).session.core
        assert _parts.part_length(core) % core.max_payload_length == 0
        assert 32_768 < _parts.part_length(core) <= 65_536
        for lengths in ((200_000,), (1, 0, 199_999), (65_488,) * 3, (1,) * 300 + (150_000,)):
            whole = message_of(sum(lengths), sum(lengths))
            views, at = [], 0
            for length in lengths:
                views.append(whole[at : at + length])
                at += length
            message = _parts.PartedMessage(views)
            message.begin(core, 7)
            seen = b""
            while not message.is_sent:
                part = b"".join(message.next_part())
                assert part == b"".join(message.next_part())  # until it is counted as sent
                prefix = (7).to_bytes(8, "little") + len(whole).to_bytes(8, "little")
                assert part[:24] == prefix + len(seen).to_bytes(8, "little")
                assert len(part) <= _parts.part_length(core)
                assert message.advance() == len(part) - 24
                seen += part[24:]
            assert seen == whole


class Session:
    """What :class:`PartedMessage` asks a publication for."""

    max_message_length, max_payload_length, position, left = (
        1 << 20,
        1376,
        4096,
        ReaderLeft((1, 2048, -1, 4096)),
    )


@pytest.mark.parametrize(
    ("left", "is_again"),
    [
        ((1, 2048, -1, 4096), False),  # as at its beginning
        ((1, 2048, 4096, 4096), False),  # the next reader began where the message begins
        ((1, 2048, 1024, 4096), False),
        ((1, 2048, 4128, 4096), True),  # or behind its first frame
        ((2, 4160, -1, 4160), True),  # the next reader has left too
    ],
)
def test_a_message_begins_again_if_nobody_has_its_beginning(left, is_again):
    session = Session()
    message = _parts.PartedMessage(bytes(200_000))
    assert message.must_begin_again(session)
    message.begin(session, 1)
    assert not message.must_begin_again(session)
    session.left = ReaderLeft(left)
    assert not message.must_begin_again(session)  # nothing of it is sent yet
    message.next_part()
    message.advance()
    assert message.must_begin_again(session) is is_again
    assert message.must_begin_again(Session())


@pytest.mark.usefixtures("in_parts")
def test_small_messages_of_other_threads_pass(driver_dir, name):
    """They wait for one part at most, and a long message ends in the place of its last part."""
    large = message_of(1, 40 * MIB)
    waits_s, found, stop = [], [], threading.Event()
    with pair(name, driver_dir) as (sub, pub):

        def send_small():
            while not stop.is_set():
                began_s = time.monotonic()
                pub.send(b"%70d" % len(waits_s))
                waits_s.append(time.monotonic() - began_s)
                time.sleep(0.001)

        def read():
            while not (stop.is_set() and len(found) == len(waits_s) + 1):
                found.extend(sub.poll())
                sub.wait(0.05)

        reader, sender = in_thread(read), in_thread(send_small)
        until(lambda: len(found) > 3)
        before = len(waits_s)
        pub.send(large)
        passed = len(waits_s) - before
        stop.set()
        sender.join(10.0)
        reader.join(10.0)
        assert not reader.is_alive()
        place = next(at for at, item in enumerate(found) if len(item) > 100)
        assert found.pop(place) == large
        assert passed >= 3
        assert before + 1 < place  # those that passed came before the end of the long one
        assert found == [b"%70d" % number for number in range(len(waits_s))]
        assert max(waits_s) < 2.0


@pytest.mark.usefixtures("in_parts")
def test_long_messages_of_threads_take_turns(driver_dir, name):
    sent = [message_of(number, 600_000 + number) for number in range(6)]
    with pair(name, driver_dir) as (sub, pub):
        threads = [in_thread(pub.send, message) for message in sent]
        assert sorted(take(sub, 6)) == sorted(sent)
        for thread in threads:
            thread.join(10.0)
        assert sub.statistics()["gaps"] == sub.statistics()["refused"] == 0


@pytest.mark.usefixtures("in_parts")
def test_progress_is_seen_at_both_ends(driver_dir, name):
    with pair(name, driver_dir) as (sub, pub):
        sender = in_thread(pub.send, bytes(4 * MIB))
        until(lambda: pub.progress and pub.progress.sent_bytes > 100_000)
        assert pub.progress.total_bytes == 4 * MIB
        assert pub.progress.sent_bytes <= MIB  # the window bounds it
        sub.poll()
        until(lambda: sub.statistics()["partial_bytes"] > 100_000)
        assert take(sub, 1) == [bytes(4 * MIB)]
        sender.join(10.0)
        assert pub.progress is None
        assert sub.statistics()["partial_bytes"] == 0


# The second one would go whole.
@pytest.mark.parametrize("most", [300_000, 1000])
def test_too_long_for_the_publisher(driver_dir, name, most):
    with pair(name, driver_dir, max_message_length=most) as (sub, pub):
        assert pub.max_message_length == most
        for call in (pub.send, pub.offer, lambda message: pub.send_many([b"x", message])):
            with pytest.raises(MessageTooLarge, match=f"{most + 1} bytes; at most {most} fit"):
                call(bytes(most + 1))
        sender = in_thread(pub.send_many, [bytes(most), b"y", b"z"])
        assert [len(item) for item in take(sub, 4)] == [1, most, 1, 1]
        sender.join(10.0)
    with pytest.raises(MessageTooLarge):
        with stream.publisher(name, bytes, dir=driver_dir, max_message_length=most) as pub:
            pub.send(bytes(most + 1))
    with stream.publisher(4242, bytes, dir=driver_dir, linger_s=0) as pub:
        assert pub.max_message_length == pub.max_unparted_length
        with pytest.raises(MessageTooLarge, match="give the stream a name"):
            pub.send(bytes(pub.max_message_length + 1))
    for length in (0, -1, 2**31, 1.5, True):
        with pytest.raises(ConfigError, match="max_message_length"):
            stream.publisher(name, max_message_length=length)
        with pytest.raises(ConfigError, match="max_message_length"):
            stream.subscriber(name, max_message_length=length)


def test_too_long_for_the_reader(driver_dir, name):
    reader = {"max_message_length": 200_000}
    with pair(name, driver_dir, reader=reader) as (sub, pub):
        sender = in_thread(pub.send_many, [bytes(200_001), b"behind"])
        got, errors = [], []

        def has_both():
            try:
                got.extend(sub.poll())
            except MessageTooLarge as error:  # first, or behind what came in the same poll
                errors.append(str(error))
            return got and errors

        until(has_both)
        assert got == [b"behind"]
        assert "a message of 200001 bytes" in errors[0]
        assert "longer than max_message_length of this reader" in errors[0]
        sender.join(10.0)
        assert [event for event in sub.events() if isinstance(event, stream.Refused)]
        assert sub.statistics()["refused"] == 1
        assert sub.statistics()["partial_bytes"] == 0


@pytest.mark.usefixtures("in_parts")
def test_a_send_that_gives_up_is_told_and_freed(driver_dir, name):
    with pair(name, driver_dir) as (sub, pub):
        with pytest.raises(BackPressured):
            pub.send(bytes(4 * MIB), timeout_s=0.05)
        sender = in_thread(pub.send, b"behind")
        assert take(sub, 1) == [b"behind"]
        sender.join(10.0)
        (gap,) = [event for event in sub.events() if isinstance(event, stream.Gap)]
        assert "a message of 4194304 bytes in parts: its publisher gave it up" in gap.reason
        assert gap.from_position < gap.to_position
        assert sub.statistics()["partial_bytes"] == 0
        assert sub.statistics()["skipped_bytes"] > 100_000


class LimitLowered:
    """A publication that at first has no room for control messages, as when its limit was lowered
    below what is sent.
    """

    def __init__(self, pub, refusals):
        session = sending_of(pub).session
        self._session, self._core, self._refusals = session, session.core, refusals
        session.core = self

    def __getattr__(self, name):
        return getattr(self._core, name)

    def offer_control(self, data, header):
        self._refusals -= 1
        if self._refusals >= 0:
            return rstream.BACK_PRESSURED
        self._session.core = self._core
        return self._core.offer_control(data, header)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("call", ["offer", "send", "send_many"])
def test_what_is_given_up_without_room_is_told_before_the_next_message(driver_dir, name, call):
    """Nobody is told of it behind a message that was sent later."""
    with pair(name, driver_dir) as (sub, pub):
        pub.send(b"first", timeout_s=5)
        LimitLowered(pub, 3)
        with pytest.raises(BackPressured):
            pub.send(bytes(4 * MIB), timeout_s=0.05)
        assert take(sub, 1) == [b"first"]
        assert sub.statistics()["partial_bytes"] > 0
        assert not [event for event in sub.events() if isinstance(event, stream.Gap)]
        if call == "offer":
            assert pub.offer(b"next") == rstream.BACK_PRESSURED
            until(lambda: pub.offer(b"next") > 0)
        elif call == "send":
            pub.send(b"next", timeout_s=5)
        else:
            pub.send_many([b"next"], timeout_s=5)
        assert take(sub, 1) == [b"next"]
        gaps = [event for event in sub.events() if isinstance(event, stream.Gap)]
        assert len(gaps) == 1
        assert "gave it up" in gaps[0].reason
        assert sending_of(pub).state.direct is not None  # the short way again


@pytest.mark.usefixtures("in_parts")
def test_close_ends_a_message_that_is_under_way(driver_dir, name):
    with pair(name, driver_dir, reader={"on_lost": "event"}) as (sub, pub):
        errors = []

        def send():
            with pytest.raises(ClosedError) as caught:
                pub.send(bytes(4 * MIB))
            errors.append(caught.value)

        sender = in_thread(send)
        until(lambda: pub.progress and pub.progress.sent_bytes > 100_000)
        pub.close()
        sender.join(10.0)
        assert errors
        until(lambda: sub.poll() == [] and sub.is_ended)
        until(lambda: sub.poll() == [] and not sub.is_connected)
        reasons = [event.reason for event in sub.events() if isinstance(event, stream.Gap)]
        assert any("4194304 bytes in parts: the stream ended" in reason for reason in reasons)
        assert sub.statistics()["partial_bytes"] == 0


@pytest.mark.usefixtures("in_parts")
def test_offer_begins_only_where_there_is_room(driver_dir, name):
    with pair(name, driver_dir) as (sub, pub):
        taken = []
        sender = in_thread(lambda: taken.append(pub.offer(bytes(4 * MIB))))
        until(lambda: pub.progress and pub.progress.sent_bytes > 100_000)
        assert pub.offer(bytes(MIB)) == rstream.BACK_PRESSURED  # one at a time
        assert take(sub, 1) == [bytes(4 * MIB)]
        sender.join(10.0)
        assert taken[0] > 4 * MIB
        while pub.offer(bytes(1000)) > 0:
            pass
        assert pub.offer(bytes(MIB)) == rstream.BACK_PRESSURED
        assert pub.progress is None


@pytest.mark.usefixtures("in_parts")
def test_readers_that_come_later_get_it_from_its_first_byte(driver_dir, name):
    """All readers leave in the middle: the next one gets the whole message, or none of it."""
    message = message_of(3, 3 * MIB)
    with stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub:
        first = stream.subscriber(name, bytes, dir=driver_dir)
        until(lambda: pub.is_connected)
        sender = in_thread(pub.send, message)
        until(lambda: pub.progress and pub.progress.sent_bytes > 100_000)
        first.poll()
        first.close()
        with stream.subscriber(name, bytes, dir=driver_dir) as second:
            assert take(second, 1) == [message]
            sender.join(10.0)
            assert not sender.is_alive()


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "with a small message"])
def test_a_reader_that_leaves_in_the_middle_takes_nothing_with_it(driver_dir, name, is_alone):
    """Over UDP its parts count as consumed one by one. It is sent again as a whole, so only what
    passed between its parts is lost with the reader.
    """
    uri = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    message = message_of(1, 8 * MIB)
    with stream.publisher(name, bytes, channel=uri, dir=driver_dir, linger_s=0) as pub:
        with stream.subscriber(name, bytes, channel=uri, dir=driver_dir) as first:
            until(lambda: pub.is_connected)
            sending = in_thread(pub.send, message)
            until(lambda: not first.poll() and pub.statistics()["consumed_position"] > MIB)
            small_ends = []
            if not is_alone:
                in_thread(lambda: small_ends.append(pub.send(b"small")))
                until(lambda: small_ends or first.poll(1))
                until(lambda: small_ends)
        with stream.subscriber(name, bytes, channel=uri, dir=driver_dir) as second:
            assert message in take(second, 1) or take(second, 1) == [message]
            sending.join(10)
            gaps = [event for event in pub.events() if isinstance(event, stream.Gap)]
            assert {gap.to_position for gap in gaps} <= set(small_ends)  # it may have got through
            assert pub.wait_consumed(timeout_s=10)


def test_policies_and_reactive_readers_take_them(driver_dir, name):
    sent = [message_of(number, 300_000) for number in range(3)]
    with pair(name, driver_dir, reader={"on_slow": policy.Buffer(10)}) as (sub, pub):
        sender = in_thread(pub.send_many, sent)
        assert take(sub, 3) == sent
        sender.join(10.0)
        assert not sender.is_alive()


@pytest.mark.usefixtures("in_parts")
def test_demand_counts_a_message_once(driver_dir, name):
    found, done = [], threading.Event()

    class Asker(rstream.abc.Subscriber):
        def on_subscribe(self, subscription):
            self.subscription = subscription

        def on_next(self, item):
            found.append(item)

        def on_error(self, error):
            done.set()

        def on_complete(self):
            done.set()

    asker = Asker()
    stream.source(name, bytes, dir=driver_dir).subscribe(asker)
    with stream.publisher(name, bytes, dir=driver_dir) as pub:
        until(lambda: pub.is_connected)
        sender = in_thread(pub.send_many, [bytes(300_000), b"second", bytes(300_001)])
        time.sleep(0.05)
        assert not found
        for count in (1, 2, 3):
            asker.subscription.request(1)
            until(lambda count=count: len(found) == count)
            time.sleep(0.02)
            assert len(found) == count
        sender.join(10.0)
    assert done.wait(10.0)
    assert [len(item) for item in found] == [300_000, 6, 300_001]


def test_a_signal_handler_may_not_send_another_one(driver_dir, name):
    with pair(name, driver_dir) as (sub, pub):
        errors = []

        def handler(_number, _frame):
            try:
                pub.send(bytes(MIB))
            except ConcurrentUseError as error:
                errors.append(error)
            pub.send(b"small")

        before = signal.signal(signal.SIGUSR1, handler)
        found = []
        reader = in_thread(lambda: found.extend(take(sub, 2)))
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
        try:
            timer.start()
            pub.send(bytes(200 * MIB))
        finally:
            timer.join()
            signal.signal(signal.SIGUSR1, before)
        reader.join(20.0)
        assert len(errors) == 1
        assert sorted(map(len, found)) == [5, 200 * MIB]


@pytest.mark.usefixtures("in_parts")
def test_after_ctrl_c_the_next_one_is_sent(driver_dir, name):
    with pair(name, driver_dir) as (sub, pub):
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            pub.send(bytes(4 * MIB))
        timer.join()
        assert pub.progress is None
        sender = in_thread(pub.send, bytes(MIB))
        assert take(sub, 1) == [bytes(MIB)]
        sender.join(10.0)
        (gap,) = [event for event in sub.events() if isinstance(event, stream.Gap)]
        assert "4194304 bytes in parts: its publisher gave it up" in gap.reason


def test_a_rate_holds_parts_too(driver_dir, name):
    with pair(name, driver_dir, rate=rate.Fixed("4MB/s")) as (sub, pub):
        began_s = time.monotonic()
        sender = in_thread(pub.send, bytes(2 * MIB))
        take(sub, 1)
        sender.join(10.0)
        assert time.monotonic() - began_s > 0.2


def test_an_unreliable_stream_hands_out_whole_messages_only(lossy, name):
    """About a third of the messages lose nothing."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    sent = [message_of(number, 140_000) for number in range(30)]
    with (
        stream.subscriber(
            name, bytes, channel=f"{channel}|reliable=false", dir=lossy, on_lost="event"
        ) as sub,
        stream.publisher(name, bytes, channel=channel, dir=lossy, linger_s=0) as pub,
    ):
        until(lambda: pub.is_connected)
        found, events = [], []

        def read():
            found.extend(sub.poll())
            events.extend(sub.events())
            return any(isinstance(event, stream.Unavailable) for event in events)

        def send():
            pub.send_many(sent)
            pub.close()

        in_thread(send)
        until(read, 30.0)
        assert 3 <= len(found) < len(sent)
        assert found == [message for message in sent if message in found]
        texts = [event.reason for event in events if isinstance(event, stream.Gap)]
        told = [text for text in texts if "140000 bytes in parts: a part of it is lost" in text]
        assert len(told) >= 3
        assert len(told) + len(found) <= len(sent)
        assert not [text for text in texts if "gave it up" in text]
        assert sub.statistics()["partial_bytes"] == 0


def test_a_pipeline_passes_them_on(driver_dir, name):
    """From one stream to the next one by RxPY: the demand of the last reader counts messages."""
    from rstream import rx as rrx

    sent = [message_of(number, 300_000) for number in range(4)]
    copy = f"{name}-copy"
    with (
        stream.subscriber(copy, bytes, dir=driver_dir) as sub,
        stream.publisher(name, bytes, dir=driver_dir) as pub,
    ):
        rrx.from_stream(name, bytes, dir=driver_dir).pipe(
            rrx.to_stream(copy, bytes, dir=driver_dir)
        ).subscribe()
        until(lambda: pub.is_connected)
        in_thread(lambda: (pub.send_many(sent), pub.close()))
        assert take(sub, len(sent)) == sent
        until(lambda: sub.poll() == [] and sub.is_ended)
