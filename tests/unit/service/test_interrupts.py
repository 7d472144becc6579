"""A server under a signal handler that raises leaves its place, and can close or serve again."""

from __future__ import annotations

from contextlib import suppress

import pytest

import rstream
from rstream import service
from rstream.errors import RStreamError
from tests.interrupts import at_each_place
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
