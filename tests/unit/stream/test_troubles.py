"""The trouble of one end concerns its session.

A reader with ``on_lost="event"`` reads on when a publisher fails or sends what cannot be read. A
reader that leaves with an error tells its publishers, which do not wait for it any longer.
"""

from __future__ import annotations

import socket
import struct

import pytest

from rstream import codecs, stream
from rstream.errors import CodecError, NameMismatch, NotConnected, ReadTimeout, RemoteError
from rstream.stream import Disconnected, Failed, Refused, Rejected
from rstream.stream._internal import sending_of
from rstream.stream._names import KIND_PLAIN, header_of
from tests.support import free_port, until

IPC = "aeron:ipc"
ERR_FRAME = 4
UDP = "aeron:udp?endpoint=127.0.0.1:{port}"


@pytest.fixture(params=[IPC, UDP])
def channel(request):
    return request.param.format(port=free_port())


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def polled(reader, count):
    got = []
    until(lambda: got.extend(reader.poll()) or len(got) >= count)
    return got


def test_a_failing_publisher_ends_nothing_for_the_others(driver_dir, name):
    with (
        stream.reader(name, dir=driver_dir) as reader,
        stream.publisher(name, dir=driver_dir) as good,
        stream.publisher(name, dir=driver_dir, linger_s=0) as bad,
    ):
        good.send(1)
        bad.send(2)
        bad.fail(ValueError("no more"))
        good.send(3)
        assert sorted(polled(reader, 3)) == [1, 2, 3]
        events = reader.events()
        (failed,) = of(Failed, events)
        assert failed.session_id == bad.session_id
        assert failed.reason == "ValueError: no more"
        assert failed.source == IPC
        assert not reader.is_ended
        good.close(linger_s=0)
        until(lambda: reader.poll() == [] and reader.is_ended)


def test_an_error_is_no_completion(driver_dir, name):
    """A loop over a reader that hears errors as events must not end as if all were well."""
    with stream.reader(name, dir=driver_dir) as reader:
        with stream.publisher(name, dir=driver_dir, linger_s=0) as bad:
            bad.send(1)
            bad.fail("broken")
        assert polled(reader, 1) == [1]
        until(lambda: reader.poll() == [] and of(Failed, reader.events()))
        assert not reader.is_ended


def test_a_subscriber_raises_unless_it_says_otherwise(driver_dir, name):
    """The default of plain subscribers; after the exception the other publishers are read on."""
    with (
        stream.subscriber(name, dir=driver_dir) as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as good,
        stream.publisher(name, dir=driver_dir, linger_s=0) as bad,
    ):
        until(lambda: bad.is_connected)  # with linger_s=0 it does not wait for its reader
        bad.fail("broken")
        with pytest.raises(RemoteError, match="broken"):
            next(iter(sub))
        good.send(7)
        assert next(iter(sub)) == 7
        assert of(Failed, sub.events())


def test_a_subscriber_may_ask_for_events(driver_dir, name):
    with (
        stream.subscriber(name, dir=driver_dir, on_lost="event") as sub,
        stream.publisher(name, dir=driver_dir, linger_s=0) as good,
        stream.publisher(name, dir=driver_dir, linger_s=0) as bad,
    ):
        until(lambda: bad.is_connected)  # with linger_s=0 it does not wait for its reader
        bad.fail("broken")
        good.send(7)
        assert next(iter(sub)) == 7
        until(lambda: sub.poll() == [] and of(Failed, sub.events()))


def test_messages_that_cannot_be_used_are_events(driver_dir, name, caplog):
    """Another codec once, a message that cannot be decoded each time; one line in the log each."""
    with (
        stream.reader(name, int, dir=driver_dir) as reader,
        stream.publisher(name, int, dir=driver_dir, linger_s=0) as good,
        stream.publisher(name, dir=driver_dir, linger_s=0) as wrong_type,
        stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as wrong_codec,
    ):
        for _ in range(3):
            wrong_type.send("no number")
            wrong_codec.send(b"raw")
        good.send(7)
        assert polled(reader, 1) == [7]
        until(lambda: reader.poll() == [] and reader.statistics()["refused"] == 6)
        with pytest.raises(ReadTimeout, match="could not use 6 messages"):
            reader.get(timeout_s=0)
        refused = of(Refused, reader.events())
        assert [event.session_id for event in refused].count(wrong_type.session_id) == 3
        assert [event.session_id for event in refused].count(wrong_codec.session_id) == 1
        lines = [line.message for line in caplog.records]
        assert sum("written with codec raw" in line for line in lines) == 1
        assert sum("is no msgpack of int" in line for line in lines) == 1
        assert not of(Refused, reader.events())


