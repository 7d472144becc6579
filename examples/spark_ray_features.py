"""Goal: Spark computes features as a stream, Ray actors score them with a model, scores come back.

Rows go as Arrow batches from Spark's tasks to the actors, each row once, and Spark waits for slow
actors. Scores go from the actors to this program, which counts them.

Needs: pip install ".[spark,ray,arrow,numpy]", and Java
Run: python examples/spark_ray_features.py
"""

import json
import os
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import ray
from pyspark.sql import SparkSession

import rstream

ROWS, FILES, ACTORS = 20_000, 4, 2
MODEL = np.array([0.5, -2.0, 0.25])
FEATURES = ("x", "x % 7 AS lag", "x * x % 101 AS load")  # what a real pipeline joins and cleans


class Model:
    """Scores batches of features; writes scores where it is told to."""

    def __init__(self, results: rstream.ray.StreamHandle) -> None:
        self.end = rstream.ray.committed_reader()
        self.results = results.publisher()
        self.end.start(self.on_batch)

    def handle(self) -> rstream.ray.StreamHandle:
        return self.end.handle

    def on_batch(self, batch: pa.RecordBatch) -> None:
        features = np.column_stack([batch.column(name) for name in ("x", "lag", "load")])
        self.results.send(pa.RecordBatch.from_pydict({"score": features @ MODEL}))

    def finish(self) -> None:
        self.end.finish()
        self.results.close()


def main() -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    rstream.spark.register(spark)
    scores: list[pa.RecordBatch] = []
    with tempfile.TemporaryDirectory() as folder, rstream.ray.reader(codec="arrow") as results:
        results.start(scores.append)
        actors = [ray.remote(num_cpus=0)(Model).remote(results.handle) for _ in range(ACTORS)]
        handles = ray.get([actor.handle.remote() for actor in actors])
        spark.range(ROWS).toDF("x").repartition(FILES).write.parquet(f"{folder}/in")
        started_s = time.monotonic()
        query = (
            spark.readStream.schema("x LONG")
            .option("maxFilesPerTrigger", 2)
            .parquet(f"{folder}/in")
            .selectExpr(*FEATURES)
            .writeStream.format("rstream")
            .option("handles", json.dumps([handle.to_text() for handle in handles]))
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        ray.get([actor.finish.remote() for actor in actors])
        results.finish()
        took_s = time.monotonic() - started_s
    got = np.concatenate([batch.column("score").to_numpy() for batch in scores])
    x = np.arange(ROWS)
    expected = np.column_stack([x, x % 7, x * x % 101]) @ MODEL
    print(f"{len(got)} of {ROWS} rows scored by {ACTORS} actors in {took_s:.1f} s")
    print("the same as computed here:", bool(np.allclose(np.sort(got), np.sort(expected))))
    ray.shutdown()
    spark.stop()


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    sys.exit(main())
