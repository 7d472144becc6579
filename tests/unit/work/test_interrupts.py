"""Shared work under a signal handler that raises: at each place, of each call of either end.

After each interrupt every message is somewhere: done once, held by the program, or given out again;
and both ends go on.
"""

from __future__ import annotations

import contextlib
import itertools
import time

import pytest

from rstream import work
from rstream.errors import BackPressured, ReadTimeout, RStreamError
from tests.interrupts import at_each_check, at_each_place
from tests.support import in_thread, until

COUNT = 5


@pytest.fixture
def ends(driver_dir, name):
    """A publisher and a reader of one name, and both at the end closed."""
    reader = work.subscriber(name, prefetch=8, acknowledge="explicit", dir=driver_dir)
    jobs = work.publisher(name, linger_s=5, dir=driver_dir)
    until(lambda: jobs.readers == 1)
    yield jobs, reader
    reader.close()
    jobs.close(linger_s=0)


def rest_of(reader, wanted):
    """Take until every number is there; those that come a second time are marked."""
    taken: list[work.Job] = []
    while not wanted <= {job.item for job in taken}:
        taken.append(reader.get(timeout_s=5))
        taken[-1].ack()
    return taken


def test_sending_gives_no_number_twice(ends):
    """A lane's number is used once, and what a reader has is known to the publisher."""
    jobs, reader = ends
    sent: list[int] = []

    def send():
        sent.append(len(sent))
        jobs.send(sent[-1], timeout_s=5)

    def after(where):
        sent.append(len(sent))
        jobs.send(sent[-1], timeout_s=5)
        items = [job.item for job in rest_of(reader, {sent[-1]})]
        interrupted = sent[-2]
        assert [item for item in items if item != interrupted] == [sent[-1]], where
        assert items.count(interrupted) <= 1, where
        until(lambda: jobs.unacknowledged == 0)
        assert reader.statistics()["refused"] == 0, where

    assert at_each_place(send, after) >= 10
    rest_of(reader, {sent[-1]})  # of the run that came to its end
    until(lambda: jobs.statistics()["sent"] == jobs.statistics()["acknowledged"])


def test_waits_for_demand_and_for_the_end(ends):
    jobs, reader = ends
    for number in range(8):
        jobs.send(number)

    def wait():
        jobs.wait_acknowledged(timeout_s=0.002)

    def after(where):
        thread = in_thread(lambda: jobs.wait_acknowledged(timeout_s=0))
        thread.join(5)
        assert not thread.is_alive(), where

    assert at_each_place(wait, after) >= 10

    def full():
        with pytest.raises(BackPressured):
            jobs.send(99, timeout_s=0.002)

    assert at_each_place(full, after) >= 10
    assert {job.item for job in rest_of(reader, set(range(8)))} == set(range(8))
    until(lambda: jobs.unacknowledged == 0)


def test_taking_loses_no_job(ends):
    jobs, reader = ends
    seen: list[int] = []
    held: list[work.Job] = []
    numbers = iter(range(10**6))

    def take():
        jobs.send(next(numbers), timeout_s=5)
        job = reader.get(timeout_s=5)
        held.append(job)
        seen.append(job.item)
        job.ack()

    def take_the_rest():
        while jobs.unacknowledged:
            with contextlib.suppress(ReadTimeout):
                job = reader.get(timeout_s=0.01)
                seen.append(job.item)
                job.ack()

    def after(where):
        for job in held:  # the program has it, and says so again
            job.ack()
        held.clear()
        thread = in_thread(take_the_rest)
        thread.join(10)
        assert not thread.is_alive(), where
        assert len(seen) == len(set(seen)), where
        assert reader.statistics()["refused"] == 0, where

    assert at_each_place(take, after, step=11) >= 10
    at_each_check(take, after)


