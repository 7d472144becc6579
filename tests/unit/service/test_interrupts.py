"""A server under a signal handler that raises leaves its place, and can close or serve again."""

from __future__ import annotations

from contextlib import suppress

import pytest

import rstream
from rstream import abc, service
from rstream.errors import RequestTimeout, RStreamError
from tests.interrupts import PACKAGE, at_each_place
from tests.support import in_thread

# An interrupt in a __del__ is printed by Python, and ends nothing.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def is_served(name, directory):
    """Whether a server of the name can open, and answers."""
    with (
        rstream.serve(name, dir=directory)(lambda n: 2 * n),
        service.requester(name, dir=directory) as asks,
    ):
        return asks.request(4, timeout_s=5) == 8


def test_an_interrupted_start_or_close_is_made_again(driver_dir, name):
    made = []

    def run():
        made.append(rstream.serve(name, dir=driver_dir)(lambda n: n))
        made[-1].start()
        made[-1].close()

    def after(where):
        while made:
            thread = in_thread(made.pop().close)
            thread.join(5)
            assert not thread.is_alive(), where
        assert is_served(name, driver_dir), where

    assert at_each_place(run, after, step=3) >= 3


def test_an_interrupted_run_leaves_its_place(driver_dir, name):
    """What was asked is answered, or its caller is told; nothing comes twice."""
    answers = []
    served = rstream.serve(name, dir=driver_dir)(lambda n: iter(range(n)))

    def ask():
        answers.clear()
        with service.requester(name, dir=driver_dir) as asks, suppress(RStreamError):
            answers.extend(asks.request_stream(20, timeout_s=0.5))
        served.close()

    def run():
        served._is_closing = False
        threads.append(in_thread(ask))
        served.run()

    threads = []

    def after(where):
        try:
            assert is_served(name, driver_dir), where
        except RStreamError as error:
            raise AssertionError(where) from error
        threads.pop().join(10)
        assert answers == list(range(len(answers))), where

    assert at_each_place(run, after, step=61) >= 5


class Source(abc.Publisher, abc.Subscription):
    """Counts up to a number, as far as it is asked.

    Attributes:
        is_held: somebody has subscribed and not cancelled, and there is more.
    """

    def __init__(self, count):
        self._count = count
        self._next = 0
        self.is_held = False

    def subscribe(self, subscriber):
        self._subscriber = subscriber
        self.is_held = True
        try:
            subscriber.on_subscribe(self)
        except BaseException:
            self.is_held = False  # §2.13
            raise

    def request(self, n):
        for _ in range(n):
            if self.is_held and self._next < self._count:
                self._next += 1
                self._subscriber.on_next(self._next - 1)
        if self.is_held and self._next == self._count:
            self.is_held = False
            self._subscriber.on_complete()

    def cancel(self):
        self.is_held = False


@pytest.mark.parametrize("again", [0, 1], ids=["once", "twice"])
@pytest.mark.parametrize(
    "file",
    [
        "service/_published.py",
        "service/_serving.py",
        "service/_thread_serving.py",
        "aio/_service.py",
    ],
)
def test_an_interrupted_run_cancels_its_publishers(driver_dir, name, file, again):
    """The callers have a beginning of what was published, and are told that there is no more."""
    sources, answers, told, threads = [], [], [], []

    def publish(count):
        sources.append(Source(count))
        return sources[-1]

    async def publish_in_loop(count):
        return publish(count)

    function = publish_in_loop if file.startswith("aio") else publish
    served = rstream.serve(name, dir=driver_dir)(function)

    def ask():
        answers.clear()
        told.clear()
        with service.requester(name, dir=driver_dir) as asks:
            try:
                answers.extend(asks.request_stream(10, prefetch=4, timeout_s=5))
                left = asks.request_stream(100, prefetch=4, timeout_s=5)
                assert next(left) == 0
                left.close()
            except RStreamError as error:
                told.append(error)
        served.close()

    def run():
        served._is_closing = False
        threads.append(in_thread(ask))
        served.run()

    def after(where):
        try:
            assert is_served(name, driver_dir), where
        except RStreamError as error:
            raise AssertionError(where) from error
        threads.pop().join(10)
        held = [source for source in sources if source.is_held]
        sources.clear()
        assert not held, where
        assert answers == list(range(len(answers))), where
        assert not any(isinstance(error, RequestTimeout) for error in told), where

    places = at_each_place(run, after, step=7, again=again, package=f"{PACKAGE}/{file}")
    print(f"{places} places")
    assert places >= 10
