"""A signal handler closes what the code that it interrupts reads from: at once, and quietly.

The signals are real. They come while the main thread waits, and in the middle of its work.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import contextmanager

import pytest

from rstream import policy, stream, work
from rstream.errors import ClosedError, ConcurrentUseError
from rstream.stream._internal import BufferedReading, reading_of
from tests.support import in_thread

#: Half of the 30 s that a close waits for another thread, and more than any of this takes.
SOON_S = 15.0


@contextmanager
def interrupted(handler, *, after_s=0.2):
    """Run the handler in this thread, once, in the middle of the block."""
    old = signal.signal(signal.SIGALRM, lambda *_: handler())
    began_s = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, after_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert time.monotonic() - began_s < SOON_S


def is_free(reader):
    """Whether the reader has given its handles back."""
    reading = reading_of(reader)
    return not (reading.reader if isinstance(reading, BufferedReading) else reading).subscriptions


@contextmanager
def sending(opened, name, driver_dir):
    """A thread sends into a stream until the end of the block."""
    stop = threading.Event()

    def send():
        with opened(name, dir=driver_dir, linger_s=0) as pub:
            number = 0
            while not stop.is_set():
                number += pub.offer(number) is not False

    thread = in_thread(send)
    try:
        yield
    finally:
        stop.set()
        thread.join(10.0)


READS = {
    "items": lambda sub: list(sub),
    "batches": lambda sub: list(sub.batches()),
    "wait": lambda sub: sub.wait(60.0),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_handler_may_close_the_reader_that_waits(driver_dir, name, caplog, read):
    sub = stream.subscriber(name, dir=driver_dir)
    with interrupted(sub.close):
        read(sub)
    assert sub.is_closed
    assert is_free(sub)
    assert not caplog.records


@pytest.mark.parametrize("on_slow", [policy.Block(), policy.Buffer(10)], ids=["plain", "queue"])
def test_get_says_that_a_handler_has_closed_the_reader(driver_dir, name, on_slow):
    sub = stream.subscriber(name, dir=driver_dir, on_slow=on_slow)
    with interrupted(sub.close), pytest.raises(ClosedError, match="closed"):
        sub.get(timeout_s=60.0)


@pytest.mark.parametrize("on_slow", [policy.Block(), policy.Buffer(10)], ids=["plain", "queue"])
@pytest.mark.parametrize("pause_s", [0.0, 0.001], ids=["polls", "works"])
def test_a_handler_may_close_the_reader_in_the_middle_of_its_work(
    driver_dir, name, caplog, on_slow, pause_s
):
    for after_s in (0.05, 0.11, 0.17):
        sub = stream.subscriber(name, dir=driver_dir, on_slow=on_slow)
        with (
            sending(stream.publisher, name, driver_dir),
            interrupted(sub.close, after_s=after_s),
        ):
            for _ in sub:
                time.sleep(pause_s)
        assert sub.is_closed
        assert is_free(sub)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_handler_cannot_read_what_it_interrupts(driver_dir, name):
    sub = stream.subscriber(name, dir=driver_dir)
    errors = []

    def read():
        for call in (sub.poll, lambda: sub.wait(0.0)):
            try:
                call()
            except ConcurrentUseError as error:
                errors.append(error)
        assert sub.events() == []
        sub.close()

    with interrupted(read):
        list(sub)
    assert len(errors) == 2


def test_a_handler_may_close_the_jobs_that_its_thread_waits_for(driver_dir, name, caplog):
    jobs = work.subscriber(name, dir=driver_dir)
    with interrupted(jobs.close):
        assert list(jobs) == []
    assert not caplog.records
    jobs = work.subscriber(name, dir=driver_dir)
    with interrupted(jobs.close), pytest.raises(ClosedError):
        jobs.get(timeout_s=60.0)


def test_a_handler_may_close_the_jobs_in_the_middle_of_its_work(driver_dir, name, caplog):
    for after_s in (0.3, 0.41, 0.52):
        jobs = work.subscriber(name, dir=driver_dir)
        with sending(work.publisher, name, driver_dir), interrupted(jobs.close, after_s=after_s):
            for _ in jobs:
                pass
    assert not [record for record in caplog.records if "poll" in record.message]


@pytest.mark.parametrize("after_s", [0.05, 0.11, 0.17])
def test_a_handler_may_close_the_work_that_its_thread_sends(driver_dir, name, after_s):
    with work.subscriber(name, dir=driver_dir) as jobs:
        reading = in_thread(lambda: [job.ack() for job in jobs])
        pub = work.publisher(name, dir=driver_dir, linger_s=1)
        with interrupted(pub.close, after_s=after_s), pytest.raises(ClosedError):
            while True:
                pub.send(1, timeout_s=10.0)
        jobs.close()
        reading.join(10.0)
