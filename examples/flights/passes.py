"""One pass: flights flow from Spark to three new actors and back, and two are slowed."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.flights import tables as flights
from examples.flights.monitor import Monitor, say
from rstream import rate

ACTORS = 3
#: The actor on the other host.
FAR = 2
#: Those that are slowed: one in shared memory, and one over UDP.
SLOWED = (1, FAR)
SLOWED_NAMES = " and ".join(map(str, SLOWED))
TERM_LENGTH = 1 << 19  # so a window of 256 KiB
#: Seconds of the slow phase.
DURING_S = 14.0
#: Steady: the slower of two successive spans of STEADY_S has this share of the faster one's rate.
STEADY_S, STEADY_SHARE = 6.0, 0.75
#: By then the slow phase begins even if the rate is not steady.
BEFORE_MAX_S = 40.0
#: The actor of each carrier. Each actor gets about a third of the rows.
CARRIERS = {
    "UA": 0, "AA": 0, "MQ": 0, "EV": 1, "DL": 1, "VX": 1, "FL": 1, "AS": 1,
    "B6": 2, "US": 2, "9E": 2, "WN": 2, "F9": 2, "YV": 2, "HA": 2, "OO": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What a pass does.

    Attributes:
        name: for people.
        law: the law of rate of Spark's publishers.
        months: the flights of which months flow.
        before_s: seconds before the slow phase, at least.
        is_steady: the slow phase waits for a steady rate.
        delivery: eager: rows reach the actors as Spark sends them, so their delays and rates
            show the law. committed: with their micro-batch, each once.
    """

    name: str
    law: rate.RateLimit
    months: tuple[int, ...]
    before_s: float
    is_steady: bool
    delivery: str = "eager"


#: The first pass. Spark's first batches are slow, which spoils rates but not delays; so it comes
#: before the other. These are the first months of the table.
WINDOW = Plan("window alone", rate.Unlimited(), (1, 10, 11), 4.0, False)
LAW = Plan("adaptive law", rate.Default(), tuple(range(1, 13)), 2 * STEADY_S, True)
#: The last pass: a row costs nothing, no actor is slowed, and Spark's last commits are lost.
COMMITTED = Plan("committed rows", rate.Default(), tuple(range(1, 13)), 0.0, False, "committed")


@dataclass(frozen=True)
class Stage:
    """Where the passes run.

    Attributes:
        folder: of the files with the flights.
        work: for checkpoints.
        driver_dir, far_dir: driver directories of this host and of the other one.
        cost_s: seconds that a row costs at its actor.
        factor: how much slower two actors get.
    """

    ray: Any
    spark: Any
    tables: Path
    folder: Path
    work: Path
    driver_dir: str
    far_dir: str
    cost_s: float
    factor: float


@dataclass(frozen=True)
class Outcome:
    """The facts of a pass; times are monotonic seconds."""

    plan: Plan
    monitor: Monitor
    counts: list[dict[str, Any]]  # of the actors
    progress: list[dict[str, Any]]  # Spark's progress reports
    slow_begin: float
    slow_end: float
    last: float


def run_pass(stage: Stage, plan: Plan) -> Outcome:
    """Run a pass to its end.

    Raises:
        TimeoutError: an actor does not finish.
        pyspark.errors.StreamingQueryException: Spark's query failed.
    """
    import rstream.ray

    say(f"pass: {plan.name}, {len(plan.months)} months of flights")
    with contextlib.ExitStack() as stack:
        results = rstream.ray.reader("flights-results", host="127.0.0.1")
        stack.callback(results.close)
        cost_s = 0.0 if plan.delivery == "committed" else stage.cost_s
        # A window that follows its reader would do the work of the law.
        window = "128k" if plan is WINDOW else None
        actors = _start_actors(stage, cost_s, window, results.handle)
        stack.callback(lambda: [stage.ray.kill(actor) for actor in actors])
        handles = stage.ray.get([actor.handle.remote() for actor in actors])
        monitor = Monitor(stage.driver_dir, [handle.stream_id for handle in handles])
        stack.callback(monitor.stop)
        results.start(monitor.on_message)
        query = _start_query(stage, plan, handles)

        def slow(factor: float) -> None:
            stage.ray.get([actors[index].set_slowness.remote(factor) for index in SLOWED])

        if plan.delivery == "committed":
            begin = end = time.monotonic()
            query.awaitTermination()
            _forget_commits(_checkpoint(stage, plan))
            query = _start_query(stage, plan, handles)
        else:
            begin, end = _watch(query, monitor, plan, slow, stage.factor)
        last = time.monotonic()
        query.awaitTermination()
        counts = stage.ray.get([actor.finish.remote() for actor in actors])
        results.finish(timeout_s=30)
        progress = [
            json.loads(p.json) if hasattr(p, "json") else dict(p) for p in query.recentProgress
        ]
    return Outcome(plan, monitor, counts, progress, begin, end, last)


