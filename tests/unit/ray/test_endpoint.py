"""Endpoints without Ray: they need none, so two directories stand for two hosts here."""

from __future__ import annotations

import contextlib
import os
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
from rstream.ray import reader
from rstream.ray._open import _node_address
from rstream.stream import Failed, Refused, Rejected
from tests.support import free_port, until


@pytest.fixture
def far_dir(make_driver_dir):
    """The directory of a driver on "another host"."""
    with rstream.Driver(dir=make_driver_dir()) as far:
        yield far.dir


@pytest.fixture(params=["ipc", "udp"])
def writer_dir(request, driver_dir):
    return driver_dir if request.param == "ipc" else request.getfixturevalue("far_dir")


def opened(name, driver_dir, **options):
    return contextlib.closing(reader(name, dir=driver_dir, **options))


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


def test_a_block_that_sent_all_before_the_bug_ends_with_it(driver_dir, name, writer_dir):
    """Its last items were sent, and nobody has handled them."""
    seen = []

    def break_at_six(item):
        time.sleep(0.01)
        seen.append(item)
        if len(seen) == 6:
            raise ValueError("a bug at the sixth")

    with opened(name, driver_dir) as end:
        end.start(break_at_six)
        with (
            pytest.raises(RemoteError, match="ValueError: a bug at the sixth"),
            end.handle.publisher(driver_dir=writer_dir) as pub,
        ):
            pub.send_many(range(8))
    assert seen == list(range(6))


def test_a_block_whose_items_were_all_handled_ends_well(driver_dir, name, writer_dir):
    with opened(name, driver_dir) as end:
        end.start(lambda item: None)
        with end.handle.publisher(driver_dir=writer_dir) as pub:
            pub.send_many(range(8))
            assert pub.wait_consumed(timeout_s=20)
            end.reader.fail("it has what it wants")
            end.close()
            until(lambda: not pub.is_connected)


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
    end = reader(name, dir=driver_dir, udp=False)
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


# ---- writers that come when the endpoint has failed ----


def send_to_failed(handle, writer_dir, **options):
    with handle.publisher(driver_dir=writer_dir, **options) as pub:
        until(lambda: pub.send("x" * 1000, timeout_s=20) and False, 30)


@pytest.fixture
def failed_end(driver_dir, name):
    """An endpoint whose on_item has raised, and that nobody has closed."""
    ends = []
    with opened(name, driver_dir) as end:
        end.start(break_down, on_end=ends.append)
        with contextlib.suppress(RemoteError), end.handle.publisher(driver_dir=driver_dir) as pub:
            pub.send(1)
        until(lambda: ends)
        yield end


def test_a_writer_that_comes_after_the_bug_hears_of_it(failed_end, writer_dir):
    """Not NotConnected after ten seconds: each later writer gets the error soon."""
    for _ in range(2):
        began_s = time.monotonic()
        with pytest.raises(RemoteError, match="ValueError: a bug in on_item"):
            send_to_failed(failed_end.handle, writer_dir, linger_s=0)
        with (
            pytest.raises(RemoteError, match="ValueError: a bug in on_item"),
            failed_end.handle.publisher(driver_dir=writer_dir) as pub,
        ):
            pub.send("one item")
        assert time.monotonic() - began_s < 5


def test_a_failed_endpoint_that_is_closed_answers_no_more(failed_end, writer_dir):
    failed_end.close()
    threads = [one.name for one in threading.enumerate()]  # other tests may have left some
    assert not [name for name in threads if name == f"rstream-refuse-{failed_end.handle.name}"]
    with pytest.raises(NotConnected):
        send_to_failed(failed_end.handle, writer_dir, linger_s=0, connect_timeout_s=0.3)


def test_a_block_that_fails_answers_later_writers(driver_dir, name, writer_dir):
    end = reader(name, dir=driver_dir)
    with pytest.raises(ZeroDivisionError), end:
        raise ZeroDivisionError("a bug in the block")
    with pytest.raises(RemoteError, match="ZeroDivisionError: a bug in the block"):
        send_to_failed(end.handle, writer_dir, linger_s=0)
    end.close()


