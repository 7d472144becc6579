"""Rows that readers share (routing work), without Spark: readers that fail or go hold nobody up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rstream
from rstream.errors import RemoteError, RStreamError
from rstream.spark import _ends, _task
from tests.support import until
from tests.unit.ledger.conftest import End, Job, batch_of

OpenEnd = Callable[..., End]


@pytest.fixture(autouse=True)
def _close_ends() -> Iterator[None]:
    yield
    _ends.close_ends()


def shared_by(*ends: End, **options: str) -> Job:
    handles = [end.end.handle for end in ends]
    return Job(*handles, routing="work", delivery="eager", rowsPerMessage="100", **options)


def failed(end: End) -> End:
    """A reading end whose function has raised, and that nobody has closed."""

    def break_down(batch: Any) -> None:
        raise ValueError(f"a bug in {end.end.handle.name}")

    end.end.start(break_down)
    with pytest.raises(RemoteError), end.end.handle.publisher() as publisher:
        publisher.send(batch_of(range(1)))
        publisher.wait_consumed(timeout_s=20)
    until(lambda: end.end.is_closed)
    return end


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_a_reader_that_has_failed_is_left_out(
    open_end: OpenEnd, make_driver_dir: Callable[[], str], medium: str
) -> None:
    """It refuses each new writer a moment after it came: what it got then goes to the other one."""
    with rstream.Driver(dir=make_driver_dir()) as far:
        ends = [failed(open_end("first")), open_end("second").start()]
        job = shared_by(*ends, **({} if medium == "ipc" else {"driverDir": far.dir}))
        for task in range(2):
            rows = range(task * 20_000, (task + 1) * 20_000)
            report = job.write(task, rows)
            assert (report.rows, report.messages) == (20_000, 200)
        assert sorted(ends[1].wait_for(40_000)) == list(range(40_000))
        _ends.close_ends()


def test_what_a_reader_had_when_it_went_goes_to_the_others(open_end: OpenEnd) -> None:
    """One goes in the middle of a task, with rows that it has not read."""
    ends = [open_end("first"), open_end("second").start()]  # nobody reads the first one
    job = shared_by(*ends, offerTimeout="2")

    def batches() -> Any:
        yield batch_of(range(1000))
        ends[0].end.close()
        yield batch_of(range(1000, 2000))

    report = _task.run(job.config, job.origin(0, 0, "t"), batches())
    assert report.rows == 2000
    assert sorted(set(ends[1].wait_for(2000))) == list(range(2000))


def test_a_task_without_living_readers_fails_at_once_and_names_them(open_end: OpenEnd) -> None:
    """The offer timeout is for readers that may still take something."""
    ends = [failed(open_end(name)) for name in ("first", "second")]
    began_s = time.monotonic()
    with pytest.raises(RStreamError, match="none of 2 readers is left") as raised:
        shared_by(*ends, offerTimeout="100").write(0, range(1000))
    assert time.monotonic() - began_s < 50
    assert "a bug in first" in str(raised.value)
    assert "a bug in second" in str(raised.value)


def test_readers_that_went_without_an_error_are_waited_for_and_then_named(
    open_end: OpenEnd,
) -> None:
    ends = [open_end(name) for name in ("first", "second")]
    for end in ends:
        end.end.close()
    text = r"is left: .*'first'.* no reader for 0\.3 s; .*'second'"
    with pytest.raises(RStreamError, match=text):
        shared_by(*ends, offerTimeout="0.3").write(0, range(1000))


def test_a_reader_that_stands_still_is_an_error_of_its_own(open_end: OpenEnd) -> None:
    """It is there, so its rows are not given to another one."""
    ends = [open_end("first"), open_end("second").start()]
    with pytest.raises(RStreamError, match=r"the reader of 'first' .* has not consumed"):
        shared_by(*ends, offerTimeout="0.5").write(0, range(1000), partition=1)


def test_what_was_in_the_log_of_a_driver_that_ended_is_sent_again(
    make_driver_dir: Callable[[], str],
) -> None:
    directory = make_driver_dir()
    with contextlib.ExitStack() as drivers:
        first = drivers.enter_context(rstream.Driver(dir=directory))
        end = End("rows", directory, udp=False)
        with contextlib.closing(end.end):
            job = shared_by(end)

            def batches() -> Any:
                yield batch_of(range(1000))
                first.close()
                drivers.enter_context(rstream.Driver(dir=directory))
                end.start()
                yield batch_of(range(1000, 2000))

            report = _task.run(job.config, job.origin(0, 0, "t"), batches())
            assert report.rows == 2000
            assert sorted(set(end.wait_for(2000))) == list(range(2000))
            _ends.close_ends()
