"""Judges the run: every sum must be exact, and the rates must follow the slow phase."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.flights import data, picture
from examples.flights.monitor import Monitor, say, spark_rows_at

#: The first phase ends when the rate is steady, after BEFORE_S to BEFORE_MAX_S seconds. Spark's
#: first batches are slow, more so on a busy machine.
BEFORE_S, BEFORE_MAX_S = 12.0, 40.0
#: Steady: the slower of two successive spans of STEADY_S has this share of the faster one's rate.
STEADY_S, STEADY_SHARE = 6.0, 0.75
#: Seconds of each phase that do not count, and least seconds that count.
SETTLE_S, PHASE_MIN_S = 2.0, 8.0


@dataclass(frozen=True)
class Outcome:
    """The facts to judge; times are monotonic seconds."""

    expected: dict[tuple[str, int], tuple[int, ...]]  # Spark's batch answer
    counts: list[dict[str, Any]]  # of the actors
    progress: list[dict[str, Any]]  # Spark's progress reports
    slow_begin: float
    slow_end: float
    last: float


def is_steady(rows_at: Callable[[float], float], start: float, now: float) -> bool:
    """Whether the last two spans of STEADY_S had about the same rate, or BEFORE_MAX_S are over."""
    if now - start < max(BEFORE_S, 2 * STEADY_S):
        return False
    one = rows_at(now - STEADY_S) - rows_at(now - 2 * STEADY_S)
    other = rows_at(now) - rows_at(now - STEADY_S)
    return min(one, other) >= STEADY_SHARE * max(one, other) > 0 or now - start >= BEFORE_MAX_S


def phase_rates(
    rows_at: Callable[[float], float], start: float, begin: float, end: float, last: float
) -> list[float]:
    """Rows per second before, during and after the slow phase, each without its first seconds."""
    spans = ((max(start, begin - 2 * STEADY_S - SETTLE_S), begin), (begin, end), (end, last))
    rates = []
    for first, final in spans:
        settled = first + SETTLE_S
        if final - settled < PHASE_MIN_S:
            raise SystemExit(
                f"demo: FAILED a phase lasted {final - settled:.1f} s once settled, "
                f"at least {PHASE_MIN_S} s are needed: the machine was much faster or slower than "
                "planned; try another --cost-us"
            )
        rates.append((rows_at(final) - rows_at(settled)) / (final - settled))
    return rates


def compare(
    expected: dict[tuple[str, int], tuple[int, ...]], got: dict[tuple[str, int], list[int]]
) -> list[str]:
    """A line for every aggregate that differs."""
    return [
        f"{key}: Spark says {expected.get(key)}, the actors say {got.get(key)}"
        for key in sorted(set(expected) | set(got))
        if list(expected.get(key, ())) != got.get(key)
    ]


def judge(work: Path, monitor: Monitor, outcome: Outcome, *, slowed: int, factor: float) -> int:
    """Draw the picture, check everything and print the verdict; returns the exit code."""
    start = monitor.started_s
    begin, end, last = (at - start for at in (outcome.slow_begin, outcome.slow_end, outcome.last))
    for track in monitor.tracks:
        track.at_s = [at - start for at in track.at_s]
        track.fill_at_s = [at - start for at in track.fill_at_s]
    picture.draw(work / "flow.png", monitor.tracks, (begin, end), slowed, factor)
    rates = phase_rates(monitor.rows_at, 0.0, begin, end, last)
    offset = time.time() - time.monotonic() + start
    spark_rates = phase_rates(
        lambda at: spark_rows_at(outcome.progress, at + offset), 0.0, begin, end, last
    )
    problems = compare(outcome.expected, monitor.sums)
    problems += [count["error"] for count in outcome.counts if count["error"]]
    if monitor.error is not None:
        problems.append(f"result stream: {monitor.error!r}")
    problems += judge_rates("delivered to the actors", rates)
    problems += judge_rates("by Spark's progress reports", spark_rates)
    flights = sum(values[0] for values in monitor.sums.values())
    for problem in problems[:10]:
        say(f"FAILED {problem}")
    if problems or flights != data.FLIGHTS:
        say(f"FAILED flights={flights}")
        return 1
    say(f"picture: {work / 'flow.png'}")
    no_weather = sum(values[4] for values in monitor.sums.values())
    repeated = sum(count["repeated"] for count in outcome.counts)
    say(
        f"OK flights={flights} groups={len(outcome.expected)} without_weather={no_weather} "
        f"repeated={repeated} actors={len(monitor.tracks)} seconds={last:.0f}"
    )
    return 0


def judge_rates(name: str, rates: list[float]) -> list[str]:
    """Print the rates of the three phases; returns what is wrong with them."""
    before, during, after = rates
    say(
        f"{name}: before {before:.0f}, during {during:.0f} ({during / before:.0%}), "
        f"after {after:.0f} rows/s ({after / before:.0%})"
    )
    problems: list[str] = []
    if during > 0.5 * before:
        problems.append(f"rate {name} during the slow phase is above 50 % of before")
    if after < 0.8 * before:
        problems.append(f"rate {name} after the slow phase is below 80 % of before")
    return problems
