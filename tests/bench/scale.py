"""What one host carries for many actors: memory, sockets, threads, control frames while idle.

    python -m tests.bench.scale --actors 50 --medium udp

Two drivers stand for two hosts. Each reader of the first has one writer, by UDP from the other
host or in shared memory. docs/explanation/scale.md has the numbers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import rstream
import rstream.ray
from rstream import _core
from tests.support import until

#: Seconds over which frames are counted; what it counts comes ten times a second and less often.
IDLE_S = 5.0
#: Items that each writer sends before: logs and windows are in use then.
ITEMS = 20


@contextlib.contextmanager
def other_host() -> Generator[None]:
    """What is opened inside is on another host than the rest of this process."""
    os.environ["RSTREAM_HOST_TOKEN"] = "another host"
    try:
        yield
    finally:
        del os.environ["RSTREAM_HOST_TOKEN"]


def totals(directory: str) -> dict[str, int]:
    """The driver's own counters, by label."""
    return {one.label: one.value for one in _core.read_counters(directory) if one.type_id == 0}


def facts(directory: str) -> dict[str, int]:
    """What a driver and this process hold now. Memory in bytes; of files what is really there."""
    files = [path.stat() for path in Path(directory).rglob("*") if path.is_file()]
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "counters": len(_core.read_counters(directory)),
        "file_bytes": sum(one.st_size for one in files),
        "used_bytes": sum(one.st_blocks * 512 for one in files),
        "open_files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "resident_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
    }


def measure(actors: int, medium: str, base: Path) -> dict[str, Any]:
    """Facts of the readers' and of the writers' driver, less those of the empty ones."""
    here, there = str(base / f"{medium}-here"), str(base / f"{medium}-there")
    with contextlib.ExitStack() as stack:
        for directory in (here, there):
            stack.enter_context(rstream.Driver(dir=directory))
        before = {directory: facts(directory) for directory in (here, there)}
        got: list[Any] = []
        with other_host() if medium == "udp" else contextlib.nullcontext():
            ends = [rstream.ray.reader(dir=here, host="127.0.0.1") for _ in range(actors)]
        for end in ends:
            stack.callback(end.close)
            end.start(got.append)
        writers = [
            stack.enter_context(end.handle.publisher(driver_dir=there if medium == "udp" else None))
            for end in ends
        ]
        for writer in writers:
            writer.send_many(b"x" * 1000 for _ in range(ITEMS))
        until(lambda: len(got) == actors * ITEMS, 60)
        after = {directory: facts(directory) for directory in (here, there)}
        first = {directory: totals(directory) for directory in (here, there)}
        cpu_s = time.process_time()
        time.sleep(IDLE_S)
        cpu_s = time.process_time() - cpu_s
        second = {directory: totals(directory) for directory in (here, there)}
    result: dict[str, Any] = {"medium": medium, "actors": actors, "idle_cpu": cpu_s / IDLE_S}
    for side, directory in (("readers", here), ("writers", there)):
        result[side] = {
            name: value - before[directory][name] for name, value in after[directory].items()
        }
        rates = {
            name: round((value - first[directory][name]) / IDLE_S, 1)
            for name, value in second[directory].items()
        }
        result[side]["per_s"] = {name: rate for name, rate in rates.items() if rate > 0}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actors", type=int, default=50)
    parser.add_argument("--medium", choices=("udp", "ipc"), default="udp")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rs-scale-", dir="/dev/shm") as base:
        print(json.dumps(measure(options.actors, options.medium, Path(base)), indent=1))


if __name__ == "__main__":
    main()
