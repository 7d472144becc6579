"""The experiments, one small file each. ``EXPERIMENTS`` maps a name to its function of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rstream.lab.experiments._plan import Plan, Sketch
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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rstream.lab.report import Report

__all__ = ("EXPERIMENTS", "Plan", "Sketch")

EXPERIMENTS: Final[Mapping[str, Callable[[Plan], Report]]] = {
    "E1": e1, "E2": e2, "E3": e3, "E4": e4, "E5": e5, "E6": e6, "E7": e7, "E8": e8, "E9": e9, "E10": e10,
}  # fmt: skip
