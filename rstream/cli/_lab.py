"""``rstream lab``: run an experiment by name, or a scenario of the user's own."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rstream.errors import ConfigError
from rstream.lab.experiments import BASELINES, EXPERIMENTS, REAL, Plan, real_plan, seeds_of
from rstream.lab.user_scenario import run_user_scenario
from rstream.lab.world import QUEUES

if TYPE_CHECKING:
    from argparse import Namespace

    from rstream.lab.report import Report

__all__ = ("run",)

#: Default runs per law of a scenario with --real.
REAL_SEEDS: Final = 3
#: This experiment always uses sockets.
ON_SOCKETS: Final = "E7"
ALWAYS_BY_AGENTS: Final = ("E6", ON_SOCKETS)


def _refuse(text: str) -> int:
    print(f"rstream lab: {text}", file=sys.stderr)
    return 2


def _refusal(options: Namespace) -> str | None:
    """The reason why these options cannot be used; None when they can."""
    name: str | None = options.experiment
    if (name is None) == (options.scenario is None):
        return "give either an experiment (E1 ... E10) or --scenario FILE.toml"
    if name is not None and name not in EXPERIMENTS:
        return f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}"
    if options.real and name is not None and name not in REAL and name != ON_SOCKETS:
        return f"{name} --real: only {', '.join(REAL)} run in real time; leave --real out"
    if options.queues and (options.real or name in ALWAYS_BY_AGENTS):
        reason = "cannot go with --real" if options.real else f"{name} always uses real agents"
        return f"--queues: {reason}; leave it out"
    unknown = sorted(set(_baselines(options) or ()) - set(BASELINES))
    if unknown:
        return f"--baselines: no law {unknown[0]!r}; there are {', '.join(BASELINES)}"
    if options.seeds is not None and options.seeds < 1:
        return f"--seeds {options.seeds}: at least 1"
    if options.plot and Path(options.plot).suffix not in (".png", ".html"):
        return f"--plot {options.plot}: the name must end in .png or .html"
    return None


def _write(options: Namespace, plan: Plan, report: Report) -> None:
    if options.json:
        report.write_json(Path(options.json))
    if options.plot:
        from rstream.lab.plot import draw

        text = io.StringIO()
        report.print(text)
        draw(Path(options.plot), f"rstream lab {report.experiment}", plan.sketches, text.getvalue())


def _baselines(options: Namespace) -> tuple[str, ...] | None:
    """The laws to compare with; None when the option is absent."""
    return None if options.baselines is None else tuple(filter(None, options.baselines.split(",")))


def _plan(options: Namespace) -> Plan:
    seeds, baselines = (
        options.seeds or seeds_of(options.experiment or "", is_real=options.real),
        _baselines(options),
    )
    if options.real and options.experiment in REAL:
        return real_plan(options.experiment, seeds, baselines)
    if options.real and options.scenario:
        seeds = options.seeds or REAL_SEEDS
    plan = Plan(seeds=seeds) if baselines is None else Plan(seeds=seeds, baselines=baselines)
    return replace(plan, world=QUEUES) if options.queues else plan


def run(options: Namespace) -> int:
    """Run the experiment or scenario.

    Returns:
        The exit code. 0: passed; 1: failed; 2: the options cannot be used.
    """
    if refusal := _refusal(options):
        return _refuse(refusal)
    try:
        plan = _plan(options)
        if options.scenario:
            report = run_user_scenario(Path(options.scenario), plan, is_real=options.real)
        else:
            report = EXPERIMENTS[options.experiment](plan)
        report.print(sys.stdout)
        _write(options, plan, report)
    except (ConfigError, OSError) as error:
        return _refuse(str(error))
    return 0 if report.passed else 1
