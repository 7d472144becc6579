"""Spark to a Ray actor, beside what people write by hand: paired runs, medians.

Run: make bench-cluster     (or: python -m tests.bench.cluster [--runs 7] [--rows 1000000])

Each row of the table is a piece of work that ours and the reference do in turns. Times are seconds;
the ratio is the median of the pairs' ratios, ours to the reference. The result goes to
build/bench/cluster.json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.conftest import _environment

RESULT = Path("build/bench/cluster.json")
COLUMNS = (
    "id AS a", "id * 2 AS b", "rand(1) AS c", "rand(2) AS d", "cast(id % 1000 AS int) AS e",
    "concat('row-', cast(id % 100000 AS string)) AS f",
)  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A piece of work: how ours and the reference do it, and what the ratio must be."""

    name: str
    ours: Callable[[], Any]
    reference: Callable[[], Any]
    target: float


def timed(work: Callable[[], Any]) -> float:
    began_s = time.monotonic()
    work()
    return time.monotonic() - began_s


def measure(pair: Pair, runs: int) -> dict[str, Any]:
    """Run both in turns, each first in every other pair, after one of each that does not count."""
    pair.ours(), pair.reference()
    ours, references = [], []
    for number in range(runs):
        if number % 2:
            ours.append(timed(pair.ours))
            references.append(timed(pair.reference))
        else:
            references.append(timed(pair.reference))
            ours.append(timed(pair.ours))
    ratio = statistics.median(one / other for one, other in zip(ours, references, strict=True))
    return {
        "name": pair.name,
        "ours": round(statistics.median(ours), 3),
        "reference": round(statistics.median(references), 3),
        "ratio": round(ratio, 3),
        "target": pair.target,
        "met": ratio <= pair.target,
    }


