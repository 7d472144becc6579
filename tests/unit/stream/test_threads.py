"""Threads share a publisher: nothing is lost, and a thread that waits holds no other one up."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from rstream import rate, stream
from rstream.driver import Driver
from rstream.errors import BackPressured, ClosedError, ForkedError
from rstream.stream._sending import CHUNK
from tests.support import until

PAYLOAD = bytes(1000)


class Call:
    """One call in a thread, with its result or exception."""

    def __init__(self, function, *args, **options):
        self.result = self.error = None
        self._call = (function, args, options)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        function, args, options = self._call
        try:
            self.result = function(*args, **options)
        except BaseException as error:
            self.error = error

    @property
    def is_running(self):
        return self._thread.is_alive()

    def join(self, timeout_s=30.0):
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), "the call does not return"
        return self


def fill(pub):
    """Send until there is no room."""
    pub.send(PAYLOAD)
    while pub.offer(PAYLOAD) > 0:
        pass


def waits(pub, count):
    """Whether that many sends have begun to wait."""
    return pub.statistics()["waits"] >= count


def test_four_threads_send_everything_once_and_in_the_order_of_each(driver_dir, name):
    def send_all(number):
        for index in range(500):
            pub.send([number, index, PAYLOAD])
        pub.send_many([[number, index, PAYLOAD] for index in range(500, 1000)])

    received = []
    with stream.subscriber(name, dir=driver_dir, prefetch=64) as sub:
        with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
            calls = [Call(send_all, number) for number in range(4)]
            until(lambda: received.extend(sub.poll()) or len(received) == 4000, 60.0)
            assert [call.join().error for call in calls] == [None] * 4
            assert pub.statistics()["messages"] == 4000
            assert pub.statistics()["waits"] > 0, "no thread ever waited: the test shows nothing"
    for number in range(4):
        assert [index for sender, index, _ in received if sender == number] == list(range(1000))


def test_threads_that_wait_hold_no_other_call_up(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        pub = stream.publisher(name, bytes, dir=driver_dir, linger_s=0)
        fill(pub)
        calls = [Call(pub.send, b"last") for _ in range(2)]
        until(lambda: waits(pub, 2))
        with pytest.raises(BackPressured):
            pub.send(PAYLOAD, timeout_s=0.05)
        assert pub.offer(PAYLOAD) < 0
        assert not pub.wait_consumed(timeout_s=0.01)
        assert len(pub.events()) == 1
        pub.set_rate(rate.Unlimited())
        assert all(call.is_running for call in calls)
        received = []
        until(lambda: received.extend(sub.poll()) or received[-2:] == [b"last", b"last"])
        assert [call.join().error for call in calls] == [None, None]
        pub.close()


def test_closing_ends_the_sends_that_wait(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir):
        pub = stream.publisher(name, bytes, dir=driver_dir, linger_s=0)
        fill(pub)
        calls = [Call(pub.send, b"last") for _ in range(2)]
        until(lambda: waits(pub, 2))
        pub.close()
        assert [type(call.join().error) for call in calls] == [ClosedError, ClosedError]


def test_closing_ends_a_send_that_waits_for_a_reader(driver_dir, name):
    pub = stream.publisher(name, bytes, dir=driver_dir, connect_timeout_s=60.0)
    call = Call(pub.send, b"one")
    until(lambda: waits(pub, 1))
    pub.close()
    assert type(call.join(10.0).error) is ClosedError


def test_closing_ends_a_wait_until_readers_have_consumed(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir):
        pub = stream.publisher(name, bytes, dir=driver_dir, linger_s=0)
        pub.send(b"one")
        call = Call(pub.wait_consumed)
        pub.close()
        assert type(call.join(10.0).error) is ClosedError


def test_nothing_follows_the_end_while_close_lingers(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        pub = stream.publisher(name, bytes, dir=driver_dir)
        pub.send(b"one")
        closing = Call(pub.close, linger_s=20.0)
        until(lambda: Call(pub.send, b"late").join().error)
        assert closing.is_running
        with pytest.raises(ClosedError):
            pub.offer(b"late")
        with pytest.raises(ClosedError):
            pub.send_many([b"late"])
        received = []
        until(lambda: received.extend(sub.poll()) or sub.is_ended)
        closing.join()
        assert b"one" in received
        assert pub.is_closed


def test_one_of_the_waiting_threads_joins_again(make_driver_dir, name, caplog):
    path = make_driver_dir()
    driver = Driver(dir=path)
    with stream.subscriber(name, bytes, dir=path, on_gap="resume") as sub:
        with stream.publisher(name, bytes, dir=path, linger_s=0) as pub:
            fill(pub)
            old_session_id = pub.session_id
            calls = [Call(pub.send, b"last") for _ in range(3)]
            until(lambda: waits(pub, 3))
            driver.close()
            with Driver(dir=path):
                received = []
                until(lambda: received.extend(sub.poll()) or received.count(b"last") == 3, 60.0)
                assert [call.join().error for call in calls] == [None] * 3
                changes = [e for e in pub.events() if isinstance(e, stream.SessionChanged)]
                assert [e.old_session_id for e in changes] == [old_session_id]
                assert pub.statistics()["rejoins"] == 1
                sub.close()


def test_a_signal_handler_may_close_the_publisher_that_it_interrupts(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir):
        pub = stream.publisher(name, bytes, dir=driver_dir, linger_s=0)
        fill(pub)
        old = signal.signal(signal.SIGUSR1, lambda *_: pub.close())
        try:
            main = threading.get_ident()
            Call(lambda: (until(lambda: waits(pub, 1)), signal.pthread_kill(main, signal.SIGUSR1)))
            with pytest.raises(ClosedError):
                pub.send(b"last", timeout_s=30.0)
        finally:
            signal.signal(signal.SIGUSR1, old)
            pub.close()


class SlowCodec:
    """A codec that holds a publisher until it is let go."""

    codec_id = 200

    def __init__(self):
        self.is_inside = threading.Event()
        self.may_leave = threading.Event()

    def encode(self, obj):
        self.is_inside.set()
        self.may_leave.wait(30.0)
        return obj

    def decode_many(self, messages):
        return list(messages)


def test_a_forked_child_is_told_so_though_another_thread_was_sending(driver_dir, name):
    codec = SlowCodec()
    with stream.subscriber(name, codec=codec, dir=driver_dir):
        pub = stream.publisher(name, codec=codec, dir=driver_dir, linger_s=0)
        call = Call(pub.send, b"one")
        assert codec.is_inside.wait(30.0)
        child = os.fork()
        if child == 0:
            codec.may_leave.set()
            try:
                pub.send(b"two", timeout_s=1.0)
            except ForkedError:
                os._exit(7)
            finally:
                os._exit(1)
        deadline_s = time.monotonic() + 20.0
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        if ended[0] == 0:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        codec.may_leave.set()
        assert call.join().error is None
        pub.close()
        assert os.waitstatus_to_exitcode(ended[1]) == 7, "the child hung"


def test_the_lock_is_free_between_the_chunks_of_send_many(driver_dir, name):
    with stream.subscriber(name, bytes, dir=driver_dir) as sub:
        pub = stream.publisher(name, bytes, dir=driver_dir, linger_s=0)
        pub.send(b"first")
        call = Call(pub.send_many, [PAYLOAD] * (40 * CHUNK))
        until(lambda: waits(pub, 1))
        started_s = time.monotonic()
        assert Call(pub.statistics).join(1.0).error is None
        other = Call(pub.send, b"other")
        received = []
        until(lambda: received.extend(sub.poll()) or b"other" in received, 60.0)
        assert len(received) < 40 * CHUNK, "the other thread had to wait for the last chunk"
        until(lambda: received.extend(sub.poll()) or not call.is_running, 60.0)
        assert call.join().result == 40 * CHUNK
        assert other.join().error is None
        assert started_s < time.monotonic()
        pub.close()
