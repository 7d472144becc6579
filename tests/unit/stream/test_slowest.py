"""The slow receiver is named: by the publisher, by the metrics and by ``rstream stat``."""

from __future__ import annotations

import os
import re
import time

import pytest

from rstream import _core, metrics, rate, stream
from rstream._held_by import HeldBy
from rstream.cli import _stat
from rstream.config import DriverConfig
from rstream.driver import Driver
from rstream.errors import NotConnected, SystemCallError
from rstream.stream._internal import sending_of
from tests.support import free_port, in_thread, until

SOON = DriverConfig(timer_interval_s=0.05)


@pytest.fixture
def driver(tmp_path):
    with Driver(dir=str(tmp_path / "driver"), config=SOON) as made:
        yield made


def state_of(directory, pub):
    (state,) = [
        state
        for state in metrics.publications(directory)
        if state.registration_id == sending_of(pub).session.core.registration_id
    ]
    return state


def test_a_stalled_subscriber_is_named(driver, name):
    with (
        stream.subscriber(name, bytes, dir=driver.dir) as one,
        stream.subscriber(name, bytes, dir=driver.dir) as other,
        stream.publisher(name, bytes, dir=driver.dir, linger_s=0) as pub,
    ):

        def is_held_by(sub, full):
            reader = pub.slowest_reader()
            (core,) = sub.subscriptions
            return (
                reader is not None
                and reader.reader_id == core.registration_id
                and reader.position == full
            )

        def fill_up(reading):
            until(lambda: pub.offer(b"x" * 1000) > 0)
            while pub.offer(b"x" * 1000) > 0 or reading.poll():
                pass

        fill_up(one)
        until(lambda: is_held_by(other, 0))
        reader = pub.slowest_reader()
        assert (reader.is_local, reader.pid, reader.source) == (True, os.getpid(), "")
        assert 0 < reader.since_ms <= time.time() * 1000
        state = state_of(driver.dir, pub)
        assert state.slowest == reader
        assert 0.9 < state.fill <= 1.0
        text = "\n".join(_stat.screen(driver.dir, 2, {}, 0.0, False)[0])
        assert "window is full: the slowest reader holds it" in text
        assert f"slowest reader: {reader.name}, " in text
        assert (
            f"pid {os.getpid()} on {os.uname().nodename} (subscription {reader.reader_id}" in text
        )
        assert re.search(r"% full, consumed [\d,]+ bytes, slowest for \d+ ", text)

        while other.poll():
            pass
        end = pub.position
        fill_up(other)
        until(lambda: is_held_by(one, end))
        assert pub.slowest_reader().since_ms >= reader.since_ms
    assert pub.slowest_reader() is None


def test_a_stalled_receiver_is_named(tmp_path, driver, name):
    control = f"127.0.0.1:{free_port()}"
    sending = f"aeron:udp?control={control}|control-mode=dynamic|fc=min"
    receiving = f"aeron:udp?endpoint=127.0.0.1:0|control={control}|control-mode=dynamic"
    with (
        Driver(dir=str(tmp_path / "other"), config=SOON) as there,
        stream.subscriber(name, bytes, dir=driver.dir, channel=receiving) as good,
        stream.subscriber(name, bytes, dir=there.dir, channel=receiving) as slow,
        stream.publisher(name, bytes, dir=driver.dir, channel=sending, linger_s=0) as pub,
    ):
        until(lambda: slow.is_connected and good.is_connected)
        (core,) = slow.subscriptions

        def is_named():
            pub.offer(b"x" * 1000)
            good.poll()
            reader = pub.slowest_reader()
            return reader is not None and reader.source == core.local_address and reader

        def is_full():
            pub.offer(b"x" * 1000)
            good.poll()
            return state_of(driver.dir, pub).fill > 0.8

        reader = until(is_named)
        until(is_full)
        assert (reader.is_local, reader.pid) == (False, os.getpid())  # its driver is on this host
        assert "(receiver 0x" in reader.name
        assert reader.name.endswith(f"{core.local_address})")
        first = pub.slowest_reader()
        assert first.position == state_of(driver.dir, pub).slowest.position
        slow.close()
        until(lambda: pub.slowest_reader().source != core.local_address or good.poll() is None)


def test_a_publication_without_readers_names_none(driver, name):
    with stream.publisher(name, dir=driver.dir, linger_s=0) as pub:
        assert pub.slowest_reader() is None
        assert state_of(driver.dir, pub).fill == 0.0


def test_a_publication_at_its_rate_is_held_by_the_rate(driver, name):
    with (
        stream.subscriber(name, bytes, dir=driver.dir),
        stream.publisher(name, bytes, dir=driver.dir, rate=rate.Fixed(1), linger_s=0) as pub,
    ):
        until(lambda: pub.offer(b"x" * 1000) < 0 and pub.is_rate_limited)
        until(lambda: state_of(driver.dir, pub).held_by == "rate")
        text = "\n".join(_stat.screen(driver.dir, 2, {}, 0.0, False)[0])
        assert "its rate holds it" in text
        assert "window is full" not in text
        pub.set_rate(rate.Unlimited())
        until(lambda: state_of(driver.dir, pub).held_by is None)
        while pub.offer(b"x" * 1000) > 0:
            pass
        until(lambda: state_of(driver.dir, pub).held_by == "window")


