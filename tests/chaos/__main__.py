"""Rows flow from Spark to a Ray actor while workers, readers and programs are killed.

Run: make chaos ROWS=1000000 KILLS=10 DELIVERY=committed LEDGER=file [SEED=n]

The kills are spread over the run by the number of rows that have arrived, and chosen at random:
a Python worker of Spark, an executor (Spark runs as ``local-cluster``), the reading actor, the
media driver, or the program that drives Spark with its JVM. What died is started again: workers and
executors by Spark, the actor by Ray, the media driver by who uses it next, the program from its
checkpoint. At the end every row must have been counted once; a batch that was in hand at a death
comes again under the same name, which the store knows. It ends with ``chaos: OK …``, or with a
failure that names the seed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.integration.conftest import _environment

#: Most that may pass without a new row once Spark runs.
STILL_S = 120.0
#: Most that a program may take until Spark runs: 10 s alone, minutes beside other jobs.
START_S = 600.0
WAIT_S = 0.05
#: Most characters of each log that a failure shows.
LOG_SHOWN = 6000
FILES_LEAST = 20
KINDS = ("worker", "executor", "reader", "driver", "program")


def say(text: str) -> None:
    print(f"chaos: {text}", flush=True)


class Failure(Exception):
    """Something went wrong that a seed may show again."""


class Chaos:
    """One run."""

    def __init__(self, options: argparse.Namespace, folder: Path, directory: str) -> None:
        self.options, self.folder, self.directory = options, folder, directory
        self.random = random.Random(options.seed)
        self.program: subprocess.Popen[bytes] | None = None
        self.kills: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.starts = self.failures = 0
        self.ledger: Any = None

    # ---- what runs ----

    def start_ray(self, ray: Any) -> None:
        from tests.chaos.ends import Reader, Store

        self.ray = ray
        ledger: Any = None
        if self.options.ledger == "file":
            ledger = str(self.folder / "rows.ledger")
        elif self.options.ledger == "actor":
            import rstream.ray

            ledger = self.ledger = rstream.ray.ActorLedger()  # it ends with its last holder
        self.store = ray.remote(num_cpus=0)(Store).remote(self.options.rows)
        self.reader = (
            ray.remote(num_cpus=0)(Reader)
            .options(max_restarts=-1, max_task_retries=-1)
            .remote(self.directory, ledger, self.store)
        )
        self.handle = ray.get(self.reader.handle.remote()).to_text()

    def write_files(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        (self.folder / "in").mkdir()
        rows, files = self.options.rows, max(FILES_LEAST, 2 * self.options.kills)
        bounds = [rows * number // files for number in range(files + 1)]
        for number, (first, last) in enumerate(itertools.pairwise(bounds)):
            table = pa.table({"value": pa.array(range(first, last), pa.int64())})
            pq.write_table(table, self.folder / "in" / f"{number:05}.parquet")

    def start_program(self) -> None:
        self.starts += 1
        with (self.folder / "program.log").open("ab") as log:
            self.program = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.program", str(self.folder), self.handle,
                 self.options.delivery],
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def is_starting(self) -> bool:
        """Whether Spark does not run yet in the program: no stream can stand still."""
        assert self.program is not None
        return (
            self.program.poll() is None
            and not (self.folder / f"started-{self.program.pid}").exists()
        )

    def end_program(self) -> None:
        """End the program with its JVM and workers: they are one process group."""
        if self.program is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.program.pid, signal.SIGKILL)
            self.program.wait()
            for pid in self.workers() + self.executors():
                _kill(pid)

    def workers(self) -> list[int]:
        """Python workers of the program, which Spark puts into groups of their own."""
        return [pid for pid in _processes("pyspark.daemon") if self._is_mine(pid)]

    def executors(self) -> list[int]:
        """JVMs that run the program's tasks."""
        return [pid for pid in _processes("CoarseGrainedExecutor") if self._is_mine(pid)]

    def drivers(self) -> list[int]:
        """The media driver, which whoever used it first has started; none after its death, and
        while the next one starts.
        """
        from rstream import _core
        from rstream.errors import DriverLost, DriverNotFound

        with contextlib.suppress(DriverLost, DriverNotFound, OSError):
            pid = _core.driver_info(self.directory).pid
            return [pid] if _is_alive(pid) else []
        return []

    def targets(self, kind: str) -> list[int]:
        """What could be killed now."""
        if kind == "program":
            assert self.program is not None
            return [self.program.pid] if self.program.poll() is None else []
        if kind == "reader":
            pid = self.ray.get(self.store.reader_pid.remote())
            return [pid] if _is_alive(pid) else []
        return {"worker": self.workers, "executor": self.executors, "driver": self.drivers}[kind]()

    def _is_mine(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            return f"RSTREAM_CHAOS={self.folder}".encode() in Path(
                f"/proc/{pid}/environ"
            ).read_bytes().split(b"\0")
        return False

    # ---- the run ----

    def run(self) -> None:
        rows, count = self.options.rows, self.options.kills
        due = sorted(self.random.randrange(rows * 9 // 10) for _ in range(count))
        plan = [self.random.choice(tuple(self.kills)) for _ in range(count)]
        self.start_program()
        arrived, changed_s, was_starting = 0, time.monotonic(), True
        while True:
            time.sleep(WAIT_S)
            now, is_starting = self.ray.get(self.store.count.remote()), self.is_starting()
            if now != arrived or is_starting != was_starting:
                arrived, changed_s, was_starting = now, time.monotonic(), is_starting
            assert self.program is not None
            code = self.program.poll()
            if code == 0 and (arrived == rows or time.monotonic() - changed_s > 5.0):
                break
            if code not in (0, None):
                self.failures += 1
                self.start_program()
                changed_s = time.monotonic()
            if due and arrived >= due[0] and self.kill(plan[0]):
                due.pop(0)
                plan.pop(0)
            limit_s = START_S if is_starting else STILL_S
            if time.monotonic() - changed_s > limit_s:
                what = "Spark has not started" if is_starting else "nothing has come"
                raise Failure(
                    f"{what} for {limit_s:.0f} s, {arrived} of {rows} rows; "
                    f"the reader: {self.facts()}"
                )

    def facts(self) -> str:
        """What the reader is doing."""
        try:
            return self.ray.get(self.reader.facts.remote(), timeout=10)
        except Exception as error:
            return f"does not answer: {error!r}"

    def kill(self, kind: str) -> bool:
        """Kill one; False: none is alive now, as it is being started again."""
        pids = self.targets(kind)
        if not pids:
            return False
        say(f"kills a {kind} at {self.ray.get(self.store.count.remote())} rows")
        self.kills[kind] += 1
        if kind == "program":
            self.end_program()
        else:
            _kill(self.random.choice(sorted(pids)))
        return True

    def judge(self) -> str:
        """The line of a run that went well.

        Raises:
            Failure: rows are lost or doubled that must not be.
        """
        verdict = self.ray.get(self.store.verdict.remote())
        text = " ".join(f"{name}={value}" for name, value in verdict.items())
        may_lose = self.options.ledger == "memory" and self.kills["reader"] > 0
        is_committed = self.options.delivery == "committed"
        if verdict["duplicates"]:
            raise Failure(f"rows came twice under two names: {text}")
        if verdict["lost"] and not (may_lose and is_committed):
            raise Failure(f"rows are lost: {text}")
        # Without a ledger a reader cannot know what a killed one has handed out of its last epoch.
        if is_committed and verdict["other_attempts"] and not may_lose:
            raise Failure(f"a batch was handed out from two attempts: {text}")
        if is_committed and verdict["told"] != verdict["again"]:
            raise Failure(f"a batch came again, and its marks do not say that it may: {text}")
        kills = sum(self.kills.values())
        by_kind = " ".join(f"{name}s={count}" for name, count in self.kills.items())
        return f"OK {text} kills={kills} {by_kind} starts={self.starts}"


def _processes(text: str) -> list[int]:
    found: list[int] = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with contextlib.suppress(OSError):
                if text.encode() in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
    return found


def _is_alive(pid: int) -> bool:
    """Whether it runs: neither gone nor a zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    return False


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--delivery", choices=("committed", "eager"), default="committed")
    parser.add_argument("--ledger", choices=("memory", "file", "actor"), default="file")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    options = parser.parse_args()
    say(f"seed={options.seed}")
    _environment()
    folder = Path(tempfile.mkdtemp(prefix="rs-chaos-"))
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    directory = tempfile.mkdtemp(prefix="rstream-chaos-", dir=memory)
    os.environ.update(RSTREAM_DIR=directory, RSTREAM_CHAOS=str(folder))
    chaos = Chaos(options, folder, directory)
    try:
        return _run(chaos)
    except Failure as failure:
        say(f"FAILED seed={options.seed}: {failure}")
        logs = sorted(
            (folder / "spark-home" / "work").glob("*/*/stderr"), key=lambda log: log.stat().st_mtime
        )
        for log in (folder / "program.log", *logs[-2:]):  # those of the executors of now
            print(f"==== {log}\n{log.read_text(errors='replace')[-LOG_SHOWN:]}")
        return 1
    finally:
        chaos.end_program()
        for pid in chaos.drivers():
            _kill(pid)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)


def _run(chaos: Chaos) -> int:
    import ray

    with contextlib.ExitStack() as stack:
        ray.init(
            num_cpus=2, include_dashboard=False, _temp_dir=str(chaos.folder / "ray"),
            object_store_memory=200_000_000, logging_level="ERROR", log_to_driver=False,
        )  # fmt: skip
        stack.callback(ray.shutdown)
        chaos.write_files()
        chaos.start_ray(ray)
        chaos.run()
        say(chaos.judge())
    return 0


if __name__ == "__main__":
    sys.exit(main())
