"""The format ``rstream`` with faults at chosen moments, once each; for tests of what survives them.

Spark's workers import this module. A fault happens when its file is in the folder of the option
``faultDir``; it removes the file first, so it happens once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rstream.spark._options import SinkConfig
from rstream.spark._sink import RstreamDataSource, StreamWriter

#: The faults: a worker is killed, or fails, after its first rows; the commit fails after it has
#: done its work; the commit waits until the file ``go`` is there.
FAULTS = ("kill", "fail", "fail-commit", "wait-commit")


def happens(folder: Path, fault: str) -> bool:
    """Whether the fault is due; it is not any more then."""
    try:
        (folder / fault).unlink()
    except FileNotFoundError:
        return False
    (folder / f"{fault}.done").touch()
    return True


class FaultySource(RstreamDataSource):
    """``format("rstream-faults")``."""

    @classmethod
    def name(cls) -> str:
        return "rstream-faults"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        options = dict(self.options)
        folder = Path(options.pop("faultdir"))
        return FaultyWriter(SinkConfig.from_options(options), folder)


class FaultyWriter(StreamWriter):
    """Writes with faults."""

    def __init__(self, config: SinkConfig, folder: Path) -> None:
        super().__init__(config)
        self.folder = folder

    def write(self, iterator: Iterator[Any]) -> Any:
        return super().write(self._broken(iterator))

    def _broken(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch
            if happens(self.folder, "kill"):
                os.kill(os.getpid(), signal.SIGKILL)
            if happens(self.folder, "fail"):
                raise RuntimeError("a fault in the task")

    def commit(self, messages: Any, batchId: int) -> None:
        if happens(self.folder, "wait-commit"):
            deadline_s = time.monotonic() + 30
            while not (self.folder / "go").exists() and time.monotonic() < deadline_s:
                time.sleep(0.01)
        super().commit(messages, batchId)
        if happens(self.folder, "fail-commit"):
            raise RuntimeError("a fault after the commit")
