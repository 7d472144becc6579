"""Spark -> Ray actor -> Ray actor -> RxPY, whose last consumer is slowed: does Spark follow?

Run: python -m tests.chain [--medium ipc|udp] [--seconds 12] [--overload 12]

Prints one line of JSON: Spark's rate from two seconds after the consumer was slowed, as a share of
what the consumer takes; the queue of each hop, which is what was sent and not yet taken; and the
resident memory of both actors and of this program, in the first and in the last tenth of the slow
time. It fails when the rate is off by more than a fifth, when a queue exceeds its bound (the window
and one message, over UDP the windows of both ends), or when a process has grown by a tenth.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import rstream
import rstream.ray
import rstream.spark
from rstream import metrics
from rstream import rx as rrx

ROWS_PER_MESSAGE = 50
#: One micro-batch outlasts the slow phase: Spark plans for a second between two.
ROWS_PER_BATCH = 400_000
TERM_LENGTH = 1 << 17  # so a window of 64 KiB
FAST_S = 20e-6  # of a row at the last consumer, before it is slowed
STEADY_S, SETTLED_S = 6.0, 2.0
GROWTH = 0.1
MESSAGE_BYTES_MOST = 4096
FOLLOWS = 0.2
SAMPLE_S = 0.05


class Hop:
    """An actor that hands on what it reads."""

    def __init__(self, name: str, directory: str, to: Any) -> None:
        self.end = rstream.ray.reader(
            name, codec="arrow", dir=directory, term_length=TERM_LENGTH, host="127.0.0.1"
        )
        self.out = to.publisher(driver_dir=directory)
        self.end.start(self.out.send)

    def handle(self) -> Any:
        return self.end.handle

    def medium(self) -> str:
        return self.out.channel

    def process(self) -> int:
        return os.getpid()


class Last:
    """The last consumer: an RxPY pipeline whose cost of a row can be changed."""

    def __init__(self, end: Any) -> None:
        self.cost_s = FAST_S
        self.taken: list[tuple[float, int]] = []
        self.rows = 0
        rrx.from_endpoint(end).subscribe(on_next=self._take, on_error=print)

    def _take(self, batch: Any) -> None:
        time.sleep(batch.num_rows * self.cost_s)
        self.rows += batch.num_rows
        self.taken.append((time.monotonic(), self.rows))


class Watch(threading.Thread):
    """Samples how many bytes each hop has sent, and how many of them wait for its reader; and the
    resident memory of processes.
    """

    def __init__(
        self, directory: str, streams: dict[str, int], processes: dict[str, int], every_s: float
    ) -> None:
        super().__init__(daemon=True)
        self.every_s = every_s
        self.directory, self.streams, self.processes = directory, streams, processes
        self.memory: list[tuple[float, dict[str, int]]] = []
        self.samples: list[tuple[float, dict[str, tuple[int, int]]]] = []
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(self.every_s):
            row: dict[str, tuple[int, int]] = {}
            for state in metrics.publications(self.directory):
                for name, stream_id in self.streams.items():
                    if state.stream_id == stream_id and state.slowest is not None:
                        row[name] = (state.position, state.position - state.slowest.position)
            now_s = time.monotonic()
            self.samples.append((now_s, row))
            self.memory.append((now_s, {n: resident(pid) for n, pid in self.processes.items()}))

    def rate(self, name: str, first_s: float, last_s: float) -> float:
        """Bytes per second that the hop sent between two times."""
        seen = [
            (at_s, row[name][0])
            for at_s, row in self.samples
            if first_s <= at_s <= last_s and name in row
        ]
        (from_s, from_bytes), (to_s, to_bytes) = seen[0], seen[-1]
        return (to_bytes - from_bytes) / (to_s - from_s)

    def memory_of(self, name: str, first_s: float, last_s: float) -> list[float]:
        """The median resident memory of the first and of the last tenth of the time, in MiB."""
        tenth_s = (last_s - first_s) / 10
        parts = [(first_s, first_s + tenth_s), (last_s - tenth_s, last_s)]
        return [
            statistics.median(row[name] for at_s, row in self.memory if from_s <= at_s <= to_s)
            / (1 << 20)
            for from_s, to_s in parts
        ]

    def queues(self, name: str, first_s: float) -> list[int]:
        """Bytes that waited at the hop, in order of size."""
        return sorted(row[name][1] for at_s, row in self.samples if at_s >= first_s and name in row)


def resident(pid: int) -> int:
    """Resident bytes of a process."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def start_spark(handle: Any, work: Path, token: str) -> tuple[Any, Any]:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.local.dir", str(work / "spark"))
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-XX:-UsePerfData")
        .config("spark.executorEnv.RSTREAM_HOST_TOKEN", token)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    rstream.spark.register(spark)
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", str(ROWS_PER_BATCH))
        .option("numPartitions", "1")
        .load()
    )
    query = (
        rows.select("value")
        .writeStream.format("rstream")
        .option("handles", json.dumps([handle.to_text()]))
        .option("rowsPerMessage", str(ROWS_PER_MESSAGE))
        .option("delivery", "eager")  # committed rows are handed out after the micro-batch
        .option("checkpointLocation", str(work / "checkpoint"))
        .start()
    )
    return spark, query


