"""How the end of a ``with`` block ends the stream, and how long that takes.

A publisher with ``linger_s`` waits by steps of ``_wait``. A test that must not wait replaces
``_wait`` by a function that fails, so it needs no clock.
"""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

import rstream
from rstream import stream
from rstream.errors import ClosedError, MessagesLost, RemoteError
from tests.support import free_port, until

LONG_S = 3600.0


def refuse_to_wait(publisher, monkeypatch):
    def perform(step):
        raise AssertionError(f"it waits: {step}")

    monkeypatch.setattr(publisher._turns, "perform", perform)


def end_of(sub):
    """The error that ends the stream; None: it was completed."""
    try:
        until(lambda: sub.poll() or sub.is_ended)
    except RemoteError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyboardInterrupt(), "its publisher failed: KeyboardInterrupt"),
        (SystemExit(3), "its publisher failed: SystemExit: 3"),
        (SystemExit("no data"), "its publisher failed: SystemExit: no data"),
        (SystemExit(0), None),
        (SystemExit(), None),
        (GeneratorExit(), None),
    ],
    ids=repr,
)
def test_a_block_ended_by_a_base_exception_does_not_linger(
    driver_dir, name, monkeypatch, error, text
):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with (
            pytest.raises(type(error)),
            stream.publisher(name, dir=driver_dir, linger_s=LONG_S) as pub,
        ):
            pub.send(1)
            refuse_to_wait(pub, monkeypatch)
            raise error
        assert pub.is_closed
        until(lambda: sub.poll() == [1])
        assert (end := end_of(sub)) == text or (text is not None and end.endswith(text))


