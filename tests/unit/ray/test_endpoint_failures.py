"""What writers hear of an endpoint that failed, and the endpoint of a writer that did."""

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
    NotConnected,
    RemoteError,
)
from rstream.ray import reader
from rstream.stream import Failed, Refused, Rejected
from tests.support import free_port, until


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
