"""A publisher before its first reader: it waits, says for whom, and counts what it has to."""

from __future__ import annotations

import logging
import time

import pytest

import rstream
from rstream import stream
from rstream.errors import (
    BackPressured,
    ConfigError,
    NotConnected,
)
from rstream.stream._internal import sending_of
from tests.support import free_port, in_thread, is_all_on_the_network, until


def test_no_subscriber_offer_says_so_and_send_waits_then_raises(driver_dir, name, caplog):
    with stream.publisher(name, dir=driver_dir, connect_timeout_s=0.2) as pub:
        assert pub.offer(1) == -1
        started = time.monotonic()
        with pytest.raises(NotConnected, match=name):
            pub.send(1)
        assert 0.15 < time.monotonic() - started < 2


def test_a_notice_names_channel_and_stream(driver_dir, name, caplog, monkeypatch):
    monkeypatch.setattr("rstream.stream._sending._waiting.NOTICE_AFTER_S", 0.05)
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
        context.setattr("rstream.stream._sending._waiting.time.monotonic_ns", hours_later)
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


def test_readers_of_one_driver_at_one_address_are_one_receiver(driver_dir, name):
    """So a group of two waits; a reader with a port of its own is the second one."""
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    sending = f"aeron:udp?{control}|fc=min,g:/2"
    one_port = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}"
    own_port = f"aeron:udp?endpoint=127.0.0.1:0|{control}"
    with (
        stream.publisher(name, int, dir=driver_dir, channel=sending, linger_s=0) as pub,
        stream.subscriber(name, int, dir=driver_dir, channel=one_port) as first,
        stream.subscriber(name, int, dir=driver_dir, channel=one_port) as second,
    ):
        until(lambda: first.is_connected and second.is_connected)
        until(lambda: sending_of(pub).session.reader_count() == 1)
        assert not pub.is_connected
        with stream.subscriber(name, int, dir=driver_dir, channel=own_port) as third:
            until(lambda: pub.is_connected)
            pub.send(1)
            assert [sub.get(timeout_s=10) for sub in (first, second, third)] == [1, 1, 1]


def test_a_full_window_has_room_again_when_an_eighth_was_consumed(driver_dir, name):
    size = 1024 - 32  # with the header: 512 messages fill the window of 512 KiB
    with (
        stream.subscriber(name, bytes, dir=driver_dir) as sub,
        # The window alone: a law of rate lowers the limit, and raises it again in finer steps.
        stream.publisher(
            name, bytes, dir=driver_dir, linger_s=0, rate=rstream.rate.Unlimited()
        ) as pub,
    ):
        pub.send_many([bytes(size)] * 512)
        assert len(sub.poll(60)) == 60
        with pytest.raises(BackPressured):
            pub.send(bytes(size), timeout_s=0.2)
        assert len(sub.poll(6)) == 6
        pub.send(bytes(size), timeout_s=10)


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


def test_a_first_message_that_is_read_at_once_is_no_gap(driver_dir, name):
    """The publisher looks for readers after its first message, which may be consumed by then."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    options = {"channel": channel, "dir": driver_dir}
    with (
        stream.subscriber(name, **options) as reader,
        stream.publisher(name, linger_s=0, **options) as publisher,
    ):
        until(lambda: sending_of(publisher).session.core.is_connected)
        offer = sending_of(publisher).session.offer_one

        def offer_and_be_read(data, header):
            position = offer(data, header)
            assert reader.get(timeout_s=10) == 1
            until(lambda: sending_of(publisher).session.core.consumed_position == position)
            return position

        sending_of(publisher).session.offer_one = offer_and_be_read
        publisher.send(1)
        events = publisher.events()
    assert [type(event).__name__ for event in events] == ["Connected"], events


@pytest.mark.parametrize("timeout_s", [None, 10])
def test_waiting_until_consumed_ends_when_the_only_reader_has_left(
    driver_dir, name, caplog, monkeypatch, timeout_s
):
    monkeypatch.setattr("rstream.stream._sending._waiting.NOTICE_AFTER_S", 0.05)
    with stream.publisher(name, dir=driver_dir, connect_timeout_s=0.3, linger_s=0) as publisher:
        with stream.subscriber(name, dir=driver_dir) as reader:
            first = publisher.send(1)
            assert reader.get(timeout_s=10) == 1
            assert reader.poll() == []  # now it counts as consumed
            until(lambda: sending_of(publisher).session.core.consumed_position == first)
            last = publisher.send(2)
        text = (
            "no subscriber for 0.3 s; the last reader .+ left . s ago and said no error: it "
            "closed, or was cut off.*; "
            f"the last reader had consumed up to {first} of {last}"
        )
        with (
            caplog.at_level(logging.WARNING, "rstream"),
            pytest.raises(NotConnected, match=text),
        ):
            publisher.wait_consumed(timeout_s=timeout_s)
        assert any("waits for a subscriber" in r.getMessage() for r in caplog.records)


def test_who_finds_no_reader_is_told_what_the_last_one_had(driver_dir, name):
    """Over UDP what was under way is lost, and is not counted as consumed."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    options = {"channel": channel, "dir": driver_dir}
    with stream.publisher(name, **options, connect_timeout_s=0.3, linger_s=0) as publisher:
        with stream.subscriber(name, **options) as reader:
            first = publisher.send(1)
            assert reader.get(timeout_s=10) == 1
            assert reader.poll() == []  # now it counts as consumed
            until(lambda: sending_of(publisher).session.core.consumed_position == first)
            last = publisher.send(2)
            until(lambda: is_all_on_the_network(publisher, driver_dir))  # else it is kept
        until(lambda: any(isinstance(event, stream.Gap) for event in publisher.events()))
        with pytest.raises(NotConnected, match=f"had consumed up to {first} of {last}"):
            publisher.send(3)