def test_stat_shows_a_rate_with_its_fill_naks_and_headroom(driver, name):
    """One reader's window holds the publisher: only a group has headroom."""
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    receiving = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}"
    with (
        stream.subscriber(name, bytes, dir=driver.dir, channel=receiving) as sub,
        stream.publisher(
            name, bytes, dir=driver.dir, channel=f"aeron:udp?{control}", linger_s=0
        ) as pub,
    ):

        def is_told():
            for _ in range(100):
                pub.offer(b"x" * 1000)
            sub.poll(20)
            return (
                state_of(driver.dir, pub).rate.fill_naks > 0
                and state_of(driver.dir, pub).rate.headroom
            )

        assert until(is_told) > 0
        text = "\n".join(_stat.screen(driver.dir, 2, {}, 0.0, False)[0])
        assert "    rate limit now: " in text
        assert "reports of a filling buffer (fill NAKs)" in text
        assert re.search(r"^    headroom: \d+\.\d\d \(", text, re.MULTILINE)
        pub.set_rate(rate.Fixed("1MB/s"))
        until(
            lambda: (
                state_of(driver.dir, pub).rate.bytes_per_s == 1_000_000 and sub.poll() is not None
            )
        )
        until(lambda: state_of(driver.dir, pub).rate.headroom is None)


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_a_slow_reader_slows_its_publisher_down_by_default(driver, name, medium):
    """The law acts without being asked for, also in shared memory, and stat shows it."""
    channel = None if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        stream.subscriber(name, bytes, dir=driver.dir, channel=channel) as sub,
        stream.publisher(name, bytes, dir=driver.dir, channel=channel, linger_s=0) as pub,
    ):
        until(lambda: pub.is_connected)

        def is_held_by_rate():
            while pub.offer(b"x" * 1000) > 0:
                pass
            sub.poll(2)
            state = state_of(driver.dir, pub)
            return state.rate.fill_naks > 0 and pub.held_by is HeldBy.RATE

        until(is_held_by_rate)
        assert state_of(driver.dir, pub).rate.headroom is None


def test_held_by_of_an_unknown_publication(driver):
    with pytest.raises(SystemCallError, match=r"12345\.logbuffer"):
        _core.read_held_by(driver.dir, 12345)


@pytest.mark.parametrize("is_full", [False, True])
def test_a_closed_publication_is_not_held_by_its_reader(driver, name, is_full):
    with (
        stream.subscriber(name, bytes, dir=driver.dir),
        stream.publisher(name, bytes, dir=driver.dir, linger_s=0) as pub,
    ):
        pub.send(b"x")
        while is_full and pub.offer(bytes(1000)) > 0:
            pass
        pub.close()

        def is_ended():
            text = "\n".join(_stat.screen(driver.dir, 2, {}, 0.0, False)[0])
            return "ended: its publisher has closed it" in text and "window is full" not in text

        until(is_ended)


def test_a_gap_of_a_group_says_that_its_slowest_reader_left_it(tmp_path, driver, name):
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    channel = f"aeron:udp?{control}|fc=min"
    reader_channel = f"aeron:udp?{control}|endpoint=127.0.0.1:0"
    with Driver(dir=str(tmp_path / "far"), config=SOON) as far:
        slow = stream.subscriber(name, bytes, dir=far.dir, channel=reader_channel)
        fast = stream.subscriber(name, bytes, dir=driver.dir, channel=reader_channel)
        with stream.publisher(name, bytes, dir=driver.dir, channel=channel, linger_s=0) as pub:
            until(lambda: pub.is_connected and slow.is_connected and fast.is_connected)
            position = pub.send(b"x" * 1000)
            until(fast.poll)
            until(lambda: sending_of(pub).session.core.consumed_position == 0)  # of the slow one
            until(lambda: sending_of(pub).session.reader_count() == 2)
            fast.close()
            until(lambda: sending_of(pub).session.reader_count() == 1)
            slow.close()
            until(lambda: not pub.is_connected)
        (gap,) = (event for event in pub.events() if isinstance(event, stream.Gap))
        assert (gap.from_position, gap.to_position) == (0, position)
        assert "the slowest one stopped at 0" in gap.reason


def test_a_group_that_is_not_complete_says_how_many_are_there(driver, name):
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    sending = f"aeron:udp?{control}|fc=min,g:/2"
    receiving = f"aeron:udp?{control}|endpoint=127.0.0.1:0"
    with stream.publisher(
        name, bytes, dir=driver.dir, channel=sending, connect_timeout_s=3, linger_s=0
    ) as pub:
        errors = []

        def send():
            try:
                pub.send(b"x")
            except NotConnected as error:
                errors.append(str(error))

        sending_thread = in_thread(send)  # nobody is there yet: it waits
        with stream.subscriber(name, bytes, dir=driver.dir, channel=receiving):
            until(lambda: pub.slowest_reader() is not None)
            text = "\n".join(_stat.screen(driver.dir, 2, {}, 0.0, False)[0])
            assert "wants 2 receivers (fc=), and fewer are there" in text
            sending_thread.join(10)
            assert "1 of 2 receivers of its group for 3." in errors[0]


def test_a_law_without_a_reason_to_limit_is_shown_as_no_limit(driver, name):
    law = rate.Adaptive()
    with stream.publisher(name, bytes, dir=driver.dir, rate=law, linger_s=0) as pub:
        assert state_of(driver.dir, pub).rate is not None
        text = "\n".join(_stat.screen(driver.dir, 2, {}, 0.0, False)[0])
        assert "    rate limit now: none; reports of a filling buffer" in text
