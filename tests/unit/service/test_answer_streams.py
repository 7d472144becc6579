"""Streams of answers: the server makes what was asked for and no more, and learns of the end."""

from __future__ import annotations

import gc
import threading
import time

import pytest

import rstream
from rstream import service
from rstream.errors import ConfigError, RemoteError, RequestTimeout, ServerLost
from tests.support import in_thread, until

SOON_S = 5.0


class Counter:
    """A generator function that counts what it makes, and whether it was closed."""

    def __init__(self, fails_at=None):
        self.made = 0
        self.closed = threading.Event()
        self.fails_at = fails_at

    def __call__(self, most):
        return self._make(most)

    def _make(self, most):
        try:
            for n in range(most):
                if n == self.fails_at:
                    raise ValueError(f"at {n}")
                self.made += 1
                yield n
        finally:
            self.closed.set()


@pytest.fixture
def ask(driver_dir, name):
    with service.requester(name, dir=driver_dir) as asks:
        yield asks


def serving(name, driver_dir, function, **options):
    return rstream.serve(name, dir=driver_dir, **options)(function)


@pytest.mark.parametrize("threads", [0, 2])
def test_all_answers_come_in_order(ask, name, driver_dir, threads):
    with serving(name, driver_dir, Counter(), threads=threads):
        assert list(ask.request_stream(1000)) == list(range(1000))
        assert list(ask.request_stream(0)) == []


@pytest.mark.parametrize("threads", [0, 2])
def test_the_server_makes_only_what_was_asked_for(ask, name, driver_dir, threads):
    numbers = Counter()
    with serving(name, driver_dir, numbers, threads=threads) as served:
        with ask.request_stream(10**9, prefetch=0) as stream:
            until(lambda: served.statistics()["outstanding"])
            assert numbers.made == 0
            total = 0
            for n in (1, 3, 40):
                stream.request(n)
                total += n
                assert [next(stream) for _ in range(n)] == list(range(total - n, total))
                assert numbers.made == total
        assert numbers.closed.wait(SOON_S)
        assert numbers.made == total


def test_a_loop_that_stands_still_holds_the_server_at_its_prefetch(ask, name, driver_dir):
    numbers = Counter()
    with serving(name, driver_dir, numbers):
        stream = ask.request_stream(10**9, prefetch=8)
        until(lambda: numbers.made == 8)
        other = service.requester(name, dir=driver_dir)
        with other:  # another caller is served meanwhile
            assert list(other.request_stream(100)) == list(range(100))
        assert numbers.made == 108
        for n in range(1000):
            assert next(stream) == n
            assert numbers.made - 100 <= n + 1 + 8
        stream.close()
        assert list(stream) == []


@pytest.mark.parametrize("way", ["break", "error", "collected", "close"])
def test_leaving_the_stream_closes_the_generator(ask, name, driver_dir, way):
    numbers = Counter()
    with serving(name, driver_dir, numbers) as served:
        stream = ask.request_stream(10**9)
        if way == "error":
            with pytest.raises(ZeroDivisionError), stream:
                for n in stream:
                    n / 0
        else:
            assert next(stream) == 0
            if way == "close":
                stream.close()
            elif way == "break":
                with stream:
                    for _ in stream:
                        break
            else:
                del stream
                gc.collect()
        assert numbers.closed.wait(SOON_S)
        assert until(lambda: served.statistics()["outstanding"] == 0)


def test_a_caller_that_goes_closes_its_generators(name, driver_dir):
    numbers = Counter()
    with serving(name, driver_dir, numbers) as served:
        asks = service.requester(name, dir=driver_dir)
        stream = asks.request_stream(10**9)
        assert next(stream) == 0
        asks.close()
        assert numbers.closed.wait(SOON_S)
        until(lambda: served.statistics()["callers"] == 0)


def test_an_error_comes_after_the_answers_before_it(ask, name, driver_dir):
    with serving(name, driver_dir, Counter(fails_at=3)):
        stream = ask.request_stream(10)
        assert [next(stream) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="at 3") as caught:
            next(stream)
        assert list(stream) == []
    assert isinstance(caught.value, RemoteError)


def test_a_closing_server_ends_streams(ask, name, driver_dir):
    numbers = Counter()
    served = serving(name, driver_dir, numbers).start()
    stream = ask.request_stream(10**9, prefetch=2, timeout_s=60)
    assert next(stream) == 0
    in_thread(served.close)
    with pytest.raises(ServerLost):
        list(stream)
    assert numbers.closed.wait(SOON_S)


def test_a_stream_without_answers_times_out(ask, name, driver_dir):
    closed = threading.Event()

    def never(_):
        try:
            while True:
                if service.current_call().is_cancelled:
                    return
                time.sleep(0.01)
            yield 1
        finally:
            closed.set()

    with serving(name, driver_dir, never):
        with pytest.raises(RequestTimeout):
            next(ask.request_stream(1, timeout_s=0.5))
        assert closed.wait(SOON_S)


def test_one_answer_and_a_stream_are_not_confused(ask, name, driver_dir):
    with serving(name, driver_dir, Counter()):
        with pytest.raises(TypeError, match="use request_stream"):
            ask.request(1)
    with serving(name, driver_dir, str):
        with pytest.raises(TypeError, match="answers once: use request"):
            next(ask.request_stream(1))


def test_demand_that_is_none_is_refused(ask):
    with pytest.raises(ConfigError, match="prefetch=-1"):
        ask.request_stream(1, prefetch=-1)


def test_large_answers_pass_a_slow_reader(ask, name, driver_dir):
    """More than the window: what has no room waits at the server, and nothing is lost."""
    size = 100_000

    def blocks(count):
        for n in range(count):
            yield bytes([n % 251]) * size

    with serving(name, driver_dir, blocks):
        for n, block in enumerate(ask.request_stream(60, prefetch=60)):
            if n < 3:
                time.sleep(0.02)
            assert block == bytes([n % 251]) * size
    assert n == 59
