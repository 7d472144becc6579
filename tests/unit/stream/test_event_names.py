"""Events name the program of the other end in shared memory, and its address over UDP."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import rstream
from rstream import stream
from rstream.errors import PublisherLost
from rstream.stream._internal import sending_of
from tests.support import free_port, until

HOST = os.uname().nodename


def of_kind(events, kind):
    (found,) = (event for event in events if isinstance(event, kind))
    return found


def client_of(driver_dir, name):
    return rstream.Client(driver_dir, name=name)


def test_a_publisher_names_its_reader(driver_dir, name):
    with (
        client_of(driver_dir, "reader of prices") as client,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        who = f"reader of prices, pid {os.getpid()} on {HOST}"
        with stream.subscriber(name, client=client) as sub:
            pub.send(1)
            assert of_kind(pub.events(), stream.Connected).process == who
            assert sub.get(timeout_s=10) == 1
        until(lambda: not pub.is_connected)
        event = of_kind(pub.events(), stream.Disconnected)
        assert (event.process, event.source) == (who, "")


def test_the_reader_that_left_last_is_named(driver_dir, name):
    """Also when it came later, and when its client has gone."""
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        first, second = (client_of(driver_dir, one) for one in ("first", "second"))
        with first, stream.subscriber(name, client=first):
            pub.send(1)
            with second:
                reader = stream.subscriber(name, client=second)
                until(lambda: reader.is_connected)
                first.close()
                reader.close()
        until(lambda: not pub.is_connected)
        event = of_kind(pub.events(), stream.Disconnected)
        assert event.process == f"second, pid {os.getpid()} on {HOST}"


def test_a_reader_between_two_looks_is_not_named_for_another(driver_dir, name):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        with client_of(driver_dir, "first") as client, stream.subscriber(name, client=client):
            pub.send(1)
            pub.events()
        with client_of(driver_dir, "second") as client, stream.subscriber(name, client=client):
            until(lambda: sending_of(pub).session.core.is_connected)
            events = pub.events()
            assert of_kind(events, stream.Disconnected).process.startswith("first, ")
            assert of_kind(events, stream.Connected).process.startswith("second, ")


def test_a_publisher_names_the_reader_that_rejected_it(driver_dir, name):
    with (
        client_of(driver_dir, "choosy") as client,
        stream.publisher(name, dir=driver_dir, linger_s=0) as pub,
    ):
        reader = stream.reader(name, channels=["aeron:ipc"], client=client, hold=True)
        pub.send(1)
        until(lambda: reader.poll(1))
        reader.fail("no use")
        event = until(lambda: [one for one in pub.events() if isinstance(one, stream.Rejected)])[0]
        assert (event.source, event.process.split(",")[0]) == ("", "choosy")


def test_over_udp_a_publisher_says_the_address_of_its_reader(driver_dir, name):
    address = f"127.0.0.1:{free_port()}"
    channel = f"aeron:udp?endpoint={address}"
    with stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub:
        with stream.subscriber(name, channel=channel, dir=driver_dir) as sub:
            pub.send(1)
            assert sub.get(timeout_s=10) == 1
            connected = of_kind(pub.events(), stream.Connected)
        until(lambda: not pub.is_connected)
        event = of_kind(pub.events(), stream.Disconnected)
        assert (event.process, event.source) == ("", address)
        assert connected.process == ""
        assert connected.source in (address, "")


def test_a_reader_names_its_publisher(driver_dir, name):
    with (
        client_of(driver_dir, "prices") as client,
        stream.subscriber(name, int, dir=driver_dir, on_lost="event") as sub,
    ):
        who = f"prices, pid {os.getpid()} on {HOST}"
        with stream.publisher(name, client=client, linger_s=10) as pub:
            pub.send("no number")
            pub.send(1)
            assert sub.get(timeout_s=10) == 1
        until(lambda: sub.poll() or sub.is_ended)
        events = sub.events()
        for kind in (stream.Available, stream.Refused):
            assert of_kind(events, kind).process == who


DIES = """
import os, sys, rstream
with rstream.Client(sys.argv[2], name="mortal") as client:
    pub = rstream.publisher(sys.argv[1], client=client)
    pub.send(1)
    print(input())
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("on_lost", ["raise", "event"])
def test_a_reader_names_the_publisher_that_died(driver_dir, name, on_lost):
    with stream.subscriber(name, dir=driver_dir, on_lost=on_lost) as sub:
        one = subprocess.Popen(
            [sys.executable, "-c", DIES, name, driver_dir],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert sub.get(timeout_s=20) == 1
        one.communicate(b"now\n", timeout=20)
        who = f"mortal, pid {one.pid} on {HOST}"
        if on_lost == "raise":
            with pytest.raises(PublisherLost, match=rf"from aeron:ipc \({who}\): its publisher"):
                sub.get(timeout_s=20)
        else:
            until(lambda: sub.poll() or sub.is_ended or not sub.is_connected)
        lost = until(lambda: sub.poll() or [e for e in sub.events() if isinstance(e, stream.Lost)])
        assert lost[0].process == who
