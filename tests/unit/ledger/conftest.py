"""Writers and reading ends of committed delivery, without Spark."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import rstream.ray
from rstream.spark import _commit, _task
from rstream.spark._options import SinkConfig

TIMEOUT_S = 20.0


class End:
    """A reading end that keeps what it is handed out."""

    def __init__(self, name: str, directory: str, **options: Any) -> None:
        self.batches: list[Any] = []
        self.gate = threading.Event()
        self.gate.set()
        self.end = rstream.ray.committed_reader(name, dir=directory, host="127.0.0.1", **options)

    def start(self) -> End:
        self.end.start(self._take)
        return self

    def _take(self, batch: Any) -> None:
        assert self.gate.wait(TIMEOUT_S)
        self.batches.append(batch)

    @property
    def values(self) -> list[int]:
        return [value for batch in self.batches for value in batch.column(0).to_pylist()]

    def wait_for(self, count: int) -> list[int]:
        """Wait until so many rows were handed out."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while len(self.values) < count and time.monotonic() < deadline_s:
            time.sleep(0.005)
        return self.values


class Job:
    """What Spark does with a micro-batch: tasks, then a commit."""

    _tasks = itertools.count(1)

    def __init__(self, *handles: Any, query: str = "q", **options: str) -> None:
        texts = [handle.to_text() for handle in handles]
        import json

        self.config = SinkConfig.from_options({"handles": json.dumps(texts), **options})
        self.query = query
        self._tokens = itertools.count(1)

    def origin(self, epoch: int, partition: int, token: str) -> _task.Origin:
        return _task.Origin(
            query=self.query, epoch=epoch, partition=partition, attempt=0,
            task_attempt=next(self._tasks), token=token,
        )  # fmt: skip

    def write(
        self, epoch: int, values: range, *, partition: int = 0, token: str = "t"
    ) -> _task.TaskReport:
        """One task."""
        return _task.run(self.config, self.origin(epoch, partition, token), [batch_of(values)])

    def commit(self, epoch: int, *reports: _task.TaskReport) -> None:
        _commit.commit(self.config, reports, epoch)

    def run(self, epoch: int, values: range) -> _task.TaskReport:
        """An epoch of one partition."""
        report = self.write(epoch, values, token=f"run{next(self._tokens)}")
        self.commit(epoch, report)
        return report


def batch_of(values: range) -> Any:
    return pa.record_batch({"value": pa.array(values, pa.int64())})


@pytest.fixture
def open_end(driver_dir: str, driver: Any) -> Iterator[Callable[..., End]]:
    """Opens reading ends that are closed afterwards."""
    ends: list[End] = []

    def make(name: str = "rows", **options: Any) -> End:
        ends.append(End(name, driver_dir, **options))
        return ends[-1]

    yield make
    for end in ends:
        end.gate.set()
        end.end.close()