class Bench:
    """Spark, Ray, cached frames, and the actors."""

    def __init__(self, ray: Any, spark: Any, folder: Path, rows: int) -> None:
        import rstream.spark
        from rstream.spark._frames import _arrow_schema
        from tests.bench import cluster_ends as ends

        self.ray, self.spark, self.folder, self.rows = ray, spark, folder, rows
        self.large = self.frame(4 * rows)
        self.small = self.frame(rows)
        self.schema = _arrow_schema(self.small).serialize().to_pybytes()
        rstream.spark.register(spark)
        spark.dataSource.register(ends.Drain)
        remote = ray.remote(num_cpus=0)
        self.stream = remote(ends.StreamAdder).remote()
        self.socket = remote(ends.SocketAdder).remote(self.schema)
        self.table = remote(ends.TableAdder).remote()
        self.handle = ray.get(self.stream.handle.remote())
        self.port = ray.get(self.socket.port.remote())
        self.files = folder / "in"
        self.small.repartition(4).write.parquet(str(self.files))
        self.queries = 0

    def frame(self, rows: int) -> Any:
        frame = self.spark.range(0, rows, numPartitions=2).selectExpr(*COLUMNS).cache()
        frame.count()
        return frame

    def check(self, actor: Any, rows: int) -> None:
        assert self.ray.get(actor.take.remote(rows)) == rows * (rows - 1) // 2

    # ---- batches ----

    def send(self, frame: Any, rows: int) -> None:
        import rstream.spark

        rstream.spark.send(frame, self.handle)
        self.check(self.stream, rows)

    def send_eager(self, frame: Any, rows: int) -> None:
        import rstream.spark

        rstream.spark.send(frame, self.handle, delivery="eager")
        self.check(self.stream, rows)

    def by_socket(self, frame: Any, rows: int) -> None:
        import functools

        from pyspark.core.rdd import RDD
        from pyspark.serializers import NoOpSerializer

        from tests.bench.cluster_ends import send_by_socket

        rdd = RDD(
            frame._jdf.toArrowBatchRdd().toJavaRDD(), self.spark.sparkContext, NoOpSerializer()
        )
        rdd.mapPartitions(functools.partial(send_by_socket, self.port)).collect()
        self.check(self.socket, rows)

    def by_object_store(self, frame: Any, rows: int) -> None:
        reference = self.ray.put(frame.toArrow())
        total = self.ray.get(self.table.add_table.remote(reference))
        assert total == rows * (rows - 1) // 2

    # ---- streams, a micro-batch for each of four files ----

    def run_query(self, write: Callable[[Any], Any]) -> None:
        self.queries += 1
        stream = (
            self.spark.readStream.schema(self.small.schema)
            .option("maxFilesPerTrigger", "1")
            .parquet(str(self.files))
        )
        writer = write(stream.writeStream).option(
            "checkpointLocation", str(self.folder / f"checkpoint-{self.queries}")
        )
        writer.trigger(availableNow=True).start().awaitTermination()

    def stream_format(self) -> None:
        self.run_query(
            lambda writer: writer.format("rstream").option("handles", self.handle.to_text())
        )
        self.check(self.stream, self.rows)

    def stream_drain(self) -> None:
        self.run_query(lambda writer: writer.format("drain"))

    def stream_foreach(self) -> None:
        import rstream.spark

        self.run_query(lambda writer: writer.foreachBatch(rstream.spark.foreach_batch(self.handle)))
        self.check(self.stream, self.rows)

    def stream_by_hand(self) -> None:
        totals: list[int] = []

        def put(frame: Any, epoch: int) -> None:
            reference = self.ray.put(frame.toArrow())
            totals.append(self.ray.get(self.table.add_table.remote(reference)))

        self.run_query(lambda writer: writer.foreachBatch(put))
        assert sum(totals) == self.rows * (self.rows - 1) // 2

    def pairs(self) -> list[Pair]:
        small, large, rows = self.small, self.large, self.rows
        return [
            Pair(
                f"Spark batch, {4 * rows} rows: send / toArrowBatchRdd over plain TCP",
                lambda: self.send(large, 4 * rows),
                lambda: self.by_socket(large, 4 * rows),
                1.1,
            ),
            Pair(
                f"Spark batch, {4 * rows} rows: send, eager / toArrowBatchRdd over plain TCP",
                lambda: self.send_eager(large, 4 * rows),
                lambda: self.by_socket(large, 4 * rows),
                1.1,
            ),
            Pair(
                f"Spark batch, {rows} rows: send / toArrow and ray.put",
                lambda: self.send(small, rows),
                lambda: self.by_object_store(small, rows),
                1.0,
            ),
            Pair(
                f"Spark stream, {rows} rows: format rstream / a writer that drains",
                self.stream_format,
                self.stream_drain,
                1.15,
            ),
            Pair(
                f"Spark stream, {rows} rows: foreach_batch / toArrow and ray.put",
                self.stream_foreach,
                self.stream_by_hand,
                1.0,
            ),
        ]


def run(folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    _environment()
    import os

    os.environ["RSTREAM_DIR"] = str(options.dir)
    import ray
    from pyspark.sql import SparkSession

    import rstream

    with contextlib.ExitStack() as stack:
        stack.enter_context(rstream.Driver(dir=str(options.dir)))
        ray.init(
            num_cpus=2, include_dashboard=False, _temp_dir=str(folder / "ray"),
            object_store_memory=1_000_000_000, logging_level="ERROR",
        )  # fmt: skip
        stack.callback(ray.shutdown)
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.local.dir", str(folder))
            .config("spark.driver.memory", "2g")
            .config("spark.driver.maxResultSize", "2g")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        stack.callback(spark.stop)
        bench = Bench(ray, spark, folder, options.rows)
        results = []
        for pair in bench.pairs():
            if options.only and options.only not in pair.name:
                continue
            results.append(measure(pair, options.runs))
            print(json.dumps(results[-1]), flush=True)
        return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cluster", description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="pairs of each row")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="rows whose name has this text")
    options = parser.parse_args()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="rs-bench-"))
    options.dir = tempfile.mkdtemp(prefix="rstream-bench-", dir=memory)
    try:
        results = run(folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(options.dir, ignore_errors=True)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2) + "\n")
    return 0 if all(result["met"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
