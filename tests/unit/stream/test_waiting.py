"""Readers and publishers that wait, as seen in `rstream stat`, in metrics and in the log."""

from __future__ import annotations

import logging
import os
import tempfile
import time

import pytest

import rstream
from rstream import HeldBy, metrics, stream, work
from rstream._neighbours import hint_for_reader
from rstream.cli import _stat
from rstream.errors import BackPressured, NoServer, NotConnected, ReadTimeout
from rstream.testing import TestSubscriber
from rstream.work._protocol import hello_id
from tests.support import free_port, until


def stat(driver_dir):
    return "\n".join(_stat.screen(driver_dir, 2, {}, 0.0, False)[0])


def section(text, name):
    """The lines of one stream."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if f'stream "{name}"' in line)
    return "\n".join(lines[at : at + 4])


def test_metrics_tell_of_a_subscription_without_a_publisher(driver_dir, name):
    begin_ms = time.time() * 1000

    def mine():
        found = [s for s in metrics.subscriptions(driver_dir) if f"rs-name={name}" in s.channel]
        return found[0] if found else None

    with stream.subscriber(name, dir=driver_dir) as sub:
        waiting = mine()
        assert waiting is not None
        assert waiting.images == 0
        assert waiting.stream_id == stream.stream_id_of(name)
        assert begin_ms - 2000 <= waiting.since_ms <= time.time() * 1000
        with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
            pub.send(1)
            assert mine().images == 1
            assert sub.get(timeout_s=10) == 1
    until(lambda: mine() is None)  # the counter goes when the driver has seen the command


def test_stat_shows_who_waits_and_asks_for_the_slip(driver_dir, name):
    with (
        stream.subscriber(f"{name}tick", dir=driver_dir),
        stream.publisher(f"{name}ticks", dir=driver_dir, linger_s=0),
    ):
        text = stat(driver_dir)
    question = f"a reader of '{name}tick' waits here: did you mean '{name}ticks'?"
    assert question in section(text, f"{name}ticks")
    waiting = section(text.partition("readers that wait")[2], f"{name}tick")
    assert "waits for 0 s" in waiting or "waits for 1 s" in waiting
    assert f"a publisher of '{name}ticks' is here: did you mean '{name}ticks'?" in waiting


def test_stat_names_the_other_channel_of_the_same_name(driver_dir, name):
    udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        stream.subscriber(name, channel=udp, dir=driver_dir),
        stream.publisher(name, dir=driver_dir, linger_s=0),
    ):
        text = stat(driver_dir)
    assert f"a reader of '{name}' waits here on another channel: {udp}" in section(text, name)


def test_no_hint_for_a_publisher_on_any_channel_of_the_reader(driver_dir, name):
    ipc, udp = "aeron:ipc", f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.publisher(name, channel=ipc, dir=driver_dir, linger_s=0):
        assert "on another channel" in hint_for_reader(driver_dir, name, udp)
        assert hint_for_reader(driver_dir, name, udp, ipc) == ""


def test_unlike_names_give_no_hint(driver_dir, name):
    with (
        stream.subscriber(f"orders-{name}", dir=driver_dir),
        stream.publisher(f"x{name[::-1]}", dir=driver_dir, linger_s=0),
    ):
        assert "did you mean" not in section(stat(driver_dir), f"x{name[::-1]}")


def test_names_with_other_numbers_give_no_hint(driver_dir, name):
    with (
        stream.subscriber(f"{name}-sensor-7", dir=driver_dir),
        stream.publisher(f"{name}-sensor-8", dir=driver_dir, linger_s=0),
    ):
        assert "did you mean" not in section(stat(driver_dir), f"{name}-sensor-8")


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_a_reader_out_of_demand_is_shown_as_that(driver_dir, name, medium):
    channel = None if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    reader = TestSubscriber(initial_request=2)
    stream.source(name, bytes, channel=channel, dir=driver_dir).subscribe(reader)
    with stream.publisher(name, bytes, channel=channel, dir=driver_dir, linger_s=0) as pub:
        pub.send(bytes(1000))

        def is_shown():
            while pub.offer(bytes(1000)) > 0:
                pass
            is_held = pub.held_by is HeldBy.DEMAND  # until a report makes room
            return is_held and _stat.HELD_BY[HeldBy.DEMAND] in section(stat(driver_dir), name)

        until(is_shown)
        with pytest.raises(BackPressured, match="one has requested no more") as caught:
            pub.send(bytes(1000), timeout_s=0.05)
        assert caught.value.held_by == "demand"
        assert len(reader.values) == 2
        assert "readers want 0 messages more" in stat(driver_dir)
        reader.cancel()


def position(driver_dir, name):
    return next(one for one in metrics.publications(driver_dir) if one.name == name).position


def test_a_second_print_says_how_much_was_sent_since_the_first(driver_dir, name):
    with (
        stream.subscriber(name, bytes, dir=driver_dir),
        stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
    ):
        pub.send(bytes(1000))
        until(lambda: position(driver_dir, name) == 1056)
        lines, before = _stat.screen(driver_dir, 2, {}, 0.0, False)
        assert "sent 1,056 bytes; room" in section("\n".join(lines), name)
        pub.send(bytes(1000))
        until(lambda: position(driver_dir, name) == 2112)
        lines, _ = _stat.screen(driver_dir, 2, before, 2.0, False)
        shown = section("\n".join(lines), name)
        assert "sent 2,112 bytes (528/s in the last 2.0 s); room" in shown


def test_the_publishers_notice_and_error_ask_for_the_slip(driver_dir, name, caplog, monkeypatch):
    monkeypatch.setattr("rstream.stream._sending._waiting.NOTICE_AFTER_S", 0.05)
    question = f"a reader of '{name}tick' waits here: did you mean '{name}ticks'?"
    with (
        stream.subscriber(f"{name}tick", dir=driver_dir),
        stream.publisher(f"{name}ticks", dir=driver_dir, connect_timeout_s=1.5) as pub,
        caplog.at_level(logging.WARNING, "rstream"),
    ):
        with pytest.raises(NotConnected) as raised:
            pub.send(1)
        assert question in str(raised.value)
    assert question in caplog.text


def test_a_reader_logs_once_that_it_may_mean_another_publisher(
    driver_dir, name, caplog, monkeypatch
):
    monkeypatch.setattr("rstream.stream._reading._notices.NOTICE_EVERY_S", 0.02)
    with (
        caplog.at_level(logging.WARNING, "rstream"),
        stream.subscriber(f"{name}tick", dir=driver_dir) as sub,
    ):
        assert not sub.wait(0.05)
        assert "did you mean" not in caplog.text
        with stream.publisher(f"{name}ticks", dir=driver_dir, linger_s=0):
            until(lambda: sub.wait(0.03) or "did you mean" in caplog.text)
            assert not sub.wait(0.1)
    notices = [r.getMessage() for r in caplog.records if "did you mean" in r.getMessage()]
    assert len(notices) == 1
    assert f"waits for a publisher; a publisher of '{name}ticks' is here: did" in notices[0]


# ---- one name, two kinds of stream ----


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return "aeron:ipc" if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


def test_a_plain_reader_of_a_name_of_shared_work(driver_dir, name, channel):
    hint = "a publisher of shared work with this name is here: read with rstream.work.subscriber"
    with (
        work.publisher(name, channel=channel, dir=driver_dir),
        stream.subscriber(name, dir=driver_dir) as sub,
    ):
        assert until(lambda: hint_for_reader(driver_dir, name, "aeron:ipc")) == hint
        assert hint in stat(driver_dir)
        with pytest.raises(ReadTimeout) as raised:
            sub.get(timeout_s=0.5)
        assert hint in raised.value.hint
        assert driver_dir in raised.value.hint


def test_a_plain_publisher_of_a_name_of_shared_work(driver_dir, name):
    hint = "a reader of shared work with this name is here: send with rstream.work.publisher"
    with (
        work.subscriber(name, dir=driver_dir),
        stream.publisher(name, dir=driver_dir, connect_timeout_s=0.1) as pub,
        pytest.raises(NotConnected) as raised,
    ):
        pub.send(1)
    assert hint in str(raised.value)


def test_a_reader_of_shared_work_of_a_plain_name(driver_dir, name):
    hint = "a publisher of a plain stream with this name is here: read with rstream.subscriber"
    with (
        stream.publisher(name, dir=driver_dir, linger_s=0),
        work.subscriber(name, dir=driver_dir) as worker,
    ):
        with pytest.raises(ReadTimeout) as raised:
            worker.get(timeout_s=0.05)
        assert hint in raised.value.hint
        assert hint in stat(driver_dir)


def test_a_publisher_of_shared_work_of_a_plain_name(driver_dir, name, channel):
    hint = "a reader of a plain stream with this name is here: send with rstream.publisher"
    with (
        stream.subscriber(name, dir=driver_dir),
        work.publisher(name, channel=channel, dir=driver_dir, connect_timeout_s=0.1) as pub,
    ):
        with pytest.raises(NotConnected) as raised:
            pub.send(1)
        assert hint in str(raised.value)
        assert driver_dir in raised.value.hint
        assert hint in stat(driver_dir)


def test_both_sides_of_shared_work_give_no_hint(driver_dir, name):
    with (
        work.publisher(name, dir=driver_dir) as pub,
        work.subscriber(name, dir=driver_dir) as worker,
    ):
        pub.send(1)
        assert worker.get(timeout_s=10).item == 1
        assert hint_for_reader(driver_dir, name, "aeron:ipc", stream_id=hello_id(name)) == ""
        assert "with this name is here" not in section(stat(driver_dir), name)


def test_a_request_with_a_slip_is_asked_for_the_servers_name(driver_dir, name):
    served = rstream.serve(f"{name}square", dir=driver_dir)(lambda n: n * n)
    with served, rstream.service.requester(f"{name}square", dir=driver_dir) as asks:
        assert asks.request(3, timeout_s=10) == 9  # it has callers
        with pytest.raises(NoServer) as raised:
            rstream.request(f"{name}sqare", 1, dir=driver_dir, timeout_s=0.1)
    question = f"'{name}square' is served here: did you mean '{name}square'?"
    assert question in str(raised.value)


def test_a_request_to_a_plain_name_and_a_reader_of_a_service(driver_dir, name):
    asked = "a reader of a plain stream with this name is here: send with rstream.publisher"
    with stream.subscriber(name, dir=driver_dir), pytest.raises(NoServer) as raised:
        rstream.request(name, 1, dir=driver_dir, timeout_s=0.1)
    assert asked in str(raised.value)
    with (
        rstream.serve(name, dir=driver_dir)(lambda n: n),
        stream.publisher(name, dir=driver_dir, connect_timeout_s=0.1) as pub,
        pytest.raises(NotConnected) as raised,
    ):
        pub.send(1)
    assert "a service with this name is here: ask it with rstream.request" in str(raised.value)


# ---- two directories ----


def test_other_drivers_are_named_where_nothing_arrives(driver_dir, name, caplog, monkeypatch):
    monkeypatch.setattr("rstream.stream._reading._notices.NOTICE_EVERY_S", 0.02)
    with tempfile.TemporaryDirectory(prefix=os.path.basename(driver_dir), dir="/dev/shm") as folder:
        other = os.path.join(folder, f"one-of-two-{name}-2")
        beside = os.path.join(folder, f"one-of-two-{name}-1")
        with rstream.Driver(dir=other), rstream.Driver(dir=beside):
            text = f"other drivers of this host live in {other}"  # the most similar name first
            with stream.publisher(name, dir=beside, connect_timeout_s=0.1) as pub:
                with pytest.raises(NotConnected) as raised:
                    pub.send(1)
                assert text in str(raised.value)
                assert beside in raised.value.hint
                assert text in stat(beside)
            with (
                caplog.at_level(logging.WARNING, "rstream"),
                stream.subscriber(name, dir=beside) as sub,
            ):
                with pytest.raises(ReadTimeout) as raised:
                    sub.get(timeout_s=0.5)
                assert text in raised.value.hint
            assert caplog.text.count(text) == 1
