"""The search for the best parameters of a law; it is the same for every law.

* A trial is a random point within the ranges of the law's parameters. The first trial is the law
  with its default values.
* All trials run on one training scenario, on seeds that no experiment uses.
* The score is utilisation - 0.2 * p99 queue / buffer - 20 * overrun share. A law may trade queue
  for utilisation; an overrun counts as a failure.
* In a second scenario a second sender joins the only sender of a receiver. The amount by which
  Jain's index falls short of 0.95 is subtracted, so that a law cannot gain by unfairness.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Final

from rstream.lab.engine import run
from rstream.lab.measure import jain, mean_rate, overrun_share, quantile, slowest, utilisation
from rstream.lab.scenario import BUFFER, MB, Consumer, Image, Law, Scenario, Sender, group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rstream.lab.engine import Run

__all__ = ("SEEDS", "SPACES", "TRIALS", "training", "tuned")

TRIALS: Final = 24
SEEDS: Final = (900_001, 900_002)
QUEUE_WEIGHT: Final = 0.2
OVERRUN_WEIGHT: Final = 20.0
FAIR: Final = 0.95

#: (least, most, is_logarithmic) by parameter. Credit has none: its window is the free buffer.
SPACES: Final[Mapping[str, Mapping[str, tuple[float, float, bool]]]] = {
    "adaptive": {"target_delay_ns": (4e6, 20e6, True)},
    "nak": {
        "initial": (5e7, 1e9, True),
        "window_ns": (5e6, 1e8, True),
        "step_share": (1e-3, 5e-2, True),
        "cut50": (0.02, 0.3, False),
        "cut75": (0.1, 0.5, False),
        "cut87": (0.2, 0.7, False),
        "cut100": (0.4, 0.9, False),
    },
    "aimd": {
        "initial": (2e7, 2e8, True),
        "increase": (1e5, 2e7, True),
        "decrease": (0.4, 0.98, False),
    },
    "static": {"buffer_bytes": (65536, BUFFER, True)},
    "cubic": {
        "buffer_bytes": (262144, BUFFER, True),
        "cubic_rtt_ns": (1e5, 1e7, True),
        "cubic_tcp": (0, 1, False),
    },
    "credit": {},
}
_WHOLE: Final = frozenset({"cubic_tcp", "buffer_bytes"})


def training() -> Scenario:
    """Four receivers: one steady, one dies, one pauses twice, one is at 40 % for two seconds."""
    flat = ((0.0, 100 * MB),)
    return group(
        "training",
        10,
        (
            Consumer(levels=flat, noise=0.15),
            Consumer(levels=flat, noise=0.15, dies_s=2.0),
            Consumer(levels=flat, noise=0.15, pauses=((3.0, 0.2), (8.0, 0.2))),
            Consumer(levels=((0.0, 100 * MB), (4.0, 40 * MB), (6.0, 100 * MB)), noise=0.15),
        ),
        step_s=2e-4,
    )


def score(outcome: Run) -> float:
    """The score that the search maximises."""
    queue = quantile(outcome.sender("queue_most"), 0.99) / BUFFER
    return (
        utilisation(outcome, slowest(outcome))
        - QUEUE_WEIGHT * queue
        - OVERRUN_WEIGHT * overrun_share(outcome)
    )


def two_senders(law: Law) -> Scenario:
    """Two senders of one receiver; the second one joins when the first one has all of it."""
    senders = tuple(Sender(law=law, begins_s=float(i)) for i in range(2))
    return Scenario(
        name="training",
        seconds=12,
        senders=senders,
        consumers=(Consumer(noise=0.15),),
        images=(Image(0, 0), Image(1, 0)),
        step_s=2e-4,
        sample_s=1e-2,
    )


def unfairness(outcome: Run) -> float:
    """The amount by which Jain's index over the last two seconds falls short of 0.95."""
    return max(
        0.0, FAIR - jain([mean_rate(outcome, "delivered_sum", 10.0, 11.9, i) for i in range(2)])
    )


def _judge(law: Law) -> float:
    world, shared = training(), two_senders(law)
    return sum(score(run(world.under(law), seed)) - unfairness(run(shared, seed)) for seed in SEEDS)


def _point(rng: random.Random, space: Mapping[str, tuple[float, float, bool]]) -> dict[str, float]:
    point: dict[str, float] = {}
    for name, (least, most, is_logarithmic) in space.items():
        value = (
            math.exp(rng.uniform(math.log(least), math.log(most)))
            if is_logarithmic
            else rng.uniform(least, most)
        )
        point[name] = float(round(value)) if name in _WHOLE or value > 1000 else round(value, 4)
    return point


_found: dict[tuple[str, int], Law] = {}


def tuned(name: str, trials: int = TRIALS) -> Law:
    """The law with the best parameters of ``trials`` trials; searched once per process.

    The law's name is the seed of the search, so every process finds the same parameters.
    """
    key = (name, trials)
    if key not in _found:
        space, rng = SPACES.get(name, {}), random.Random(f"rstream lab {name}")
        points: list[dict[str, float]] = [
            {},
            *(_point(rng, space) for _ in range(trials - 1 if space else 0)),
        ]
        best = max(points, key=lambda point: _judge(Law(name, point)))
        _found[key] = Law(name, best)
    return _found[key]
