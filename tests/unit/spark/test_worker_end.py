"""Workers that Spark ends complete their streams: forked here as Spark's daemon forks them."""

from __future__ import annotations

import os
import signal
import types
from typing import Any

import pyarrow as pa
import pytest

import rstream
from rstream.spark import _ends, _task, _worker_end
from rstream.spark._options import SinkConfig
from rstream.stream import Completed, Lost
from tests.support import until


def _be_a_worker(config: SinkConfig, pipe: int, how: str) -> None:
    """In the child: one task of eager delivery, then idle as a worker is."""
    import sys

    sys.modules["__main__"] = types.ModuleType("__main__")
    main: Any = sys.modules["__main__"]
    main.__spec__ = types.SimpleNamespace(name=_worker_end.DAEMON)
    origin = _task.Origin(query="q", epoch=0, partition=0, attempt=0, task_attempt=1, token="t")

    def rows() -> Any:
        yield pa.record_batch({"x": [1, 2, 3]})
        if how == "killed in a task":
            os.write(pipe, b".")
            signal.pause()

    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    _task.run(config, origin, rows())
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as before each task
    os.write(pipe, b".")
    if how == "exit":
        os._exit(0)
    while True:
        signal.pause()


@pytest.mark.parametrize("how", ["session stops", "exit", "killed in a task"])
def test_an_idle_worker_completes_its_streams(driver_dir: str, driver: Any, how: str) -> None:
    with rstream.ray.reader(codec="arrow", dir=driver_dir, udp=False) as end:
        options = {"handles": end.handle.to_text(), "delivery": "eager", "ack": "sent"}
        config = SinkConfig.from_options(options)
        seen, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _be_a_worker(config, write, how)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        assert os.read(seen, 1) == b"."
        if how != "exit":
            os.kill(pid, signal.SIGHUP)
        os.waitpid(pid, 0)
        os.close(seen)
        os.close(write)
        events: list[Any] = []

        def is_told() -> bool:
            end.source.poll()
            events.extend(end.events())
            return any(isinstance(event, Completed | Lost) for event in events)

        until(is_told)
        ended = {type(event) for event in events} & {Completed, Lost}
        assert ended == ({Lost} if how == "killed in a task" else {Completed})
    assert not _ends._publishers  # pyright: ignore[reportPrivateUsage]
