"""Publisher and subscriber in one process: messages arrive, ends are reported, limits hold."""

from __future__ import annotations

import copy
import pickle
import time
import zlib

import msgspec
import pytest

from rstream import codecs, policy, stream
from rstream.errors import (
    BackPressured,
    ClosedError,
    CodecError,
    ConcurrentUseError,
    ConfigError,
    MessageTooLarge,
    NameMismatch,
    PublisherLost,
    ReadTimeout,
    RegistrationError,
    RemoteError,
    SlowConsumer,
    StreamEnded,
)
from rstream.stream._internal import reading_of, sending_of
from tests.support import free_port, in_thread, until


class Tick(msgspec.Struct):
    px: float


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
            with pytest.raises(
                ReadTimeout, match=rf"^stream '{name}' on \S+: no message within"
            ) as raised:
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
        with pytest.raises(TypeError, match=r"reader\(name\)\.handle"):
            pickle.dumps(pub)
        with pytest.raises(TypeError, match=r"reader\(name\)"):
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
        sending_of(pub).session.core.close()  # the driver sees the same when a process dies
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
        sending_of(pub).session.core.close()
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
        assert until(sub.poll) == [Tick(1.0)]
        with pytest.raises(CodecError, match=r"session -?\d+, position \d+.*Tick"):
            sub.poll()
        assert sub.poll() == [Tick(3.0)]


def test_the_error_of_too_long_a_message_names_the_limit(driver_dir, name):
    with (
        stream.subscriber(name, bytes, dir=driver_dir),
        stream.publisher(
            name, bytes, dir=driver_dir, linger_s=0, max_message_length=200_000
        ) as pub,
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


def test_the_statistics_of_a_closed_publisher_keep_its_positions(driver_dir, name):
    with (
        stream.subscriber(name, dir=driver_dir) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send_many([1, 2])
        until(lambda: sub.poll() == [1, 2])
        pub.close()
        closed = pub.statistics()
        assert closed["position"] == pub.position >= closed["consumed_position"] >= 128
        assert closed["position_limit"] > closed["position"]


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
    joined = reading_of(sub).inputs.joined
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


@pytest.mark.parametrize(
    ("written", "read", "text"),
    [
        ("i1", "u1", r"sends an array of int8 \(4,\), this reader expects uint8"),
        ("<f4", ">f4", r"sends an array of float32 \(4,\), this reader expects >f4"),
        ("<i8", "M8[ns]", r"sends an array of int64 \(4,\), this reader expects datetime64\[ns\]"),
    ],
)
def test_arrays_of_another_dtype_are_an_error_that_names_both(
    driver_dir, name, written, read, text
):
    np = pytest.importorskip("numpy")
    with (
        stream.subscriber(name, codec=codecs.numpy(read, (4,)), dir=driver_dir) as sub,
        stream.publisher(
            name, codec=codecs.numpy(written, (4,)), dir=driver_dir, linger_s=0
        ) as pub,
    ):
        pub.send(np.arange(4, dtype=written))
        with pytest.raises(CodecError, match=text):
            until(lambda: sub.poll())


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


def test_a_key_of_a_channel_that_nobody_knows_is_logged_once(driver_dir, name, caplog):
    channel = f"aeron:ipc?own-{name}=1"
    for _ in range(2):
        with (
            stream.subscriber(name, channel=channel, dir=driver_dir),
            stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0),
        ):
            pass
    (line,) = caplog.messages
    assert f"channel {channel}: key 'own-{name}' is not known, and is ignored" in line


def test_a_channel_twice_is_refused(driver_dir, name):
    """Each message came twice."""
    with pytest.raises(ConfigError, match=r"channels has aeron:ipc.* twice"):
        stream.reader(name, channels=["aeron:ipc"] * 2, dir=driver_dir)
