"""``rstream lab``: an experiment by name, or a scenario of the user's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rstream.lab.experiments import EXPERIMENTS, MISSING, Plan

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ("run",)


def _refuse(text: str) -> int:
    print(f"rstream lab: {text}", file=sys.stderr)
    return 2


def _refusal(options: Namespace) -> str | None:
    """Why these options cannot be carried out."""
    name: str | None = options.experiment
    if (name is None) == (options.scenario is None):
        return "give either an experiment (E1 ... E10) or --scenario FILE.toml"
    if name is not None and name in MISSING:
        return MISSING[name]
    if name is not None and name not in EXPERIMENTS:
        return f"no experiment {name!r}; there are {', '.join([*EXPERIMENTS, *MISSING])}"
    if options.real:
        return "--real is not there yet: the laboratory runs in virtual time only; leave --real out"
    if options.seeds < 1:
        return f"--seeds {options.seeds}: at least 1"
    return None


def run(options: Namespace) -> int:
    """0: passed; 1: failed; 2: cannot be carried out."""
    if refusal := _refusal(options):
        return _refuse(refusal)
    plan = Plan(seeds=options.seeds)
    report = EXPERIMENTS[options.experiment](plan)
    report.print(sys.stdout)
    if options.json:
        report.write_json(Path(options.json))
    return 0 if report.passed else 1
