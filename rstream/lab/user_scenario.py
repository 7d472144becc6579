"""Run a scenario of the user's own under the laws that it names: figures without limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rstream.lab.experiments._plan import Plan, columns, notes_of
from rstream.lab.files import load
from rstream.lab.measure import overrun_share, quantile, utilisation
from rstream.lab.report import Figure, Report

if TYPE_CHECKING:
    from pathlib import Path

    from rstream.lab.engine import Run

__all__ = ("run_user_scenario",)


def look(run: Run) -> dict[str, float]:
    sent, living = (
        run.sender("sent")[-1],
        [i for i in range(len(run.scenario.images)) if not run.result(i)["is_gone"]],
    )
    traced = [i for i in living if i < run.scenario.traced]
    seen = {f"receiver{i}_utilisation": utilisation(run, i) for i in traced}
    queues = [fill * 100 for fill in run.sender("fill_most")]
    return seen | {
        "fill_p50_percent": quantile(queues, 0.5),
        "fill_p99_percent": quantile(queues, 0.99),
        "overrun_share": overrun_share(run),
        "fill_naks": run.sender("reports")[-1],
        "sent_again_share": run.sender("resent")[-1] / sent if sent > 0 else 0.0,
        "control_bytes_per_mb": run.sender("control_bytes")[-1] / (sent / 1e6) if sent > 0 else 0.0,
    }


def run_user_scenario(path: Path, plan: Plan, *, is_real: bool = False) -> Report:
    """Run a scenario file under each of its laws.

    The report has the first law in ``figures`` and the others in ``baselines``. It passes when the
    scenario ran, because a scenario has no limits.

    Raises:
        ConfigError: the file is wrong.
    """
    scenario, laws = load(path)
    scenario = replace(scenario, real=scenario.real or is_real)
    seen = {
        law.name: [
            Figure(name, values)
            for name, values in columns(
                plan.runs(scenario, law, look, f"{scenario.name}, {law.name}")
            ).items()
        ]
        for law in laws
    }
    first, *others = laws
    return Report(
        scenario.name,
        seen[first.name],
        first.parameters,
        {law.name: seen[law.name] for law in others},
        {law.name: law.parameters for law in others},
        notes=notes_of(plan),
        law=first.name,
        is_judged=False,
    )