def test_an_endpoint_opened_anew_takes_the_place_of_a_failed_one(
    failed_end, driver_dir, name, writer_dir, monkeypatch
):
    """At the same stream id and port, while the failed one is not closed, and at once."""
    from rstream.ray import _open

    handle, got = failed_end.handle, []
    monkeypatch.setattr(_open, "new_stream_id", lambda: handle.stream_id)
    port = int(handle.endpoint.rpartition(":")[2])
    with opened(name, driver_dir, port=port) as again:
        assert again.handle == handle
        again.start(got.append)
        with handle.publisher(driver_dir=writer_dir) as pub:
            pub.send(1)
            assert pub.wait_consumed(timeout_s=20)
    assert got == [1]


def test_the_port_of_a_failed_endpoint_is_free_once_a_writer_hears(driver_dir, name):
    """At once, for any endpoint of the process: a writer hears while the failed one is leaving."""
    port = free_port()
    for _ in range(20):
        with opened(name, driver_dir, port=port) as end:
            end.start(break_down)
            with (
                pytest.raises(RemoteError, match="a bug in on_item"),
                end.handle.publisher(driver_dir=driver_dir) as pub,
            ):
                pub.send(1)
            with opened("another", driver_dir, port=port) as again:
                assert again.handle.endpoint == end.handle.endpoint


OPENS_PORT = """
import sys, rstream.ray
rstream.ray.reader("another", dir=sys.argv[1], port=int(sys.argv[2])).close()
"""


def test_another_process_hears_which_failed_endpoint_holds_the_port(failed_end, driver_dir):
    """Its writers must still be told of the failure, so the port stays taken until it is closed."""
    port = failed_end.handle.endpoint.rpartition(":")[2]
    command = [sys.executable, "-c", OPENS_PORT, driver_dir, port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    told = done.stderr.splitlines()[-1]
    assert f"port {port} is still held in process {os.getpid()}, where the endpoint of" in told
    assert "ended: ValueError: a bug in on_item; close that endpoint" in told
    failed_end.close()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bounded_number_of_failed_endpoints_answers(driver_dir, monkeypatch):
    from rstream.ray import _refusal

    monkeypatch.setattr(_refusal, "REFUSALS_MAX", 2)
    ends = [reader(f"many-{number}", dir=driver_dir, udp=False) for number in range(4)]
    for end in ends:
        with pytest.raises(ZeroDivisionError), end:
            raise ZeroDivisionError
    with pytest.raises(NotConnected):
        send_to_failed(ends[1].handle, driver_dir, linger_s=0, connect_timeout_s=0.3)
    with pytest.raises(RemoteError):
        send_to_failed(ends[2].handle, driver_dir, linger_s=0)
    for end in ends:
        end.close()


def test_a_failed_endpoint_stops_to_answer_after_a_while(failed_end, driver_dir, monkeypatch):
    from rstream.ray import _refusal

    failed_end._refusal.until_s = 0.0
    until(lambda: not failed_end._refusal.thread.is_alive())
    assert failed_end._refusal not in _refusal._open


def test_a_failed_endpoint_ends_with_its_driver(make_driver_dir, name):
    """It does not start another one."""
    directory = make_driver_dir()
    with rstream.Driver(dir=directory):
        end = reader(name, dir=directory)
        with pytest.raises(ZeroDivisionError), end:
            raise ZeroDivisionError
    until(lambda: not end._refusal.thread.is_alive())
    end.close()
    assert not os.path.exists(directory)


FAILED_AT_EXIT = """
import sys, rstream.ray
end = rstream.ray.reader("a", dir=sys.argv[1])
try:
    with end:
        raise ValueError
except ValueError:
    pass
"""


def test_a_failed_endpoint_does_not_hold_up_the_exit(driver_dir):
    command = [sys.executable, "-W", "error", "-c", FAILED_AT_EXIT, driver_dir]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


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
        with end.handle.publisher() as pub:
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


def test_on_error_is_told_the_exception_once(driver_dir):
    told = []
    with reader(dir=driver_dir, udp=False) as end:
        end.start(
            break_down,
            on_error=lambda error: told.append(("error", str(error), end.source.is_closed)),
            on_end=lambda error: told.append(("end", str(error))),
        )
        with contextlib.suppress(RemoteError), end.handle.publisher(linger_s=0) as pub:
            pub.send(1)
        until(lambda: len(told) == 2)
        assert told == [("error", "a bug in on_item", True), ("end", "a bug in on_item")]


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


# ---- handles as text ----


@pytest.mark.parametrize("udp", [True, False])
@pytest.mark.parametrize("label", [None, "a b/c d&f#g%h+i ü"])
def test_a_handle_is_a_uri(driver_dir, udp, label):
    from rstream import rate

    with reader(label, dir=driver_dir, udp=udp, rate=rate.Fixed("2MB/s")) as end:
        text = str(end.handle)
        assert text.startswith(f"rstream://{end.handle.endpoint}/")
        assert not set(text) & set(" ,;|\"'[]<>\n")
        assert rstream.ray.StreamHandle.from_text(f" {text}\n") == end.handle


@pytest.mark.parametrize(
    "text", ["", "{}", "rstream://", "http://h:1/ticks?v=3", "rstream://h:1/ticks?v=3&id=x"]
)
def test_what_is_no_handle_is_refused(text):
    with pytest.raises(ConfigError, match=r"not a stream handle.*str"):
        rstream.ray.StreamHandle.from_text(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ticks", "does not begin with rstream://"),
        ("rstream://ticks", "it has no v="),
        ("rstream://h:1/ticks?v=3&id=-1", "it has no codec="),
        ("rstream://h:1/ticks?v=2&id=-1", "of version 2, this rstream reads version 3"),
    ],
)
def test_what_a_handle_lacks_is_said(text, why):
    with pytest.raises(ConfigError, match=f"stream handle.*{why}"):
        rstream.ray.StreamHandle.from_text(text)