@pytest.mark.parametrize("acknowledge", ["next", "explicit"])
def test_a_loop_loses_no_job(driver_dir, name, acknowledge):
    """The next loop begins with the job that an interrupted one had not given to the program.

    A report that was interrupted is made again with the next one, or after a second. Each eighth
    place waits for that second.
    """
    interrupted = itertools.count()
    with (
        work.subscriber(name, prefetch=8, acknowledge=acknowledge, dir=driver_dir) as reader,
        work.publisher(name, linger_s=5, dir=driver_dir) as jobs,
    ):
        got: list[work.Job] = []

        def begin():
            got.clear()
            for number in range(COUNT):
                jobs.send(number, timeout_s=5)

        def loop():
            for job in reader:
                got.append(job)
                if acknowledge == "explicit":
                    job.ack()
                if len(got) == COUNT:
                    return

        def after(where):
            for job in got:  # the program has it, and says so again
                job.ack()
            while len(got) < COUNT:
                got.append(reader.get(timeout_s=5))
                got[-1].ack()
            assert [(job.item, job.delivery) for job in got] == [
                (number, 1) for number in range(COUNT)
            ], where
            assert reader.statistics()["held"] == 0, where
            if next(interrupted) % 8:
                jobs.send("one more", timeout_s=5)
                reader.get(timeout_s=5).ack()
                with contextlib.suppress(ReadTimeout):
                    reader.get(timeout_s=0.001)
            until(lambda: jobs.unacknowledged == 0)
            begin()

        begin()
        assert at_each_place(loop, after) >= 50
        got[-1].ack()


def test_what_is_unfinished_is_told_once(driver_dir, name):
    with work.publisher(name, linger_s=0, deliveries_max=1, dir=driver_dir) as jobs:
        told: list[int] = []

        def begin():
            told.clear()
            with work.subscriber(name, acknowledge="explicit", dir=driver_dir) as reader:
                numbers.append(jobs.send("in vain", timeout_s=5))
                reader.get(timeout_s=5).give_back()
                until(lambda: jobs.statistics()["unfinished"] == len(numbers))

        def ask():
            told.extend(event.number for event in jobs.events())

        def after(where):
            ask()
            assert told == numbers[-1:], where
            begin()

        numbers: list[int] = []
        begin()
        assert at_each_place(ask, after) >= 3


@pytest.mark.parametrize("acknowledge", ["next", "explicit"])
def test_settling_is_made_again(driver_dir, name, acknowledge):
    with (
        work.subscriber(name, prefetch=4, acknowledge=acknowledge, dir=driver_dir) as reader,
        work.publisher(name, linger_s=5, dir=driver_dir) as jobs,
    ):
        taken: list[work.Job] = []

        def settle():
            jobs.send(len(taken), timeout_s=5)
            job = reader.get(timeout_s=5)
            taken.append(job)
            if len(taken) % 2:
                job.ack()
            else:
                job.give_back()

        def after(where):
            if taken:  # the program has it, and says it again
                with contextlib.suppress(RStreamError):  # it was given back
                    taken[-1].ack()
            deadline_s = time.monotonic() + 10
            while jobs.unacknowledged:
                assert time.monotonic() < deadline_s, where
                with contextlib.suppress(ReadTimeout):
                    taken.append(reader.get(timeout_s=0.01))
                    taken[-1].ack()

        assert at_each_place(settle, after, step=37) >= 4
        after("the run that came to its end")


# What an interrupted constructor had opened is closed by the collector, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_closing_is_made_again(driver_dir, name):
    """An end whose close was interrupted is closed by the next one, and nothing stays open."""
    opened: list[object] = []

    def run():
        reader = work.subscriber(name, dir=driver_dir)
        opened.append(reader)
        jobs = work.publisher(name, linger_s=0, dir=driver_dir)
        opened.append(jobs)
        jobs.close()
        reader.close()

    def after(where):
        while opened:
            opened.pop().close()
        with (
            work.subscriber(name, dir=driver_dir) as reader,
            work.publisher(name, linger_s=5, dir=driver_dir) as jobs,
        ):
            jobs.send("again", timeout_s=5)
            job = reader.get(timeout_s=5)
            job.ack()
            assert job.item == "again", where

    assert at_each_place(run, after, step=37) >= 5