class Strict:
    """A codec of a user that raises what he likes."""

    codec_id = codecs.USER_CODEC_ID

    def encode(self, obj):
        return obj

    def decode_many(self, messages):
        return [{b"good": 1}[message] for message in messages]


@pytest.mark.parametrize(
    ("codec", "good", "bad", "what"),
    [
        (codecs.msgpack(), b"\x01", b"\x91" * 10_000 + b"\x01", "recursion depth"),
        (Strict(), b"good", b"bad", "KeyError"),
    ],
)
def test_a_message_of_one_cannot_end_the_reading_of_others(
    driver_dir, name, codec, good, bad, what
):
    """Whatever the codec raises, the neighbours of the message are handed out."""
    with (
        stream.reader(name, codec=codec, dir=driver_dir) as reader,
        stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
    ):
        sending_of(pub).state.header = header_of(KIND_PLAIN, codec.codec_id, name)
        pub.send_many([good, bad, good])
        assert polled(reader, 2) == [1, 1]
        (refused,) = of(Refused, reader.events())
        assert what in refused.reason


class Miscounting:
    """A codec of a user that does not return one object for each message."""

    codec_id = codecs.USER_CODEC_ID

    def __init__(self, decode_many):
        self.decode_many = decode_many

    def encode(self, obj):
        return obj


