"""Writers of the tests of ends: ``python -m tests.system.end_worker TASK_JSON``.

Each writer is a process. It sends one number, closes its stream, and ends at once; every other one
without the clean-up of Python. ``driver`` in the task: it has a driver of its own there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from rstream import stream
from rstream.driver import Driver


def write(task: dict[str, Any], name: str) -> None:
    with stream.publisher(
        name, int, channel=task["channel"], dir=task["dir"], linger_s=30.0
    ) as publisher:
        publisher.send(1)
        publisher.wait_consumed(timeout_s=30.0)
        begin_s = time.monotonic()
    # One write: several processes share the pipe.
    os.write(sys.stdout.fileno(), f"{time.monotonic() - begin_s}\n".encode())


def main(task: dict[str, Any]) -> None:
    if task["driver"]:
        with Driver(task["dir"]):
            for name in task["names"]:
                write(task, name)
        return
    writers: list[int] = []
    for number, name in enumerate(task["names"]):
        if (pid := os.fork()) == 0:
            write(task, name)
            if number % 2:
                os._exit(0)
            return
        writers.append(pid)
    for pid in writers:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