def test_a_block_ended_by_an_exception_lingers(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        with (
            pytest.raises(ZeroDivisionError),
            stream.publisher(name, dir=driver_dir, linger_s=0.05) as pub,
        ):
            steps = []
            perform = pub._turns.perform
            pub._turns.perform = lambda step: (steps.append(step), perform(step))[1]
            pub.send(1)
            raise ZeroDivisionError("no")
        assert steps
        until(lambda: sub.poll() == [1])
        assert end_of(sub).endswith("its publisher failed: ZeroDivisionError: no")


def test_fail_takes_a_linger_of_its_own(driver_dir, name, monkeypatch):
    with stream.subscriber(name, dir=driver_dir) as sub:
        pub = stream.publisher(name, dir=driver_dir, linger_s=LONG_S)
        pub.send(1)
        refuse_to_wait(pub, monkeypatch)
        pub.fail("no more", linger_s=0)
        until(lambda: sub.poll() == [1])
        assert end_of(sub).endswith("its publisher failed: no more")


def fill(pub, payload):
    """Send until there is no room. Returns how many were sent."""
    pub.send(payload)
    count = 1
    while (reason := pub.offer(payload)) != rstream.BACK_PRESSURED:
        count += reason > 0
        assert reason > 0 or reason == rstream.ADMIN_ACTION
    return count


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("length", [100, 1000, 100_000])
@pytest.mark.parametrize("text", [None, "no more" * 2000], ids=["close", "fail"])
def test_the_end_arrives_behind_a_full_window(driver_dir, name, medium, length, text):
    """The reader stands still until the publisher has gone."""
    channel = None if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    address = {"channel": channel, "dir": driver_dir}
    with stream.subscriber(name, bytes, **address) as sub:
        pub = stream.publisher(name, bytes, linger_s=0, **address)
        count = fill(pub, bytes(length))
        pub.close() if text is None else pub.fail(text)
        items = []
        until(lambda: items.extend(sub.poll()) or len(items) == count)
        error = end_of(sub)
        assert (error is None) if text is None else (text[:900] in error)


def test_the_text_of_an_error_is_cut_between_two_characters(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        pub = stream.publisher(name, dir=driver_dir)
        pub.send(1)
        pub.fail("ä" * 5000, linger_s=0)
        until(lambda: sub.poll() == [1])
        error = end_of(sub)
        assert error.endswith("ä" * 600)
        assert "\ufffd" not in error


def test_a_close_waits_shortly_for_a_reader_that_has_all_data(driver_dir, name, caplog):
    with stream.subscriber(name, dir=driver_dir) as sub:
        publisher = stream.publisher(name, dir=driver_dir, linger_s=LONG_S)
        publisher.send(1)
        assert sub.get(timeout_s=5) == 1  # and does not ask for more
        publisher.close()
        assert caplog.messages == []
        assert end_of(sub) is None


@pytest.mark.parametrize("act", ["wait_consumed", "fail", "send"])
def test_a_closed_publisher_says_so(driver_dir, name, act):
    publisher = stream.publisher(name, dir=driver_dir)
    publisher.close()
    publisher.close()
    arguments = {"wait_consumed": (), "fail": ("a reason",), "send": (1,)}[act]
    with pytest.raises(ClosedError, match="this publisher is closed; open a new one"):
        getattr(publisher, act)(*arguments)


def test_a_publisher_of_a_closed_client_says_so(driver_dir, name):
    client = rstream.Client(dir=driver_dir)
    publisher = stream.publisher(name, client=client)
    client.close()
    with pytest.raises(ClosedError, match="its client was closed"):
        publisher.send(1)
    publisher.close()


def test_a_close_that_leaves_data_unread_says_how_much(driver_dir, name, caplog):
    with stream.subscriber(name, dir=driver_dir) as sub:
        publisher = stream.publisher(name, dir=driver_dir, linger_s=0.05)
        publisher.send(1)
        with caplog.at_level("WARNING", "rstream"):
            publisher.close()
        (warning,) = caplog.messages
        assert f"'{name}'" in warning
        assert "closed after linger_s=0.05 with 64 bytes unread; readers get them" in warning
        until(lambda: sub.poll() == [1])
        assert end_of(sub) is None


def test_what_no_reader_was_left_for_is_told_in_bytes(driver_dir, name, caplog):
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        with stream.subscriber(name, dir=driver_dir) as sub:
            pub.send({"n": 0})
            assert sub.get(timeout_s=5) == {"n": 0}
            pub.send({"n": 1})
        until(lambda: not pub.is_connected)
    (gap,) = (event for event in pub.events() if isinstance(event, stream.Gap))
    length = gap.to_position - gap.from_position
    assert f"positions {gap.from_position} to {gap.to_position} ({length} bytes): " in caplog.text
    assert "events() has this Gap: send the data again if it must arrive" in caplog.text


def send_three_to_one_who_takes_one(publisher, name, driver_dir):
    with stream.subscriber(name, dir=driver_dir) as sub:
        publisher.send_many([1, 2, 3])
        assert sub.get(timeout_s=5) == 1
    until(lambda: not publisher.is_connected)


def test_who_waits_for_readers_without_a_limit_closes_with_the_next_one(driver_dir, name, caplog):
    """As its ``send`` does, its end waits for a reader, which gets what the last one had not."""
    publisher = stream.publisher(name, dir=driver_dir, connect_timeout_s=None, linger_s=LONG_S)
    got = []

    def read_on():
        until(lambda: "waits for one, linger_s at most" in caplog.text)
        with stream.subscriber(name, dir=driver_dir) as sub:
            got.extend(sub)

    with ThreadPoolExecutor() as pool, publisher as pub:
        send_three_to_one_who_takes_one(pub, name, driver_dir)
        reading = pool.submit(read_on)
    reading.result(5)
    assert got == [2, 3]
    assert not [event for event in pub.events() if isinstance(event, stream.Gap)]


def test_who_waits_for_readers_without_a_limit_is_told_that_none_came(driver_dir, name):
    publisher = stream.publisher(name, dir=driver_dir, connect_timeout_s=None, linger_s=0.05)
    with pytest.raises(MessagesLost, match="its last reader has left, and no other one came"):
        with publisher as pub:
            send_three_to_one_who_takes_one(pub, name, driver_dir)
    (gap,) = (event for event in pub.events() if isinstance(event, stream.Gap))
    assert gap.to_position - gap.from_position == 128


@pytest.mark.parametrize("opened", [stream.publisher, stream.subscriber], ids=["pub", "sub"])
@pytest.mark.parametrize("type_", [None, bytes], ids=["objects", "bytes"])
def test_an_end_that_is_not_closed_names_the_line_that_made_it(driver_dir, name, opened, type_):
    with pytest.warns(ResourceWarning, match=r"was not closed; made at .*test_ends\.py:\d+"):
        end = opened(name, type_, dir=driver_dir)
        del end
        gc.collect()
