"""Judges the passes: sums must be exact, rates must follow the slow phase, delays stay short."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from examples.flights import data, picture
from examples.flights.monitor import say, spark_rows_at
from examples.flights.passes import SLOWED, STEADY_S, Outcome
from examples.flights.tracks import Track, quantile

#: Seconds of each phase that do not count, and least seconds that count.
SETTLE_S, PHASE_MIN_S = 2.0, 8.0
#: With the law a slowed actor's median delay is at most this share of that with the window alone.
DELAY_SHARE = 0.5

Sums = Mapping[tuple[str, int], Sequence[int]]


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


def compare(expected: Sums, got: Sums) -> list[str]:
    """A line for every aggregate that differs."""
    return [
        f"{key}: Spark says {expected.get(key)}, the actors say {got.get(key)}"
        for key in sorted(set(expected) | set(got))
        if list(expected.get(key, ())) != list(got.get(key, ()))
    ]


def judge(
    work: Path,
    expected: Sums,
    law: Outcome,
    window: Outcome,
    committed: Outcome,
    factor: float,
) -> int:
    """Draw the picture, check everything and print the verdict; returns the exit code.

    Args:
        expected: Spark's batch answer.
        factor: how much slower the slowed actors were.
    """
    problems: list[str] = []
    for outcome in (law, window):
        if outcome.slow_end - outcome.slow_begin < SETTLE_S + PHASE_MIN_S:
            raise SystemExit(
                f"demo: FAILED the rows of the pass with the {outcome.plan.name} ended before its "
                "slow phase: the machine was much faster than planned; try a larger --cost-us"
            )
        problems += judge_sums(expected, outcome)
    problems += judge_sums(expected, committed) + judge_replay(committed)
    problems += judge_phases(law)
    delays = [delays_of(law), delays_of(window)]
    for line in table(law.monitor.tracks, delays, factor):
        say(line)
    say(
        "rows/s in the slow phase: "
        + ", ".join(f"{slow_rate(o):.0f} with the {o.plan.name}" for o in (law, window))
    )
    problems += judge_delays(*delays)
    draw(work / "flow.png", law, window, factor)
    flights = sum(values[0] for values in law.monitor.sums.values())
    if flights != data.FLIGHTS:
        problems.append(f"{flights} flights of {data.FLIGHTS} came")
    return conclude(problems, expected, law)


def judge_part(expected: Sums, committed: Outcome) -> int:
    """Check the sums of a short run and its replay, print the verdict; returns the exit code."""
    problems = judge_sums(expected, committed) + judge_replay(committed)
    return conclude(problems, expected, committed)


def conclude(problems: Sequence[str], expected: Sums, outcome: Outcome) -> int:
    """Print the first problems, or what was right; returns the exit code."""
    for problem in problems[:10]:
        say(f"FAILED {problem}")
    flights = sum(values[0] for values in outcome.monitor.sums.values())
    if problems:
        say(f"FAILED flights={flights}")
        return 1
    no_weather = sum(values[4] for values in outcome.monitor.sums.values())
    repeated = sum(count["repeated"] for count in outcome.counts)
    say(
        f"OK flights={flights} groups={len(expected)} without_weather={no_weather} "
        f"repeated={repeated} actors={len(outcome.counts)} "
        f"seconds={outcome.last - outcome.monitor.started_s:.0f}"
    )
    return 0


def judge_sums(expected: Sums, outcome: Outcome) -> list[str]:
    """What is wrong with the sums of a pass, or with its actors."""
    part = {key: sums for key, sums in expected.items() if key[1] in outcome.plan.months}
    problems = compare(part, outcome.monitor.sums)
    problems += [count["error"] for count in outcome.counts if count["error"]]
    if not problems:
        flights = sum(sums[0] for sums in part.values())
        say(f"{outcome.plan.name}: {flights} flights, all sums as in Spark's batch answer")
    return [f"pass with the {outcome.plan.name}: {problem}" for problem in problems]


def judge_replay(outcome: Outcome) -> list[str]:
    """What is wrong with a pass in which Spark replayed a micro-batch."""
    repeated = sum(count["repeated_epochs"] for count in outcome.counts)
    say(f"{outcome.plan.name}: a micro-batch came again, {repeated} times recognised by a reader")
    return [] if repeated else [f"pass with the {outcome.plan.name}: no replay was recognised"]


def judge_phases(outcome: Outcome) -> list[str]:
    """Print the rates of the phases, by the actors and by Spark; returns what is wrong."""
    bounds = (outcome.monitor.started_s, outcome.slow_begin, outcome.slow_end, outcome.last)
    epoch_s = time.time() - time.monotonic()
    by_actors = phase_rates(outcome.monitor.rows_at, *bounds)
    by_spark = phase_rates(lambda at: spark_rows_at(outcome.progress, at + epoch_s), *bounds)
    return [
        *judge_rates("delivered to the actors", by_actors),
        *judge_rates("by Spark's progress reports", by_spark),
    ]


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


def slow_rate(outcome: Outcome) -> float:
    """Rows per second in the slow phase, without its first seconds."""
    begin, end = outcome.slow_begin + SETTLE_S, outcome.slow_end
    return (outcome.monitor.rows_at(end) - outcome.monitor.rows_at(begin)) / (end - begin)


def delays_of(outcome: Outcome) -> list[list[float]]:
    """For each actor the sorted delays in seconds of the messages that it took in the slow phase.

    The first seconds do not count: what was taken then was sent before.
    """
    begin, end = outcome.slow_begin + SETTLE_S, outcome.slow_end
    return [track.delays(begin, end) for track in outcome.monitor.tracks]


def table(
    tracks: Sequence[Track], delays: Sequence[Sequence[Sequence[float]]], factor: float
) -> list[str]:
    """The lines of the table: for each actor its medium, rows and delays in both passes.

    Args:
        delays: sorted, in seconds, of each actor: with the law, and with the window alone.
    """
    lines = [
        "queueing delay in the slow phase, from send() to the actor: median (99 %) in ms",
        f"{'actor':<20}{'medium':<15}{'rows':>7}{'adaptive law':>16}{'window alone':>16}",
    ]
    for index, track in enumerate(tracks):
        name = f"{index}, {factor:g} times slower" if index in SLOWED else str(index)
        texts = [
            f"{1000 * quantile(of_pass[index], 0.5):.0f} "
            f"({1000 * quantile(of_pass[index], 0.99):.0f})"
            for of_pass in delays
        ]
        lines.append(f"{name:<20}{track.medium:<15}{track.rows[-1]:>7}{texts[0]:>16}{texts[1]:>16}")
    return lines


def judge_delays(law: Sequence[Sequence[float]], window: Sequence[Sequence[float]]) -> list[str]:
    """What is wrong with the median delays of the slowed actors, with the law and without."""
    problems: list[str] = []
    for index in SLOWED:
        delay, bound = quantile(law[index], 0.5), DELAY_SHARE * quantile(window[index], 0.5)
        if not delay <= bound:  # also without any message
            problems.append(
                f"actor {index}: its median delay with the adaptive law is {1000 * delay:.0f} ms, "
                f"it must be at most {1000 * bound:.0f} ms, {DELAY_SHARE:.0%} of that without"
            )
    return problems


def draw(path: Path, law: Outcome, window: Outcome, factor: float) -> None:
    """Draw both passes, and say where the picture is."""
    labels = [
        f"actor {index}: {track.medium}" + (", slowed" if index in SLOWED else "")
        for index, track in enumerate(law.monitor.tracks)
    ]
    columns = [
        picture.Column(title, outcome.monitor.tracks, (outcome.slow_begin, outcome.slow_end))
        for title, outcome in (
            ("with the adaptive law (default)", law),
            ("with the window alone (256 KiB)", window),
        )
    ]
    picture.draw(path, columns, labels, f"two actors {factor:g} times slower")
    say(f"picture: {path}")
