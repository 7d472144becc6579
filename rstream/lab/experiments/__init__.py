"""The experiments, one small file each. ``EXPERIMENTS`` maps a name to its module's ``make(plan)``."""

from __future__ import annotations

from rstream.lab.experiments._plan import Plan, Sketch
from rstream.lab.experiments.e01 import e1

__all__ = ("EXPERIMENTS", "MISSING", "Plan", "Sketch")

EXPERIMENTS = {"E1": e1}
#: What needs the real agents, and what of it is missing.
MISSING = {
    "E6": "E6 (loss, long ways, windows tuned by the system) needs the real agents in the laboratory: the queue engine has no path with a queue of its own",
    "E7": "E7 (elements under request(n)) needs the real agents in the laboratory: the queue engine knows bytes, no elements",
}
