"""``rstream lab``: run an experiment, families of consumers or of links, or a recorded consumer."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rstream.cli._progress import ProgressBar
from rstream.errors import ConfigError
from rstream.lab.comparison import compare
from rstream.lab.experiments import BASELINES, EXPERIMENTS, REAL, Plan, real_plan, seeds_of
from rstream.lab.families import Family, families, recorded, seeds
from rstream.lab.families_report import as_html, as_json, as_markdown, passed
from rstream.lab.links import LINK_FAMILIES, link_seeds
from rstream.lab.links_report import compare_links, links_json, links_markdown, links_verdict
from rstream.lab.scenario import LAWS
from rstream.lab.world import QUEUES

if TYPE_CHECKING:
    from argparse import Namespace

    from rstream.lab.report import LabReport

__all__ = ("run",)

#: This experiment always uses sockets.
ON_SOCKETS: Final = "E7"
ALWAYS_BY_AGENTS: Final = ("E6", ON_SOCKETS)
#: The words for all families.
ALL: Final = ("families", "all")
#: The word for all families of links.
LINKS: Final = "links"
#: The suffix of a recorded consumer's file.
TRACE: Final = ".trace"
#: Default draws of a family: two of each size of group.
RUNS: Final = 6


def _refuse(text: str) -> int:
    print(f"rstream lab: {text}", file=sys.stderr)
    return 2


def _is_families(options: Namespace) -> bool:
    name: str = options.experiment
    return name in families() or name in ALL or name.endswith(TRACE)


def _is_links(options: Namespace) -> bool:
    return options.experiment == LINKS or options.experiment in LINK_FAMILIES


def _refusal(options: Namespace) -> str | None:
    """The reason why these options cannot be used; None when they can."""
    name: str = options.experiment
    if name not in EXPERIMENTS and not _is_families(options) and not _is_links(options):
        return (
            f"no experiment or family {name!r}; there are {', '.join(EXPERIMENTS)}, "
            f"{', '.join(families())}; families: all of these; FILE{TRACE}: a recording; "
            f"{', '.join(LINK_FAMILIES)}; {LINKS}: all of these"
        )
    if options.seeds is not None and options.seeds < 1:
        return f"--seeds {options.seeds}: at least 1"
    if options.plot and Path(options.plot).suffix not in (".png", ".html"):
        return f"--plot {options.plot}: the name must end in .png or .html"
    if _is_links(options):
        return _links_refusal(options)
    return _families_refusal(options) if _is_families(options) else _experiment_refusal(options)


def _links_refusal(options: Namespace) -> str | None:
    for option in ("real", "queues", "baselines", "law", "agents_share", "plot"):
        if getattr(options, option):
            return f"--{option.replace('_', '-')}: families of links have it not; leave it out"
    return None


def _families_refusal(options: Namespace) -> str | None:
    for option in ("real", "queues", "baselines"):
        if getattr(options, option):
            return f"--{option}: families have it not; leave it out"
    if not 0 <= options.agents_share <= 1:
        return f"--agents-share {options.agents_share:g}: 0 to 1"
    if options.law is not None and options.law not in LAWS:
        return f"--law: no law {options.law!r}; there are {', '.join(LAWS)}"
    return None


def _experiment_refusal(options: Namespace) -> str | None:
    name: str = options.experiment
    for option in ("law", "train", "agents_share", "markdown"):
        if getattr(options, option):
            return f"--{option.replace('_', '-')}: only for families; leave it out"
    if options.real and name not in REAL and name != ON_SOCKETS:
        return f"{name} --real: only {', '.join(REAL)} run in real time; leave --real out"
    if options.queues and (options.real or name in ALWAYS_BY_AGENTS):
        reason = "cannot go with --real" if options.real else f"{name} always uses real agents"
        return f"--queues: {reason}; leave it out"
    unknown = sorted(set(_baselines(options) or ()) - set(BASELINES))
    if unknown:
        return f"--baselines: no law {unknown[0]!r}; there are {', '.join(BASELINES)}"
    return None


def _write(options: Namespace, plan: Plan, report: LabReport) -> None:
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
        options.seeds or seeds_of(options.experiment, is_real=options.real),
        _baselines(options),
    )
    if options.real and options.experiment in REAL:
        return real_plan(options.experiment, seeds, baselines)
    plan = Plan(seeds=seeds) if baselines is None else Plan(seeds=seeds, baselines=baselines)
    return replace(plan, world=QUEUES) if options.queues else plan


def _family(name: str) -> Family:
    return recorded(Path(name), name) if name.endswith(TRACE) else families()[name]


def _run_families(options: Namespace) -> bool:
    """Run families beside the yardsticks; returns whether all limits hold."""
    name, law = options.experiment, options.law or "adaptive"
    shown = list(families().values()) if name in ALL else [_family(name)]
    chosen = seeds(options.seeds or RUNS, is_training=options.train)

    with ProgressBar(f"rstream lab {name}", "draws", len(shown) * len(chosen)) as progress:
        rows, pictures = compare(
            shown, chosen, law=law, agents_share=options.agents_share, on_done=progress.reach
        )
    text = as_markdown(rows, law, is_training=options.train)
    print(text, end="")
    if options.markdown:
        Path(options.markdown).write_text(text)
    if options.json:
        Path(options.json).write_text(as_json(rows) + "\n")
    if options.plot:
        from rstream.lab.plot import draw_families

        draw_families(Path(options.plot), f"rstream lab {name}", pictures, as_html(text))
    return passed(rows)


def _run_links(options: Namespace) -> bool:
    """Run families of links beside the yardsticks; returns whether all limits hold."""
    name = options.experiment
    shown = list(LINK_FAMILIES.values()) if name == LINKS else [LINK_FAMILIES[name]]
    chosen = link_seeds(options.seeds or RUNS, is_training=options.train)
    with ProgressBar(f"rstream lab {name}", "draws", len(shown) * len(chosen)) as progress:
        rows = compare_links(shown, chosen, on_done=progress.reach)
    text = links_markdown(rows, is_training=options.train)
    print(text, end="")
    if options.markdown:
        Path(options.markdown).write_text(text)
    if options.json:
        Path(options.json).write_text(links_json(rows) + "\n")
    return all(figure.passed for figure, _, _ in links_verdict(rows))


def run(options: Namespace) -> int:
    """Run the experiment or families.

    Returns:
        The exit code. 0: passed; 1: failed; 2: the options cannot be used.
    """
    if refusal := _refusal(options):
        return _refuse(refusal)
    try:
        if _is_links(options):
            return 0 if _run_links(options) else 1
        if _is_families(options):
            return 0 if _run_families(options) else 1
        with ProgressBar(f"rstream lab {options.experiment}", "runs") as progress:
            plan = replace(_plan(options), on_run=progress.add)
            report = EXPERIMENTS[options.experiment](plan)
        report.print(sys.stdout)
        _write(options, plan, report)
    except (ConfigError, OSError) as error:
        return _refuse(str(error))
    return 0 if report.passed else 1
