"""Publisher and subscriber in one process: messages arrive, ends are reported, limits hold."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
import time
import zlib

import msgspec
import pytest

import rstream
from rstream import codecs, policy, rate, stream
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    ConcurrentUseError,
    ConfigError,
    MessageTooLarge,
    NameMismatch,
    NotConnected,
    NotSupported,
    PublisherLost,
    ReadTimeout,
    RegistrationError,
    RemoteError,
    SlowConsumer,
    StreamEnded,
)
from tests.support import free_port, until


class Tick(msgspec.Struct):
    px: float


def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def test_what_is_sent_arrives_in_order_and_the_end_ends_the_loop(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:

        def send():
            with stream.publisher(name, dir=driver_dir) as pub:
                for number in range(1000):
                    pub.send({"n": number})
                assert pub.send_many({"n": number} for number in range(1000, 3000)) == 2000
                assert pub.wait_consumed(timeout_s=10)

        thread = in_thread(send)
        assert [item["n"] for item in sub] == list(range(3000))
        thread.join(10)
        assert not thread.is_alive()
        assert sub.statistics()["messages"] == 3000
        kinds = [type(event).__name__ for event in sub.events()]
        assert kinds[:2] == ["Available", "Completed"]


def test_types_select_their_codecs(driver_dir, name):
    with (
        stream.subscriber(name, Tick, dir=driver_dir) as sub,
        stream.publisher(name, Tick, dir=driver_dir) as pub,
    ):
        pub.send(Tick(1.5))
        until(lambda: sub.poll() == [Tick(1.5)])
        pub.close(linger_s=0)


@pytest.mark.parametrize("on_slow", [policy.Block(), policy.Buffer(8)], ids=["plain", "queue"])
def test_get_waits_for_one_object(driver_dir, name, on_slow):
    with stream.subscriber(name, dir=driver_dir, on_slow=on_slow) as sub:
        for timeout_s in (0, 0.05):
            with pytest.raises(ReadTimeout, match="no message within") as raised:
                sub.get(timeout_s=timeout_s)
            assert isinstance(raised.value, TimeoutError)
        pub = stream.publisher(name, dir=driver_dir)
        pub.send_many([1, 2])
        assert [sub.get(timeout_s=10), sub.get()] == [1, 2]
        thread = in_thread(lambda: (time.sleep(0.02), pub.send(3), pub.close()))
        assert sub.get() == 3
        with pytest.raises(StreamEnded):
            sub.get(timeout_s=10)
        thread.join(10)


def test_a_late_reader_in_shared_memory_begins_where_the_slowest_one_is(driver_dir, name):
    pub = stream.publisher(name, dir=driver_dir, linger_s=0)
    with stream.subscriber(name, dir=driver_dir) as slow:
        pub.send_many(list(range(10)))
        assert [slow.get(timeout_s=10) for _ in range(3)] == [0, 1, 2]
        with stream.subscriber(name, dir=driver_dir) as late:
            first = late.get(timeout_s=10)
            assert first <= 3  # the driver's knowledge of the slow reader may be older
            rest = [late.get(timeout_s=10) for _ in range(first + 1, 10)]
            assert rest == list(range(first + 1, 10))
        assert slow.get(timeout_s=10) == 3
    until(lambda: not pub.is_connected)
    with stream.subscriber(name, dir=driver_dir) as next_one:
        pub.send(10)
        assert next_one.get(timeout_s=10) == 10  # where the one that had read most stopped
    pub.close()


def test_a_late_receiver_begins_with_the_next_message(driver_dir, name):
    port = free_port()
    channel = f"aeron:udp?control=127.0.0.1:{port}|control-mode=dynamic|fc=min"
    reader = f"aeron:udp?endpoint=127.0.0.1:0|control=127.0.0.1:{port}"
    with stream.publisher(name, dir=driver_dir, channel=channel, linger_s=0) as pub:
        with stream.subscriber(name, dir=driver_dir, channel=reader) as slow:
            pub.send_many(list(range(10)))
            assert slow.get(timeout_s=10) == 0
            with stream.subscriber(name, dir=driver_dir, channel=reader) as late:
                until(lambda: late.is_connected)
                pub.send(10)
                assert late.get(timeout_s=10) == 10
            assert slow.get(timeout_s=10) == 1


@pytest.mark.parametrize("codec", ["raw", bytes, codecs.raw()], ids=["name", "type", "object"])
def test_every_face_takes_a_codec_by_name_by_type_or_as_an_object(driver_dir, name, codec):
    with (
        stream.subscriber(name, codec=codec, dir=driver_dir) as sub,
        stream.reader(name, codec=codec, dir=driver_dir) as reader,
        stream.publisher(name, codec=codec, dir=driver_dir) as pub,
    ):
        pub.send(b"one")
        until(lambda: sub.poll() == [b"one"])
        until(lambda: reader.poll() == [b"one"])
        pub.close(linger_s=0)
    stream.source(name, codec=codec, dir=driver_dir)
    stream.sink(f"{name}-sink", codec=codec, dir=driver_dir).cancel()


def broken(count):
    """Give so many numbers, then fail."""
    yield from range(count)
    raise KeyError("broken")


def test_send_many_sends_what_a_generator_gave_before_its_exception(driver_dir, name):
    with stream.subscriber(name, int, dir=driver_dir) as sub:
        with stream.publisher(name, int, dir=driver_dir, linger_s=0) as pub:
            with pytest.raises(KeyError, match="broken"):
                pub.send_many(broken(300))
            received = []
            until(lambda: received.extend(sub.poll()) or len(received) == 300)
            assert received == list(range(300))


def test_send_many_sends_the_objects_of_a_list_before_the_one_that_cannot_be_encoded(
    driver_dir, name
):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
            with pytest.raises(CodecError):
                pub.send_many([*range(300), object(), 300])
            received = []
            until(lambda: received.extend(sub.poll()) or len(received) == 300)
            assert received == list(range(300))
            assert pub.statistics()["messages"] == 300


def test_send_many_holds_no_object_of_a_generator_back(driver_dir, name):
    received = []
    with stream.subscriber(name, int, dir=driver_dir) as sub:

        def slow():
            for number in range(3):
                yield number
                until(lambda number=number: received.extend(sub.poll()) or number in received)

        with stream.publisher(name, int, dir=driver_dir, linger_s=0) as pub:
            assert pub.send_many(slow()) == 3
    assert received == [0, 1, 2]


def test_pickling_an_open_end_points_to_handles(driver_dir, name):
    with (
        stream.subscriber(name, dir=driver_dir) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        with pytest.raises(TypeError, match=r"open_reader\(name\)\.handle"):
            pickle.dumps(pub)
        with pytest.raises(TypeError, match=r"open_reader\(name\)"):
            copy.copy(sub)


def test_batches_hold_at_most_prefetch(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir, prefetch=10) as sub:
        pub = stream.publisher(name, bytes, dir=driver_dir)
        pub.send_many([b"x"] * 25)
        in_thread(pub.close)
        sizes = [len(batch) for batch in sub.batches()]
        assert sum(sizes) == 25
        assert max(sizes) <= 10
        until(lambda: pub.is_closed)


def test_two_publishers_both_must_complete(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        first = stream.publisher(name, dir=driver_dir)
        second = stream.publisher(name, dir=driver_dir)
        first.send(1)
        second.send(2)
        items = []
        until(lambda: items.extend(sub.poll()) or len(items) == 2)
        first.close(linger_s=0)
        until(lambda: sub.poll() == [] and sub.statistics()["completed"] == 1)
        assert not sub.is_ended
        second.close(linger_s=0)
        until(lambda: sub.poll() == [] and sub.is_ended)
        assert list(sub) == []


def test_no_subscriber_offer_says_so_and_send_waits_then_raises(driver_dir, name, caplog):
    with stream.publisher(name, dir=driver_dir, connect_timeout_s=0.2) as pub:
        assert pub.offer(1) == -1
        started = time.monotonic()
        with pytest.raises(NotConnected, match=name):
            pub.send(1)
        assert 0.15 < time.monotonic() - started < 2


def test_a_notice_names_channel_and_stream(driver_dir, name, caplog, monkeypatch):
    monkeypatch.setattr("rstream.stream._sender.NOTICE_AFTER_S", 0.05)
    with (
        caplog.at_level(logging.WARNING, "rstream"),
        stream.publisher(name, dir=driver_dir, connect_timeout_s=0.3) as pub,
        pytest.raises(NotConnected),
    ):
        pub.send(1)
    notices = [r.getMessage() for r in caplog.records if "waits for a subscriber" in r.getMessage()]
    assert len(notices) == 1
    assert name in notices[0]
    assert "aeron:ipc" in notices[0]


def test_without_a_connect_timeout_send_waits_for_ever(driver_dir, name, monkeypatch):
    now_s = 0.0

    def hours_later():
        nonlocal now_s
        now_s += 3600.0
        return int(now_s * 1e9)

    pub = stream.publisher(name, dir=driver_dir, connect_timeout_s=None, linger_s=0)
    with monkeypatch.context() as context:
        context.setattr("rstream.stream._sender.time.monotonic_ns", hours_later)
        thread = in_thread(pub.send, "hello")
        until(lambda: now_s > 20 * 3600.0)
        assert thread.is_alive()
    with stream.subscriber(name, dir=driver_dir) as sub:
        until(lambda: sub.poll() == ["hello"])
    thread.join(10)
    pub.close()


def test_wait_for_two_sends_nothing_before_the_second_reader(driver_dir, name):
    pub = stream.publisher(name, dir=driver_dir, wait_for=2, connect_timeout_s=0.2, linger_s=0)
    with stream.subscriber(name, dir=driver_dir) as first:
        until(lambda: pub.is_connected)
        assert pub.held_by == "subscriber"
        assert pub.offer(0) == rstream.NOT_CONNECTED
        with pytest.raises(NotConnected, match="1 of 2 subscribers"):
            pub.send(0)
        with pytest.raises(NotConnected, match="1 of 2 subscribers"):
            pub.send_many([0, 1])
        pub.connect_timeout_s = None
        thread = in_thread(pub.send_many, [1, 2])
        with stream.subscriber(name, dir=driver_dir) as second:
            thread.join(10)
            pub.send(3)
            for reader in (first, second):
                items = []
                until(lambda reader=reader, items=items: items.extend(reader.poll()) or 3 in items)
                assert items == [1, 2, 3]
        pub.send(4)
        until(lambda: first.poll() == [4])
    pub.close()


def test_wait_for_counts_the_receivers_of_a_group(driver_dir, name):
    port = free_port()
    channel = f"aeron:udp?control=127.0.0.1:{port}|control-mode=dynamic|fc=min"
    reader = f"aeron:udp?endpoint=127.0.0.1:0|control=127.0.0.1:{port}"
    pub = stream.publisher(name, dir=driver_dir, channel=channel, wait_for=2, linger_s=0)
    with stream.subscriber(name, dir=driver_dir, channel=reader) as first:
        until(lambda: pub.is_connected)
        assert pub.offer(0) == rstream.NOT_CONNECTED
        with stream.subscriber(name, dir=driver_dir, channel=reader) as second:
            pub.send(1)
            until(lambda: first.poll() == [1])
            until(lambda: second.poll() == [1])
    pub.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"wait_for": 0}, "at least 1"),
        ({"wait_for": 2, "channel": "aeron:udp?endpoint=127.0.0.1:1"}, "not counted"),
        ({"connect_timeout_s": -1.0}, "0 or more"),
    ],
)
def test_waits_that_cannot_be_are_refused(driver_dir, name, options, text):
    with pytest.raises(ConfigError, match=text):
        stream.publisher(name, dir=driver_dir, **options)


def test_send_waits_for_the_first_subscriber(driver_dir, name):
    pub = stream.publisher(name, dir=driver_dir)
    thread = in_thread(pub.send, "hello")
    time.sleep(0.05)
    with stream.subscriber(name, dir=driver_dir) as sub:
        items = []
        until(lambda: items.extend(sub.poll()) or items)
        assert items == ["hello"]
        thread.join(10)
        pub.close(linger_s=0)


def test_a_slow_reader_blocks_send_and_nothing_is_lost(driver_dir, name):
    payload = b"x" * 1000
    with (
        stream.subscriber(name, bytes, dir=driver_dir) as sub,
        stream.publisher(name, bytes, dir=driver_dir) as pub,
    ):
        until(lambda: pub.is_connected)
        sent = 0
        with pytest.raises(BackPressured, match=name):
            while sent < 100_000:
                pub.send(payload, timeout_s=0.1)
                sent += 1
        assert pub.offer(payload) == -2
        received = 0
        while received < sent:
            received += len(sub.poll())
        pub.send(payload, timeout_s=5)
        pub.close(linger_s=0)


def test_an_exception_in_the_with_block_reaches_the_readers(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:

        def send():
            with (
                pytest.raises(ZeroDivisionError),
                stream.publisher(name, dir=driver_dir) as pub,
            ):
                pub.send("before")
                raise ZeroDivisionError("division by zero")

        thread = in_thread(send)
        items = iter(sub)
        assert next(items) == "before"
        with pytest.raises(RemoteError, match=r"ZeroDivisionError.*division"):
            next(items)
        thread.join(10)


def test_a_publisher_that_dies_is_reported_lost(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        pub = stream.publisher(name, dir=driver_dir)
        pub.send("last words")
        position, session_id = pub.position, pub.session_id
        pub._core.close()  # the driver sees the same when a process dies
        items = iter(sub)
        assert next(items) == "last words"
        with pytest.raises(PublisherLost, match=name) as lost:
            next(items)
        assert (lost.value.session_id, lost.value.position) == (session_id, position)
        pub.close(linger_s=0)
        lost_events = [event for event in sub.events() if isinstance(event, stream.Lost)]
        assert [event.position for event in lost_events] == [position]


def test_a_lost_publisher_can_be_an_event_only(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir, on_lost="event") as sub:
        pub = stream.publisher(name, dir=driver_dir)
        pub.send(1)
        pub._core.close()
        events = []
        until(lambda: sub.poll() is None or events.extend(sub.events()) or len(events) >= 3)
        assert [type(event).__name__ for event in events] == ["Available", "Unavailable", "Lost"]
        assert not sub.is_ended
        pub.close(linger_s=0)


def test_two_names_on_one_udp_stream_are_an_error_at_the_reader(driver_dir, name):
    channel = "aeron:udp?endpoint=127.0.0.1:0"
    with stream.reader(
        name, channels=[channel], stream_id=4711, on_lost="raise", dir=driver_dir
    ) as reader:
        channel = f"aeron:udp?endpoint={reader.subscriptions[0].local_address}"
        with stream.publisher(
            f"{name}-other", channel=channel, dir=driver_dir, stream_id=4711, linger_s=0
        ) as pub:
            pub.send(1)
            pub.send(2)
            with pytest.raises(NameMismatch, match=f"'{name}-other'.*'{name}'"):
                until(lambda: reader.poll())
            until(lambda: reader.poll() == [] and reader.statistics()["refused"] == 2)


def test_two_names_on_one_ipc_stream_are_refused_by_the_driver(driver_dir, name):
    with (
        stream.subscriber(name, dir=driver_dir, stream_id=4712),
        pytest.raises(RegistrationError, match=f"{name}-other.*{name}"),
    ):
        stream.publisher(f"{name}-other", dir=driver_dir, stream_id=4712)


def test_two_codecs_are_an_error_that_names_both(driver_dir, name):
    with (
        stream.subscriber(name, bytes, dir=driver_dir) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(1)
        with pytest.raises(CodecError, match=r"msgpack \(id 2\).*raw \(id 1\)"):
            until(lambda: sub.poll())


def test_a_message_that_cannot_be_decoded_does_not_lose_its_neighbours(driver_dir, name):
    with (
        stream.subscriber(name, Tick, dir=driver_dir) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send_many([{"px": 1.0}, {"px": "wrong"}, {"px": 3.0}])
        items = []
        until(lambda: items.extend(sub.poll()) or len(items) == 2)
        assert items == [Tick(1.0), Tick(3.0)]
        with pytest.raises(CodecError, match=r"session -?\d+, position \d+.*Tick"):
            sub.poll()


def test_the_error_of_too_long_a_message_names_the_limit(driver_dir, name):
    with (
        stream.subscriber(name, bytes, dir=driver_dir),
        stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
    ):
        until(lambda: pub.is_connected)
        with pytest.raises(MessageTooLarge, match=str(pub.max_message_length)):
            pub.send(bytes(pub.max_message_length + 1))
        with pytest.raises(MessageTooLarge):
            pub.offer(bytes(pub.max_message_length + 1))
        assert pub.send(b"small") > 0


def test_use_after_close_raises_closed(driver_dir, name):
    sub = stream.subscriber(name, dir=driver_dir)
    pub = stream.publisher(name, dir=driver_dir)
    for face in (sub, pub):
        face.close()
        face.close()
        assert face.is_closed
    with pytest.raises(ClosedError):
        sub.poll()
    with pytest.raises(ClosedError):
        pub.send(1)
    assert list(sub) == []


def test_close_ends_a_loop_in_another_thread(driver_dir, name):
    sub = stream.subscriber(name, dir=driver_dir)
    items = []
    thread = in_thread(lambda: items.extend(sub))
    time.sleep(0.05)
    sub.close()
    thread.join(5)
    assert not thread.is_alive()


def test_two_threads_in_one_reader_are_refused(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        thread = in_thread(sub.wait, 5.0)
        time.sleep(0.1)
        with pytest.raises(ConcurrentUseError):
            sub.poll()
        sub.wake()
        thread.join(5)
        assert not thread.is_alive()


def test_wait_gives_up_after_its_time(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        started = time.monotonic()
        while sub.wait(0.1):
            assert time.monotonic() - started < 5
        assert time.monotonic() - started >= 0.09


CONFLATING = (policy.Latest, policy.Conflate)


@pytest.mark.parametrize(
    ("on_slow", "expected"),
    [
        (policy.DropOldest(3), [97, 98, 99]),
        (policy.DropNewest(3), [0, 1, 2]),
        (policy.Buffer(3, "drop_oldest"), [97, 98, 99]),
        (policy.Latest(key=lambda n: n % 2), [98, 99]),
        (policy.Latest(), [99]),
        (policy.Conflate(lambda a, b: a + b), [sum(range(100))]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_policies_drop_the_items_they_name(driver_dir, name, on_slow, expected):
    with (
        stream.subscriber(name, dir=driver_dir, on_slow=on_slow) as sub,
        stream.publisher(name, dir=driver_dir) as pub,
    ):
        pub.send_many(range(100))
        until(lambda: sub.statistics()["messages"] == 100)
        counts = ("waiting", "dropped", "conflated")
        until(lambda: sum(sub.statistics()[count] for count in counts) == 100)
        assert sub.poll() == expected
        given_up = "conflated" if isinstance(on_slow, CONFLATING) else "dropped"
        assert sub.statistics()[given_up] == 100 - len(expected)
        assert sub.statistics()["dropped"] + sub.statistics()["conflated"] == 100 - len(expected)
        pub.close()
        until(lambda: sub.poll() == [] and sub.is_ended)


def test_buffer_blocks_when_full_and_loses_nothing(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir, on_slow=policy.Buffer(4), prefetch=8) as sub:
        with stream.publisher(name, dir=driver_dir) as pub:
            pub.send_many(range(50))
            until(lambda: sub.statistics()["waiting"] == 4)
            in_thread(pub.close)
            assert list(sub) == list(range(50))
            until(lambda: pub.is_closed)


def test_fail_ends_a_subscriber_that_is_too_slow(driver_dir, name):
    with (
        stream.subscriber(name, dir=driver_dir, on_slow=policy.Fail(5)) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send_many(range(5))
        until(lambda: sub.statistics()["waiting"] == 5)  # exactly at the limit: no error yet
        pub.send(5)
        until(lambda: not pub.is_connected)  # the publisher has no reader any more
        # the items that came before the error are delivered first
        assert sub.poll() == [0, 1, 2, 3, 4]
        with pytest.raises(SlowConsumer, match="5 items wait already") as raised:
            sub.poll()
        assert str(raised.value).startswith(f"stream {name!r} on aeron:ipc")
        assert (raised.value.stream_id, "aeron:ipc" in raised.value.channel) == (
            stream.stream_id_of(name),
            True,
        )
        with pytest.raises(SlowConsumer):
            sub.poll()  # every later poll raises again, so a loop cannot wait for ever
        assert not sub.is_ended


def test_a_policy_function_that_raises_ends_the_subscriber(driver_dir, name):
    def merge(waiting, new):
        raise ZeroDivisionError("mine")

    with (
        stream.subscriber(name, dir=driver_dir, on_slow=policy.Conflate(merge)) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send_many([1, 2])
        until(lambda: not pub.is_connected)
        assert sub.poll() == [1]
        with pytest.raises(ZeroDivisionError, match="mine"):
            sub.poll()


CHANNELS = ["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:{port}"]


@pytest.fixture(params=CHANNELS, ids=["ipc", "udp"])
def channel(request):
    return request.param.format(port=free_port())


def test_fixed_rate_holds(driver_dir, name, channel):
    limit = rate.Fixed(1_000_000)
    with (
        stream.subscriber(
            name, bytes, dir=driver_dir, channel=channel, on_slow=policy.DropNewest(1)
        ),
        stream.publisher(
            name, bytes, dir=driver_dir, channel=channel, rate=limit, linger_s=0
        ) as pub,
    ):
        pub.send(b"x")
        started, began_ns = pub.position, time.monotonic_ns()
        for _ in range(300):
            pub.send(b"x" * 992)
        # The law is an upper bound, so a busy machine cannot break it: the bytes sent were earned,
        # up to a burst, one message and, on the network, the bytes between the publisher's limit
        # and the sender.
        # one message, and on the network what stands between the publisher's limit and the sender.
        elapsed_s = (time.monotonic_ns() - began_ns) / 1e9
        assert pub.position - started <= 1_000_000 * elapsed_s + 66_000
        assert pub.statistics()["waits"] > 0


def test_an_offer_distinguishes_rate_from_window(driver_dir, name, channel):
    with (
        stream.subscriber(name, bytes, dir=driver_dir, channel=channel) as sub,
        stream.publisher(
            name, bytes, dir=driver_dir, channel=channel, rate=rate.Fixed(1000), linger_s=0
        ) as pub,
    ):
        pub.send(b"x")
        until(lambda: pub.offer(bytes(1000)) == rstream.RATE_LIMITED)
        assert pub.is_rate_limited
        with pytest.raises(BackPressured, match="rate") as caught:
            for _ in range(100):
                pub.send(bytes(1000), timeout_s=0.001)
        assert caught.value.held_by == "rate"
        pub.set_rate(rate.Unlimited())
        until(lambda: pub.offer(bytes(1000)) == rstream.BACK_PRESSURED)  # no reader polls
        assert not pub.is_rate_limited
        with pytest.raises(BackPressured, match="readers") as caught:
            for _ in range(100):
                pub.send(bytes(1000), timeout_s=0.001)
        assert caught.value.held_by == "window"
        del sub


def test_the_argument_goes_before_the_channel(driver_dir, name):
    channel = "aeron:ipc?rs-rate=fixed,r:5"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        assert "rs-rate=fixed,r:5" in pub.channel
    with stream.publisher(
        name, channel=channel, dir=driver_dir, rate=rate.Aimd(), linger_s=0
    ) as pub:
        assert pub.channel.count("rs-rate=") == 1
        assert "rs-rate=aimd" in pub.channel
        pub.set_rate(rate.Nak())
        # it must be there when the publisher joins again after a lost driver
        assert "rs-rate=nak" in pub.channel
    with pytest.raises(ClosedError):
        pub.set_rate(rate.Unlimited())
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        assert "rs-rate" not in pub.channel  # the driver's option carries it


def test_beside_aerons_driver_the_publisher_keeps_its_rate(driver_dir, name, monkeypatch):
    """This driver is treated as Aeron's, which does not read rs-rate: the publisher limits itself.

    The channel carries the rate, and nothing else enforces it.
    """
    monkeypatch.setattr("rstream.client.Client.is_aeron_driver", True)
    with pytest.raises(NotSupported, match="adaptive"):
        stream.publisher(name, bytes, dir=driver_dir, rate=rate.Adaptive())
    with (
        stream.subscriber(name, bytes, dir=driver_dir, on_slow=policy.DropNewest(1)),
        stream.publisher(name, bytes, dir=driver_dir, rate=rate.Fixed(1), linger_s=0) as pub,
    ):
        pub.send(b"x")
        assert pub._bucket is not None  # its burst is 64 KiB, many times the driver's
        sent = 0
        while pub._bucket.delay_ns(time.monotonic_ns()) == 0 and sent < 100:
            pub._bucket.spend(1000)
            sent += 1
        assert 60 <= sent <= 67
        assert pub.offer(b"x") == rstream.RATE_LIMITED
        assert pub.is_rate_limited
        with pytest.raises(BackPressured) as caught:
            pub.send(b"x", timeout_s=0.01)
        assert caught.value.held_by == "rate"
        with pytest.raises(NotSupported, match="nak"):
            pub.set_rate(rate.Nak())
        pub.set_rate(rate.Unlimited())
        assert pub._bucket is None


@pytest.mark.parametrize("bad", ["", "a|b", "a=b", "a?b", "line\nend", "x" * 201])
def test_names_that_a_channel_cannot_hold_are_refused(bad):
    with pytest.raises(ConfigError, match="name"):
        stream.stream_id_of(bad)


def test_stream_ids_are_stable_and_positive():
    assert stream.stream_id_of("ticks") == zlib.crc32(b"ticks") & 0x7FFFFFFF
    ids = {stream.stream_id_of(f"name-{number}") for number in range(1000)}
    assert len(ids) == 1000
    assert all(0 < value < 2**31 for value in ids)


def test_a_name_in_the_channel_must_be_the_same(driver_dir):
    with pytest.raises(ConfigError, match="rs-name"):
        stream.publisher("a", channel="aeron:ipc?rs-name=b", dir=driver_dir)


def test_raw_stream_ids_carry_no_name(driver_dir):
    with (
        stream.subscriber(881, bytes, dir=driver_dir) as sub,
        stream.publisher(881, bytes, channel="aeron:ipc?term-length=64k", dir=driver_dir) as pub,
    ):
        pub.send(b"raw")
        until(lambda: sub.poll() == [b"raw"])
        pub.close(linger_s=0)


def test_one_reader_over_two_channels(driver_dir, name):
    with stream.reader(
        name, bytes, channels=["aeron:ipc", "aeron:udp?endpoint=127.0.0.1:0"], dir=driver_dir
    ) as reader:
        port = reader.subscriptions[1].local_address.rpartition(":")[2]
        by_memory = stream.publisher(name, bytes, dir=driver_dir)
        by_udp = stream.publisher(
            name, bytes, channel=f"aeron:udp?endpoint=127.0.0.1:{port}", dir=driver_dir
        )
        by_memory.send(b"memory")
        by_udp.send(b"udp")
        items = set()
        until(lambda: items.update(reader.poll()) or len(items) == 2 or not reader.wait(0.1))
        until(lambda: items.update(reader.poll()) or items == {b"memory", b"udp"})
        by_memory.close(linger_s=0)
        by_udp.close(linger_s=0)
        until(lambda: reader.poll() == [] and reader.is_ended)


def test_an_unclosed_handle_warns_where_it_was_made(driver_dir, name):
    sub = stream.subscriber(name, dir=driver_dir)
    joined = sub._inputs.joined
    with pytest.warns(ResourceWarning, match="test_streams.py"):
        del sub
    for source in joined:
        source.core.close()


def test_a_held_batch_counts_as_consumed_at_the_next_poll(driver_dir, name):
    with (
        stream.reader(name, dir=driver_dir, hold=True) as reader,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(1)
        until(lambda: reader.poll() == [1])
        assert not pub.wait_consumed(timeout_s=0.05)
        assert reader.poll() == []
        assert pub.wait_consumed(timeout_s=5)


def test_arrays_travel(driver_dir, name):
    np = pytest.importorskip("numpy")
    codec = codecs.numpy("f8", (-1,))
    with (
        stream.subscriber(name, codec=codec, dir=driver_dir) as sub,
        stream.publisher(name, codec=codec, dir=driver_dir) as pub,
    ):
        pub.send(np.arange(3.0))
        items = []
        until(lambda: items.extend(sub.poll()) or items)
        assert items[0].tolist() == [0.0, 1.0, 2.0]
        pub.close(linger_s=0)


@pytest.mark.parametrize("open_it", [stream.subscriber, stream.reader])
def test_pickle_from_the_network_needs_the_users_word(driver_dir, name, open_it):
    """Whoever reaches a UDP port could run code in the reader. A spy reads its own driver."""
    udp = "aeron:udp?endpoint=127.0.0.1:0"
    keyword = "channels" if open_it is stream.reader else "channel"

    def opened(channel, codec):
        given = [channel] if keyword == "channels" else channel
        return open_it(name, codec=codec, dir=driver_dir, **{keyword: given})

    with pytest.raises(ConfigError, match="trusted_network=True"):
        opened(udp, codecs.pickle(trusted=True))
    opened(udp, codecs.pickle(trusted=True, trusted_network=True)).close()
    opened("aeron:ipc", codecs.pickle(trusted=True)).close()
    opened(
        f"aeron-spy:aeron:udp?endpoint=127.0.0.1:{free_port()}", codecs.pickle(trusted=True)
    ).close()


def test_a_first_message_that_is_read_at_once_is_no_gap(driver_dir, name):
    """The publisher looks for readers after its first message, which may be consumed by then."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    options = {"channel": channel, "dir": driver_dir}
    with (
        stream.subscriber(name, **options) as reader,
        stream.publisher(name, linger_s=0, **options) as publisher,
    ):
        until(lambda: publisher._core.is_connected)
        offer = publisher._offer_one

        def offer_and_be_read(data, header):
            position = offer(data, header)
            assert reader.get(timeout_s=10) == 1
            until(lambda: publisher._core.consumed_position == position)
            return position

        publisher._offer_one = offer_and_be_read
        publisher.send(1)
        events = publisher.events()
    assert [type(event).__name__ for event in events] == ["Connected"], events


@pytest.mark.parametrize("on_slow", [None, policy.Buffer(1000)], ids=["reader", "queue"])
def test_a_loop_that_is_left_loses_nothing(driver_dir, name, on_slow):
    """A loop takes 256 items at once. What it did not hand out comes next, whoever asks."""
    options = {} if on_slow is None else {"on_slow": on_slow}
    with stream.subscriber(name, dir=driver_dir, **options) as reader:
        with stream.publisher(name, dir=driver_dir, linger_s=0) as publisher:
            publisher.send_many(range(1000))
        seen = []
        for number in reader:
            seen.append(number)
            if number == 9:
                break
        assert not reader.is_ended
        assert reader.wait(0)
        seen.append(reader.get(timeout_s=10))
        seen += reader.poll(5)
        with pytest.raises(ValueError, match="bad"):
            for number in reader:
                seen.append(number)
                if number == 300:
                    raise ValueError("bad")
        for number in reader:  # and one loop inside another
            seen.append(number)
            seen += [inner for _, inner in zip(range(3), reader, strict=False)]
        assert seen == list(range(1000))
        assert reader.is_ended
