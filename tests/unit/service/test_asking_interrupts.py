"""Requests under a signal handler that raises: at each place of the asking side.

After each interrupt every thread asks again, no answer is lost or given twice, and no place among
the outstanding requests stays taken.
"""

from __future__ import annotations

import threading

import pytest

import rstream
from rstream import service
from tests.interrupts import at_each_place
from tests.support import in_thread, until


@pytest.fixture
def asks(driver_dir, name):
    """A requester of a service that returns what it is asked, or counts up to that."""

    def answer(query):
        if isinstance(query, int) and query >= 1000:
            return iter(range(query - 1000))
        return query

    with (
        rstream.serve(name, dir=driver_dir)(answer),
        service.requester(name, dir=driver_dir, outstanding=4) as one,
    ):
        yield one


def is_well(asks, where):
    """Another thread gets its answer, and nothing stays outstanding."""
    answers = []
    thread = in_thread(lambda: answers.append(asks.request(7, timeout_s=5)))
    thread.join(10)
    assert answers == [7], where
    until(lambda: asks.statistics()["outstanding"] == 0)


def test_a_request_is_interrupted(asks):
    numbers = iter(range(10**6))

    def ask():
        number = next(numbers)
        assert asks.request(number % 1000, timeout_s=5) == number % 1000

    ask()
    assert at_each_place(ask, lambda where: is_well(asks, where)) >= 50
    assert at_each_place(ask, lambda where: is_well(asks, where), again=1) >= 50
    assert at_each_place(ask, lambda where: is_well(asks, where), again=2, step=5) >= 10


@pytest.mark.parametrize("again", [0, 1, 3], ids=["once", "at once again", "again"])
def test_a_request_is_interrupted_beside_another_thread(asks, again):
    """One of the two reads for both."""
    is_over, wrong = threading.Event(), []

    def ask_on():
        number = 0
        while not is_over.is_set():
            number = (number + 1) % 900
            if asks.request(number, timeout_s=5) != number:
                wrong.append(number)

    def ask():
        assert asks.request(5, timeout_s=5) == 5

    def after(where):
        answers = []
        in_thread(lambda: answers.append(asks.request(7, timeout_s=5))).join(10)
        assert answers == [7], where

    thread = in_thread(ask_on)
    try:
        assert at_each_place(ask, after, again=again) >= 50
    finally:
        is_over.set()
        thread.join(10)
    assert not wrong
    assert not thread.is_alive()
    until(lambda: asks.statistics()["outstanding"] == 0)


# What an interrupted constructor had opened is closed by the collector, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_first_request_is_interrupted_while_it_opens(driver_dir, name):
    with rstream.serve(name, dir=driver_dir)(lambda query: query):
        opened = []

        def ask():
            opened.append(service.requester(name, dir=driver_dir))
            assert opened[-1].request(1, timeout_s=5) == 1
            opened[-1].close()

        def after(where):
            is_well(opened[-1], where) if opened and not opened[-1].is_closed else None
            while opened:
                opened.pop().close()

        assert at_each_place(ask, after, step=29) >= 10


def test_a_stream_of_answers_goes_on(asks):
    got: list[int] = []

    def read(stream):
        for item in stream:
            got.append(item)  # noqa: PERF402 - the places of this loop are counted

    streams = []

    def ask():
        got.clear()
        streams.clear()
        streams.append(asks.request_stream(1005, prefetch=2, timeout_s=5))
        read(streams[0])

    def after(where):
        if streams:
            rest = list(streams[0])
            # The item that the loop had been given is the program's.
            assert got + rest == [0, 1, 2, 3, 4], where
        is_well(asks, where)

    assert at_each_place(ask, after, step=3) >= 50
