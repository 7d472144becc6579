"""A reading end for committed delivery that the program drops leaves the stream when it is
collected: its thread and its services end, and its ledger is free for the next one.
"""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any

import pytest

import rstream.ray
from rstream.ledger import FileLedger, MemoryLedger
from rstream.ray import _open
from rstream.spark import _ends
from tests.support import in_thread, until
from tests.unit.ledger.conftest import Job

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")

STREAM_ID = 1_234_567


@pytest.fixture(autouse=True)
def _close_ends() -> Any:
    yield
    _ends.close_ends()


@pytest.fixture
def opened(driver: Any, driver_dir: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens reading ends at one address, as a restarted Ray actor does."""
    monkeypatch.setattr(_open, "new_stream_id", lambda: STREAM_ID)

    def make(**options: Any) -> Any:
        return rstream.ray.committed_reader("rows", dir=driver_dir, udp=False, **options)

    return make


def threads() -> list[str]:
    """The threads of the reading end and of its service."""
    return [one.name for one in threading.enumerate() if str(STREAM_ID) in one.name]


def read(end: Any) -> list[int]:
    values: list[int] = end.source.get(timeout_s=20).column(0).to_pylist()
    return values


def begun(end: Any, job: Job) -> None:
    """Commit two epochs of one row, and read the first."""
    writing = in_thread(lambda: [job.run(epoch, range(epoch, epoch + 1)) for epoch in (0, 1)])
    assert read(end) == [0]
    writing.join(20)
    assert len(threads()) == 2


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_the_next_reading_end_gets_what_waited(opened: Any, tmp_path: Path, kind: str) -> None:
    ledger = MemoryLedger() if kind == "memory" else FileLedger(tmp_path / "ledger")
    end = opened(ledger=ledger)
    job = Job(end.handle)
    begun(end, job)
    del end
    gc.collect()
    until(lambda: not threads())
    if kind == "file":
        ledger = FileLedger(tmp_path / "ledger")
    with opened(ledger=ledger) as end:
        assert read(end) == [0]  # it was in hand, and may come again
        assert read(end) == [1]
        writing = in_thread(job.run, 2, range(2, 3))
        assert read(end) == [2]
        writing.join(20)


def test_its_writers_are_told(opened: Any, driver_dir: str) -> None:
    end = opened()
    handle = end.handle
    begun(end, Job(handle))
    with handle.publisher(driver_dir=driver_dir) as publisher:
        until(lambda: publisher.is_connected)
        del end
        gc.collect()
        until(lambda: not threads())
        until(lambda: not publisher.is_connected)


def test_one_that_no_writer_has_begun_with(opened: Any, tmp_path: Path, driver_dir: str) -> None:
    ledger = FileLedger(tmp_path / "ledger")
    end = opened(ledger=ledger)
    assert not end.source.poll()
    with end.handle.publisher(driver_dir=driver_dir) as publisher:
        until(lambda: publisher.is_connected)
        del end
        gc.collect()
        until(lambda: not publisher.is_connected)
    with opened(ledger=FileLedger(tmp_path / "ledger")):
        pass


def test_it_warns_once(opened: Any) -> None:
    end = opened()
    begun(end, Job(end.handle))
    with pytest.warns(ResourceWarning, match=r"was not closed; made at .*test_dropped\.py") as seen:
        del end
        gc.collect()
        until(lambda: not threads())
    assert len([one for one in seen if "not closed" in str(one.message)]) == 1