@pytest.mark.parametrize(
    ("decode_many", "got"),
    [(lambda messages: messages[:-1], 2), (lambda messages: messages * 2, 6)],
)
def test_a_codec_that_loses_or_doubles_objects_is_an_error(driver_dir, name, decode_many, got):
    codec = Miscounting(decode_many)
    with (
        stream.reader(name, codec=codec, on_lost="raise", dir=driver_dir) as reader,
        stream.publisher(name, codec=codec, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send_many([b"a", b"b", b"c"])
        with pytest.raises(CodecError) as caught:
            until(reader.poll)
        assert f"Miscounting (id 128) returned {got} objects for 3 messages" in str(caught.value)
        assert f"stream {name!r}" in str(caught.value)
        assert reader.poll() == []
        assert reader.statistics()["refused"] == 3


def test_a_message_decoded_alone_counts_too(driver_dir, name):
    """After an exception each message is decoded alone; one object must come of each."""
    codec = Miscounting(lambda messages: [] if messages == [b"a"] else [{b"b": 2}[messages[0]]])
    with (
        stream.reader(name, codec=codec, dir=driver_dir) as reader,
        stream.publisher(name, codec=codec, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send_many([b"a", b"b"])
        pub.send(b"b")
        assert set(polled(reader, 1)) == {2}
        (refused,) = of(Refused, reader.events())
        assert "returned 0 objects for 1 messages" in refused.reason


def test_another_name_is_an_event(driver_dir, name):
    channel = UDP.format(port=free_port())
    with (
        stream.reader(name, channels=[channel], stream_id=77, dir=driver_dir) as reader,
        stream.publisher(f"{name}-b", channel=channel, stream_id=77, dir=driver_dir) as other,
        stream.publisher(name, channel=channel, stream_id=77, dir=driver_dir) as good,
    ):
        other.send(1)
        good.send(2)
        assert polled(reader, 1) == [2]
        refused = until(lambda: reader.poll() == [] and of(Refused, reader.events()))
        assert f"{name}-b" in refused[0].reason
        other.close(linger_s=0)
        good.close(linger_s=0)


@pytest.mark.parametrize("error", [CodecError, NameMismatch])
def test_it_still_raises_for_those_who_ask(driver_dir, name, error):
    channel = UDP.format(port=free_port())
    theirs = f"{name}-b" if error is NameMismatch else name
    type_ = bytes if error is CodecError else None
    with (
        stream.reader(
            name, channels=[channel], stream_id=77, on_lost="raise", dir=driver_dir
        ) as reader,
        stream.publisher(theirs, type_, channel=channel, stream_id=77, dir=driver_dir) as other,
    ):
        other.send(b"1")
        with pytest.raises(error):
            until(lambda: reader.poll() and False)
        other.close(linger_s=0)


def test_a_reader_that_fails_tells_its_publishers(driver_dir, name, channel):
    """They raise at once instead of waiting for a reader, and say what was not consumed."""
    reader = stream.reader(name, channels=[channel], dir=driver_dir, hold=True)
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        pub.send(1)
        assert polled(reader, 1) == [1]
        sent = pub.position
        reader.fail(ValueError("no use"))
        reader.fail("twice does nothing")
        assert reader.is_closed
        with pytest.raises(RemoteError, match="its reader has failed: ValueError: no use"):
            until(lambda: pub.send(2) and False, 20)
        with pytest.raises(RemoteError, match="no use"):
            pub.wait_consumed(sent, timeout_s=20)  # the held message was not consumed
        events = pub.events()
        (rejected,) = of(Rejected, events)
        assert rejected.reason == "ValueError: no use"
        assert rejected.session_id == pub.session_id
        assert of(Disconnected, events)


def test_a_forged_error_ends_no_publisher(driver_dir, name):
    """The driver does not believe an error frame of a host that has not proved itself."""
    port = free_port()
    channel = f"aeron:udp?control=127.0.0.1:{port}|control-mode=dynamic"
    text = b"forged"
    with (
        stream.reader(name, channels=[f"{channel}|endpoint=127.0.0.1:0"], dir=driver_dir) as reader,
        stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        pub.send(0)
        assert polled(reader, 1) == [0]
        slowest = until(pub.slowest_reader)
        frame = struct.pack(
            "<iBBHiiqqii",
            40 + len(text), 0, 0, ERR_FRAME, pub.session_id, pub.stream_id, slowest.reader_id, 0,
            13, len(text),
        )  # fmt: skip
        stranger.sendto(frame + text, ("127.0.0.1", port))
        for number in range(1, 100):
            pub.send(number, timeout_s=10)
        assert polled(reader, 99) == list(range(1, 100))
        assert of(Rejected, pub.events()) == []


def test_a_reason_of_any_length_is_told(driver_dir, name, channel):
    """It is cut to 1023 bytes, between two characters."""
    reader = stream.reader(name, channels=[channel], dir=driver_dir)
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        pub.send(1)
        until(lambda: reader.poll())
        reader.fail("ü" * 2000)
        rejected = until(lambda: of(Rejected, pub.events()), 20)
        assert rejected[0].reason == "ü" * 511


def test_another_reader_takes_the_error_back(driver_dir, name):
    """A publisher whose reader failed waits again as soon as it has had another reader."""
    channel = f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=dynamic"
    first = stream.reader(name, channels=[f"{channel}|endpoint=127.0.0.1:0"], dir=driver_dir)
    second = stream.reader(name, channels=[f"{channel}|endpoint=127.0.0.2:0"], dir=driver_dir)
    with stream.publisher(
        name, channel=channel, dir=driver_dir, linger_s=0, connect_timeout_s=20
    ) as pub:
        pub.send(1)
        until(lambda: first.poll() or (pub.offer(2), False)[1], 20)
        until(lambda: second.poll() or (pub.offer(2), False)[1], 20)
        first.fail("broken")
        until(lambda: of(Rejected, pub.events()), 20)
        assert pub.send(3) > 0
        second.close()
        until(lambda: not pub.is_connected, 20)
        with pytest.raises(NotConnected):
            pub.send(4, timeout_s=0.2)


def test_a_sink_fails_when_its_reader_does(driver_dir, name):
    """A sink that waits for demand would wait for ever: nobody is left who could ask."""
    from rstream import abc

    class Upstream(abc.Subscription):
        is_cancelled = False

        def request(self, n):
            pass

        def cancel(self):
            self.is_cancelled = True

    reader = stream.reader(name, dir=driver_dir)
    upstream = Upstream()
    sink = stream.sink(name, dir=driver_dir)
    sink.on_subscribe(upstream)
    sink.on_next(1)
    assert polled(reader, 1) == [1]
    reader.fail("broken")
    until(lambda: upstream.is_cancelled)
