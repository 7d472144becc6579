"""Endpoints without Ray: they need none, so two directories stand for two hosts here."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time

import pytest

import rstream
from rstream import stream
from rstream.errors import (
    ConfigError,
    RegistrationError,
    RemoteError,
)
from rstream.ray import reader
from rstream.ray._open import _node_address
from rstream.stream import Failed
from tests.support import until


def opened(name, driver_dir, **options):
    return contextlib.closing(reader(name, dir=driver_dir, **options))


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
        reader(name, dir=driver_dir, host=host)
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
        reader(name, codec="pickle", dir=driver_dir)
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
started = rstream.ray.reader("a", dir=sys.argv[1])
started.start(print)
queued = rstream.ray.reader("b", dir=sys.argv[1], on_slow=rstream.policy.Buffer(10))
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
    text = r"reader\(\) .*'codc': did you mean 'codec'\? it takes name, type, codec, .*on_slow"
    with pytest.raises(TypeError, match=text):
        reader("ticks", codc="raw")


# ---- the ways to read ----


def test_a_plain_loop_ends_when_its_writers_have_completed(driver_dir, name):
    with reader(dir=driver_dir, udp=False, stays=False) as end:
        with end.handle.publisher(linger_s=0) as pub:
            pub.send_many(range(100))
        assert list(end) == list(range(100))
    assert end.source.is_closed


def test_finish_in_on_item_ends_it_behind_what_has_arrived(driver_dir, name):
    """Programs that end by a message of their own."""
    received, ended = [], []
    end = reader(name, dir=driver_dir, udp=False)

    def take(item):
        received.append(item)
        if item == 3:
            end.finish()

    with end.handle.publisher(linger_s=0) as pub:
        pub.send_many(range(6))
    end.start(take, on_end=ended.append)
    until(lambda: ended)
    assert (received, ended, end.is_closed) == ([0, 1, 2, 3, 4, 5], [None], True)
    end.finish()


def test_a_plain_loop_may_be_left_and_ends_by_finish(driver_dir, name):
    with reader(name, dir=driver_dir, udp=False) as end:
        with end.handle.publisher(linger_s=0) as pub:
            pub.send_many(range(5))
        for item in end:
            if item == 1:
                break
        end.finish()
        assert list(end) == [2, 3, 4]


def test_an_exception_inside_with_reaches_the_writers(driver_dir, name):
    end = reader(dir=driver_dir, udp=False)
    with end.handle.publisher(linger_s=0) as pub:
        pub.send(0)
        with pytest.raises(ZeroDivisionError), end:
            for item in end:
                1 / item
        with pytest.raises(RemoteError, match="ZeroDivisionError"):
            pub.wait_consumed(timeout_s=20)


def test_anonymous_endpoints_never_meet(driver_dir):
    with reader(dir=driver_dir) as first, reader(dir=driver_dir) as second:
        assert first.handle.name != second.handle.name
        assert first.handle.stream_id != second.handle.stream_id
        assert first.handle.endpoint != second.handle.endpoint


def test_a_lost_writer_is_told_behind_its_last_item(driver_dir):
    """And only it: the endpoint reads on for the others."""
    told = []
    with reader(dir=driver_dir, udp=False) as end:
        end.start(told.append, on_writer_lost=told.append)
        with end.handle.publisher(linger_s=0) as good:
            bad = end.handle.publisher(linger_s=0)
            bad.send_many(range(10))
            bad.fail("it broke")
            until(lambda: len(told) == 11)
            assert told[:10] == list(range(10))
            assert isinstance(told[10], Failed)
            good.send("more")
            until(lambda: told[-1] == "more")
        assert any(isinstance(event, Failed) for event in end.events())


def test_an_observable_reads_with_demand(driver_dir):
    """A pipeline that stands still holds the sink behind the handle; nothing piles up."""
    pytest.importorskip("reactivex")
    from reactivex import operators as ops

    got, made, go_on = [], [], threading.Event()

    class Upstream(rstream.abc.Publisher):
        def subscribe(self, subscriber):
            class Subscription(rstream.abc.Subscription):
                def request(self, n):
                    first = len(made)
                    made.extend(range(first, first + n))
                    for number in range(first, first + n):
                        subscriber.on_next(number)

                def cancel(self):
                    pass

            subscriber.on_subscribe(Subscription())

    with reader(dir=driver_dir, udp=False, prefetch=4) as end:
        end.observable().pipe(
            ops.do_action(lambda item: go_on.wait(30)), ops.map(lambda item: 2 * item)
        ).subscribe(got.append)
        sink = end.handle.sink(linger_s=0)
        Upstream().subscribe(sink)
        until(lambda: len(made) >= 4)
        time.sleep(0.2)
        assert len(made) <= 8
        go_on.set()
        until(lambda: len(got) > 100)
        assert got[:100] == [2 * number for number in range(100)]
        sink.cancel()


def test_rx_sends_to_a_handle(driver_dir):
    reactivex = pytest.importorskip("reactivex")
    from rstream import rx as rrx

    with reader(dir=driver_dir, udp=False, stays=False) as end:
        got = []
        end.start(got.append)
        assert reactivex.from_iterable(range(10)).pipe(rrx.to_stream(end.handle)).run() == 10
        until(lambda: got == list(range(10)))


def test_an_endpoint_cannot_be_pickled_and_says_what_can(driver_dir):
    import pickle

    with reader(dir=driver_dir, udp=False) as end, pytest.raises(TypeError, match=r"end\.handle"):
        pickle.dumps(end)
