"""The experiments, one file each.

``EXPERIMENTS`` maps a name to the function that runs it. ``REAL`` names the experiments that can
run in real time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import BASELINES, Plan, Sketch
from rstream.lab.experiments.e01 import e1
from rstream.lab.experiments.e02 import e2
from rstream.lab.experiments.e03 import e3
from rstream.lab.experiments.e04 import e4
from rstream.lab.experiments.e05 import e5
from rstream.lab.experiments.e06 import e6
from rstream.lab.experiments.e07 import e7
from rstream.lab.experiments.e08 import e8
from rstream.lab.experiments.e09 import e9
from rstream.lab.experiments.e10 import e10
from rstream.lab.world import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rstream.lab.report import LabReport

__all__ = ("BASELINES", "EXPERIMENTS", "REAL", "Plan", "Sketch", "real_plan", "seeds_of")


@dataclass(frozen=True, slots=True)
class Terms:
    """The bounds of an experiment in real time.

    Attributes:
        receivers: the largest group.
        buffer_most: the largest buffer, in bytes at 100 MB/s.
        time_scale: length of the phases as a share of the usual length.
    """

    receivers: int
    buffer_most: float
    time_scale: float


EXPERIMENTS: Final[Mapping[str, Callable[[Plan], LabReport]]] = {
    "E1": e1,
    "E2": e2,
    "E3": e3,
    "E4": e4,
    "E5": e5,
    "E6": e6,
    "E7": e7,
    "E8": e8,
    "E9": e9,
    "E10": e10,
}

#: Runs per law; more for experiments whose single runs scatter widely.
_SEEDS: Final = 10
_MORE_SEEDS: Final[Mapping[str, int]] = {"E4": 60, "E10": 40}
_MORE_REAL_SEEDS: Final[Mapping[str, int]] = {"E4": 20}

REAL: Final[Mapping[str, Terms]] = {
    "E1": Terms(4, 4 << 20, 1.0),
    "E2": Terms(8, 4 << 20, 1.0),
    "E3": Terms(4, 4 << 20, 0.5),
    "E4": Terms(4, 4 << 20, 1.0),
}


def seeds_of(name: str, *, is_real: bool = False) -> int:
    """The default number of runs per law. In real time each run takes its full length."""
    return (_MORE_REAL_SEEDS if is_real else _MORE_SEEDS).get(name, _SEEDS)


def real_plan(name: str, seeds: int, baselines: tuple[str, ...] | None = None) -> Plan:
    """The plan of an experiment in REAL, on this machine as busy as it is now.

    It first measures for about two seconds what the machine carries. ``baselines`` names the laws
    beside the adaptive law and credit; two laws take about ten minutes.
    """
    terms = REAL[name]
    return Plan(
        seeds=seeds,
        baselines=baselines or (),
        time_scale=terms.time_scale,
        group_most=terms.receivers,
        world=measured(terms.receivers, terms.buffer_most),
    )