def test_a_text_beside_a_handle_is_refused_with_its_quotes(driver_dir, name):
    with rstream.ray.reader(name, dir=driver_dir, udp=False) as end:
        handle = end.handle
    with pytest.raises(
        ConfigError, match=r"^'rstream://.*…' is no stream handle; endpoint\.handle"
    ):
        rstream.ray.Group([handle, handle.to_text()])


@pytest.mark.parametrize("given", [5, [5], "ticks", ["ticks"]], ids=str)
@pytest.mark.parametrize(
    "take",
    [
        rstream.ray.Group,
        lambda given: rstream.ray.Group().add(given),
        lambda given: rstream.ray.datasink(5 if given == "ticks" else given),  # that is a name
        lambda given: rstream.spark.send(None, given),
    ],
    ids=["Group", "add", "datasink", "send"],
)
def test_what_is_no_handle_at_all_is_refused(take, given):
    with pytest.raises(ConfigError, match=r"is no stream handle; endpoint\.handle is one"):
        take(given)


def test_a_type_is_no_name():
    with pytest.raises(ConfigError, match=r"did you mean type=dict\?"):
        reader(dict)
    with pytest.raises(ConfigError, match="stream name 5: give a text"):
        rstream.ray.datasource(5)


@pytest.mark.parametrize("actor_id", ["", "30781d0301000000"])
def test_a_handle_travels_in_closures(actor_id):
    import pickle

    cloudpickle = pytest.importorskip("cloudpickle")
    handle = rstream.ray.StreamHandle(
        name="a", stream_id=-7, ipc_channel="aeron:ipc", endpoint="[::1]:7", node="n",
        udp_channel="aeron:udp", host_token="h", driver_dir="/d", codec="raw", actor_id=actor_id,
    )  # fmt: skip
    assert pickle.loads(cloudpickle.dumps(lambda: handle))() == handle
    assert rstream.ray.StreamHandle.from_text(str(handle)) == handle


def test_a_name_needs_a_running_ray():
    with pytest.raises(ConfigError, match=r"ray\.init"):
        rstream.ray.handle("ticks")
