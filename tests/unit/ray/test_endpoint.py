"""Endpoints without Ray: they need none, so two directories stand for two hosts here."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time

import pytest

import rstream
from rstream import policy, stream
from rstream.errors import (
    BackPressured,
    CodecError,
    ConfigError,
    NotConnected,
    RegistrationError,
    RemoteError,
)
from rstream.ray import open_reader
from rstream.ray._open import _node_address
from rstream.stream import Failed, Refused, Rejected
from tests.support import until


@pytest.fixture
def far_dir(make_driver_dir):
    """The directory of a driver on "another host"."""
    with rstream.Driver(dir=make_driver_dir()) as far:
        yield far.dir


@pytest.fixture(params=["ipc", "udp"])
def writer_dir(request, driver_dir):
    return driver_dir if request.param == "ipc" else request.getfixturevalue("far_dir")


def opened(name, driver_dir, **options):
    return contextlib.closing(open_reader(name, dir=driver_dir, **options))


# ---- on_item that raises, or does not return ----


def break_down(item):
    raise ValueError("a bug in on_item")


def test_a_bug_in_on_item_is_told_to_the_writers(driver_dir, name, writer_dir):
    """Neither ``send`` nor ``wait_consumed`` waits for a reader that has ended."""
    ends = []
    with (
        opened(name, driver_dir) as end,
        end.handle.publisher(driver_dir=writer_dir, linger_s=0) as pub,
    ):
        end.start(break_down, on_end=ends.append)
        with pytest.raises(RemoteError, match="ValueError: a bug in on_item"):
            until(lambda: pub.send("x" * 1000, timeout_s=20) and False, 30)
        with pytest.raises(RemoteError, match="ValueError: a bug in on_item"):
            pub.wait_consumed(timeout_s=20)
        assert any(isinstance(event, Rejected) for event in pub.events())
        until(lambda: ends)
        assert isinstance(ends[0], ValueError)
        assert end.source.is_closed
        with pytest.raises(ValueError, match="a bug in on_item"):
            end.finish()


def test_a_bug_behind_a_queue_is_told_as_well(driver_dir, name):
    with (
        opened(name, driver_dir, udp=False, on_slow=policy.Buffer(10)) as end,
        end.handle.publisher(driver_dir=driver_dir, linger_s=0) as pub,
    ):
        end.start(break_down)
        with pytest.raises(RemoteError, match="a bug in on_item"):
            until(lambda: pub.send("x" * 1000, timeout_s=20) and False, 30)


def test_large_objects_travel_in_parts(driver_dir, name, writer_dir):
    items, sent = [], [bytes([number]) * (300_000 + number) for number in range(3)]
    with (
        opened(name, driver_dir, codec="raw", max_message_length=400_000) as end,
        end.handle.publisher(driver_dir=writer_dir, max_message_length=400_001) as pub,
    ):
        end.start(items.append)
        pub.send_many([*sent, bytes(400_001), b"end"])
        until(lambda: len(items) == 4)
        assert items == [*sent, b"end"]
        until(lambda: any(isinstance(event, Refused) for event in end.events()))


def test_an_endpoint_that_ended_holds_no_window(driver_dir, name):
    """finish() closes the reader too: a writer that goes on hears that no reader is there."""
    with opened(name, driver_dir, udp=False) as end:
        end.start(lambda item: None)
        with end.handle.publisher(driver_dir=driver_dir, linger_s=0, connect_timeout_s=0.2) as pub:
            pub.send(1)
            end.finish()
            with pytest.raises(NotConnected):
                until(lambda: pub.send("x" * 1000, timeout_s=20) and False, 30)


def test_on_item_that_hangs_holds_nobody_after_close(driver_dir, name, monkeypatch):
    from rstream.ray import _endpoint

    monkeypatch.setattr(_endpoint, "CLOSE_TIMEOUT_S", 0.1)
    go_on = threading.Event()
    end = open_reader(name, dir=driver_dir, udp=False)
    with end.handle.publisher(driver_dir=driver_dir, linger_s=0, connect_timeout_s=0.2) as pub:
        end.start(lambda item: go_on.wait(30))
        with pytest.raises(BackPressured):
            until(lambda: pub.send("x" * 1000, timeout_s=0.2) and False, 30)
        with pytest.raises(TimeoutError, match="on_item does not return"):
            end.close()
        assert end.source.is_closed
        with pytest.raises(NotConnected):
            until(lambda: pub.send("x" * 1000, timeout_s=20) and False, 30)
        go_on.set()


# ---- the trouble of one writer ----


def test_a_failing_writer_ends_its_own_session_only(driver_dir, name, writer_dir):
    """As a Spark task does: an exception inside ``with`` ends the writer's stream by an error."""
    got = []
    with (
        opened(name, driver_dir) as end,
        end.handle.publisher(driver_dir=writer_dir, linger_s=0) as good,
    ):
        end.start(got.append)
        good.send(1)
        with (
            pytest.raises(CodecError),
            end.handle.publisher(driver_dir=driver_dir) as bad,
        ):
            bad.send(object())
        with stream.publisher(
            name,
            bytes,
            stream_id=end.handle.stream_id,
            channel=end.handle.ipc_channel,
            dir=driver_dir,
            linger_s=0,
        ) as other_codec:
            other_codec.send(b"raw")
        seen = []
        until(lambda: seen.extend(end.events()) or {Failed, Refused} <= {type(e) for e in seen})
        (failed,) = (event for event in seen if isinstance(event, Failed))
        assert "CodecError" in failed.reason
        good.send(2)
        until(lambda: got == [1, 2])