def judge(medium: str, watch: Watch, last: Last, slowed_s: float, end_s: float) -> dict[str, Any]:
    """The figures of a run."""
    from_s, to_s = slowed_s + SETTLED_S, end_s
    taken = [(at_s, rows) for at_s, rows in last.taken if from_s <= at_s <= to_s]
    rows_per_s = (taken[-1][1] - taken[0][1]) / (taken[-1][0] - taken[0][0])
    sent, queued = watch.samples[-1][1]["last"]
    bytes_per_row = (sent - queued) / last.rows
    queues = {name: watch.queues(name, from_s) for name in watch.streams}
    return {
        "medium": medium,
        "consumer_rows_per_s": round(rows_per_s),
        "spark_over_consumer": round(
            watch.rate("spark", from_s, to_s) / (rows_per_s * bytes_per_row), 3
        ),
        "queue_bytes_median": {name: seen[len(seen) // 2] for name, seen in queues.items()},
        "queue_bytes_most": {name: seen[-1] for name, seen in queues.items()},
        "memory_mib": {
            name: [round(mib, 1) for mib in watch.memory_of(name, from_s, to_s)]
            for name in watch.processes
        },
        "bound_bytes": TERM_LENGTH // 2 * (2 if medium == "udp" else 1) + MESSAGE_BYTES_MOST,
    }


def run(
    medium: str, directory: str, work: Path, *, seconds: float, overload: float
) -> dict[str, Any]:
    """Run the chain once.

    Args:
        seconds: how long the consumer is slow.
        overload: how many times as fast as the slowed consumer it was before.
    """
    import ray

    is_udp = medium == "udp"
    os.environ["RSTREAM_HOST_TOKEN"] = "chain"

    def actor(name: str, to: Any) -> Any:
        token = f"chain-{name}" if is_udp else "chain"
        remote = ray.remote(num_cpus=0, runtime_env={"env_vars": {"RSTREAM_HOST_TOKEN": token}})(
            Hop
        )
        return remote.remote(name, directory, to)

    with (
        rstream.Driver(dir=directory),
        contextlib.closing(
            rstream.ray.reader(
                "last", codec="arrow", dir=directory, term_length=TERM_LENGTH, host="127.0.0.1"
            )
        ) as end,
    ):
        last = Last(end)
        second = actor("second", end.handle)
        second_handle = ray.get(second.handle.remote())
        first = actor("first", second_handle)
        first_handle = ray.get(first.handle.remote())
        streams = {
            "spark": first_handle.stream_id,
            "first": second_handle.stream_id,
            "last": end.handle.stream_id,
        }
        processes = {
            "first": ray.get(first.process.remote()),
            "second": ray.get(second.process.remote()),
            "last": os.getpid(),
        }
        # Its own samples must not look like growth.
        watch = Watch(directory, streams, processes, max(SAMPLE_S, seconds / 1000))
        spark, query = start_spark(first_handle, work, "chain-spark" if is_udp else "chain")
        watch.start()
        until_s = time.monotonic() + 60
        while last.rows == 0 and time.monotonic() < until_s:
            time.sleep(0.1)
        time.sleep(STEADY_S)
        last.cost_s = FAST_S * overload
        slowed_s = time.monotonic()
        time.sleep(seconds)
        watch.stopped.set()
        figures = judge(medium, watch, last, slowed_s, slowed_s + seconds)
        last.cost_s = 0.0
        query.stop()
        spark.stop()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chain", description=__doc__)
    parser.add_argument("--medium", choices=("ipc", "udp"), default="ipc")
    parser.add_argument("--seconds", type=float, default=12.0, help="how long it is slow")
    parser.add_argument("--overload", type=float, default=12.0)
    options = parser.parse_args()
    os.environ.update(
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
        PYTHONPATH=str(Path(__file__).resolve().parents[1]),
        SPARK_LOCAL_IP="127.0.0.1",
        RAY_AUTH_MODE="disabled",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
    )
    import ray

    directory = tempfile.mkdtemp(prefix="rs-chain-", dir="/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="rs-chain-"))
    os.environ["RSTREAM_DIR"] = directory
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _temp_dir=str(work / "ray"),
        object_store_memory=100_000_000,
        logging_level="ERROR",
    )
    try:
        figures = run(
            options.medium,
            directory,
            work,
            seconds=options.seconds,
            overload=options.overload,
        )
    finally:
        ray.shutdown()
        shutil.rmtree(directory, ignore_errors=True)
        shutil.rmtree(work, ignore_errors=True)
    print(json.dumps(figures))
    follows = abs(figures["spark_over_consumer"] - 1) <= FOLLOWS
    bounded = max(figures["queue_bytes_most"].values()) <= figures["bound_bytes"]
    flat = all(to <= from_ * (1 + GROWTH) for from_, to in figures["memory_mib"].values())
    print("chain: OK" if follows and bounded and flat else "chain: FAILED")
    return 0 if follows and bounded and flat else 1


if __name__ == "__main__":
    sys.exit(main())