def _start_actors(stage: Stage, cost_s: float, window: str | None, results: Any) -> list[Any]:
    """Start the actors; one gets the environment of another host, with a driver of its own."""
    from examples.flights.actors import FlightActor

    here = {"RSTREAM_DIR": stage.driver_dir}
    far = {"RSTREAM_DIR": stage.far_dir, "RSTREAM_HOST_TOKEN": "another host"}
    remote = stage.ray.remote(num_cpus=0)(FlightActor)
    actors = [
        remote.options(runtime_env={"env_vars": far if index == FAR else here}).remote(
            index, TERM_LENGTH, cost_s, window, results
        )
        for index in range(ACTORS)
    ]
    stage.ray.get([actor.start.remote() for actor in actors])
    return actors


def _start_query(stage: Stage, plan: Plan, handles: list[Any]) -> Any:
    from rstream.ray import job_key

    key = job_key()  # Spark's tasks are outside Ray, and one actor is on another host
    assert key is not None
    months = ",".join(f"{month:02}" for month in plan.months)
    stream = flights.stream_of(stage.spark, f"{stage.folder}/*-month-{{{months}}}.csv")
    return (
        flights.read(stage.spark, stage.tables, stream)
        .writeStream.format("rstream")
        .option("handles", json.dumps([handle.to_text() for handle in handles]))
        .option("secretKey", key.secret.hex())
        .option("partitionBy", "carrier")
        .option("partitionMap", json.dumps(CARRIERS))
        .option("delivery", plan.delivery)
        .option("rate", plan.law.to_text())
        .option("checkpointLocation", str(_checkpoint(stage, plan)))
        .trigger(availableNow=True)
        .start()
    )


def _checkpoint(stage: Stage, plan: Plan) -> Path:
    return stage.work / f"checkpoint of {plan.name}"


def _forget_commits(checkpoint: Path) -> None:
    """Lose the last entry of Spark's log, as when its driver dies before it has written it."""
    entries = [path for path in (checkpoint / "commits").iterdir() if path.name.isdecimal()]
    last = max(entries, key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)


def _watch(
    query: Any, monitor: Monitor, plan: Plan, slow: Callable[[float], None], factor: float
) -> tuple[float, float]:
    """Print progress, and begin and end the slow phase; returns its bounds in monotonic seconds."""
    begin = end = 0.0
    phase, printed_s = "before", 0.0
    while query.isActive:
        time.sleep(0.1)
        now = time.monotonic()
        if monitor.started_s == 0.0:
            continue
        if phase == "before" and _is_warm(monitor, plan, now):
            slow(factor)
            begin, phase = now, "slow"
            say(f"actors {SLOWED_NAMES} are {factor:g} times slower from here")
        elif phase == "slow" and now - begin >= DURING_S:
            slow(1.0)
            end, phase = now, "after"
            say(f"actors {SLOWED_NAMES} are as fast as before again")
        if now - printed_s >= 2.0:
            rows = int(monitor.rows_at(now))
            speed = (monitor.rows_at(now) - monitor.rows_at(now - 2)) / 2
            say(f"{now - monitor.started_s:5.1f} s  {rows:7d} rows  {speed:7.0f} rows/s  [{phase}]")
            printed_s = now
    return begin, end or time.monotonic()


def _is_warm(monitor: Monitor, plan: Plan, now: float) -> bool:
    """Whether the slow phase may begin: as the plan says, or BEFORE_MAX_S are over."""
    since = now - monitor.started_s
    if since < plan.before_s:
        return False
    return not plan.is_steady or since >= BEFORE_MAX_S or is_steady(monitor.rows_at, now)


def is_steady(rows_at: Callable[[float], float], now: float) -> bool:
    """Whether the last two spans of STEADY_S had about the same rate."""
    one = rows_at(now - STEADY_S) - rows_at(now - 2 * STEADY_S)
    other = rows_at(now) - rows_at(now - STEADY_S)
    return min(one, other) >= STEADY_SHARE * max(one, other) > 0