def test_an_endpoint_may_ask_for_errors(driver_dir, name):
    ends = []
    with opened(name, driver_dir, udp=False, on_lost="raise") as end:
        end.start(lambda item: None, on_end=ends.append)
        with end.handle.publisher(driver_dir=driver_dir, linger_s=0) as bad:
            bad.fail("broken")
        until(lambda: ends)
        assert isinstance(ends[0], RemoteError)


# ---- addresses ----


def test_one_name_twice_is_two_addresses(driver_dir, name, writer_dir):
    """What is sent to a handle reaches its reader alone, over shared memory and over UDP."""
    got = [], []
    with opened(name, driver_dir) as first, opened(name, driver_dir) as second:
        first.start(got[0].append)
        second.start(got[1].append)
        assert first.handle.stream_id != second.handle.stream_id
        for number, end in enumerate((first, second)):
            with end.handle.publisher(driver_dir=writer_dir, linger_s=10) as pub:
                assert pub.stream_id == end.handle.stream_id
                pub.send(number)
                assert pub.wait_consumed(timeout_s=20)
        until(lambda: got == ([0], [1]))


def test_a_plain_publisher_does_not_reach_an_endpoint(driver_dir, name):
    """Sharing is asked for by name: a plain subscriber of the name gets it, the endpoint does not.

    Ids made from names are positive, those of handles are negative.
    """
    got = []
    with (
        opened(name, driver_dir) as end,
        rstream.subscriber(name, dir=driver_dir) as sub,
        end.handle.publisher(driver_dir=driver_dir, linger_s=10) as to_end,
        rstream.publisher(name, dir=driver_dir, linger_s=0) as plain,
    ):
        assert end.handle.stream_id < 0 < stream.stream_id_of(name)
        end.start(got.append)
        plain.send("plain")
        until(lambda: sub.poll() == ["plain"])
        to_end.send("to the endpoint")
        until(lambda: got == ["to the endpoint"])
        assert sub.poll() == []


def test_the_port_is_bound_to_the_advertised_address(driver_dir, name):
    with opened(name, driver_dir) as end:
        (_, subscription) = end.reader.subscriptions
        assert subscription.local_address == end.handle.endpoint
        assert end.handle.endpoint.startswith(f"{_node_address()}:")  # loopback without Ray


def test_bind_overrides_the_address(driver_dir, name):
    with opened(name, driver_dir, host="node.example", bind="127.0.0.2") as end:
        (_, subscription) = end.reader.subscriptions
        assert subscription.local_address.startswith("127.0.0.2:")
        port = subscription.local_address.rpartition(":")[2]
        assert end.handle.endpoint == f"node.example:{port}"


@pytest.mark.parametrize("host", ["192.0.2.1", "no-host.invalid"])
def test_an_address_of_another_machine_cannot_be_bound(driver_dir, name, host):
    """192.0.2.1 is kept for documentation. The error says how to advertise it all the same."""
    with pytest.raises(RegistrationError, match="give bind= an address of this host"):
        open_reader(name, dir=driver_dir, host=host)
    with opened(name, driver_dir, host=host, bind="127.0.0.1") as end:
        assert end.handle.endpoint.startswith(f"{host}:")


def test_an_ipv6_address_gets_its_brackets():
    from rstream.ray._open import address_of

    assert address_of("::1", 7) == "[::1]:7"
    assert address_of("[::1]", 7) == "[::1]:7"
    assert address_of("10.0.0.7", 7) == "10.0.0.7:7"


# ---- pickle ----


def test_pickle_on_a_port_needs_the_users_word(driver_dir, name):
    """Whoever reaches the port could run code; shared memory is the user's own anyway."""
    with pytest.raises(ConfigError, match="trusted_network=True"):
        open_reader(name, codec="pickle", dir=driver_dir)
    got = []
    with opened(name, driver_dir, codec="pickle", udp=False) as end:
        end.start(got.append)
        with end.handle.publisher(driver_dir=driver_dir, linger_s=10) as pub:
            pub.send({1, 2})
        until(lambda: got == [{1, 2}])


def test_pickle_on_a_port_with_the_users_word(driver_dir, name, far_dir):
    got = []
    with opened(name, driver_dir, codec="pickle", trusted_network=True) as end:
        end.start(got.append)
        with end.handle.publisher(driver_dir=far_dir, linger_s=10) as pub:
            pub.send({1, 2})
        until(lambda: got == [{1, 2}])


# ---- the end of the process ----

OPEN_AT_EXIT = """
import logging, sys
import rstream.ray
logging.basicConfig()
started = rstream.ray.open_reader("a", dir=sys.argv[1])
started.start(print)
queued = rstream.ray.open_reader("b", dir=sys.argv[1], on_slow=rstream.policy.Buffer(10))
queued.start(print)
"""


@pytest.mark.parametrize("end", ["", "sys.exit(0)"])
def test_an_open_endpoint_says_nothing_at_a_normal_exit(driver_dir, end):
    started_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", OPEN_AT_EXIT + end, driver_dir],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - started_s < 30


def test_a_misspelled_option_is_an_error_that_names_all():
    text = r"open_reader\(\) .*'codc': did you mean 'codec'\? it takes name, type, codec, .*on_slow"
    with pytest.raises(TypeError, match=text):
        open_reader("ticks", codc="raw")
