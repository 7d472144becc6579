"""Eager delivery, without Spark: what may be lost with a driver or a reader goes out again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rstream
from rstream import stream
from rstream.errors import DriverLost, RegistrationError
from rstream.ray import StreamHandle
from rstream.spark import _ends, _task
from tests.support import in_thread, until
from tests.unit.ledger.conftest import End, Job, batch_of


@pytest.fixture(autouse=True)
def _close_ends() -> Iterator[None]:
    yield
    _ends.close_ends()


def eager(handle: StreamHandle, routing: str, **options: str) -> Job:
    return Job(handle, delivery="eager", routing=routing, rowsPerMessage="100", **options)


def read_on(handle: StreamHandle, **options: Any) -> tuple[Any, list[int], threading.Thread]:
    """A reader at the handle of one that has gone, as of a restarted actor; and what it takes."""
    values: list[int] = []

    def open_one() -> Any:
        with contextlib.suppress(DriverLost, RegistrationError):  # not free yet
            return stream.reader(
                handle.name, stream_id=handle.stream_id, codec="arrow", stays=True, **options
            )

    reader = until(open_one)

    def read() -> None:
        for batch in reader:
            values.extend(batch.column(0).to_pylist())

    return reader, values, in_thread(read)


def run_and_check(job: Job, batches: Iterator[Any], opened: list[Any]) -> None:
    """Run the task; what ``read_on`` has opened meanwhile must get all its rows."""
    report = _task.run(job.config, job.origin(0, 0, "t"), batches)
    assert report.rows == 2000
    reader, values, reading = opened
    until(lambda: len(set(values)) == 2000)
    assert sorted(set(values)) == list(range(2000))
    reader.close()
    reading.join(10)
    _ends.close_ends()


@pytest.mark.parametrize("routing", ["partition", "broadcast", "work"])
def test_what_driver_and_reader_took_with_them_is_sent_again(
    make_driver_dir: Callable[[], str], routing: str
) -> None:
    """Both die in the middle of a task, with rows that nobody has read."""
    directory = make_driver_dir()
    with contextlib.ExitStack() as drivers:
        first = drivers.enter_context(rstream.Driver(dir=directory))
        end = End("rows", directory, udp=False)
        handle = end.end.handle
        job = eager(handle, routing)
        opened: list[Any] = []

        def batches() -> Iterator[Any]:
            yield batch_of(range(1000))
            end.end.close()
            first.close()
            drivers.enter_context(rstream.Driver(dir=directory))
            opened.extend(read_on(handle, dir=directory))
            yield batch_of(range(1000, 2000))

        run_and_check(job, batches(), opened)


@pytest.mark.parametrize("routing", ["partition", "work"])
def test_what_a_reader_of_the_network_took_with_it_is_sent_again(
    open_end: Callable[..., End], make_driver_dir: Callable[[], str], routing: str
) -> None:
    """The next reader begins behind all that was sent."""
    with rstream.Driver(dir=make_driver_dir()) as far:
        end = open_end()
        handle = end.end.handle
        job = eager(handle, routing, driverDir=far.dir)
        opened: list[Any] = []

        def batches() -> Iterator[Any]:
            yield batch_of(range(1000))
            directory = handle.driver_dir
            end.end.close()
            opened.extend(read_on(handle, channels=[handle.udp_channel], dir=directory))
            yield batch_of(range(1000, 2000))

        run_and_check(job, batches(), opened)
