"""What the experiments share: seeds, laws with their parameters, runs of one scenario under many laws, and the report made of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from rstream.lab.engine import Run, run
from rstream.lab.report import Figure, Report
from rstream.lab.tune import TRIALS, tuned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rstream.lab.scenario import Law, Scenario

__all__ = ("BASELINES", "Figures", "Limits", "Plan", "Sketch", "at_least", "at_most", "columns", "report_of", "target_delay_s")

T = TypeVar("T")
#: Values by figure, one for each seed.
Figures: TypeAlias = "dict[str, tuple[float, ...]]"
#: (least, most, whether every run must hold it) by figure.
Limits: TypeAlias = "Mapping[str, tuple[float | None, float | None, bool]]"

BASELINES: Final = ("credit", "static", "aimd", "nak", "cubic")
UNLIMITED: Final = (None, None, False)
_WORKERS: Final = 2  # the engine runs without the GIL


def at_least(limit: float, *, in_every_run: bool = False) -> tuple[float | None, float | None, bool]:
    """A limit from below: of the confidence interval, or of every single run."""
    return limit, None, in_every_run


def at_most(limit: float, *, in_every_run: bool = False) -> tuple[float | None, float | None, bool]:
    """A limit from above."""
    return None, limit, in_every_run


@dataclass(frozen=True, slots=True)
class Sketch:
    """A run worth drawing, and under which title."""

    title: str
    run: Run


@dataclass(slots=True)
class Plan:
    """How an experiment is carried out. ``time_scale`` shortens its long phases and ``group_most`` its largest group (tests)."""

    seeds: int = 10
    trials: int = TRIALS
    baselines: tuple[str, ...] = BASELINES
    time_scale: float = 1.0
    group_most: int = 1000
    sketches: list[Sketch] = field(default_factory=list[Sketch])

    def law(self, name: str) -> Law:
        """A law with the best parameters that the search found."""
        return tuned(name, self.trials)

    @property
    def laws(self) -> tuple[str, ...]:
        """Ours, credit, and the other baselines."""
        return tuple(dict.fromkeys(("adaptive", "credit", *self.baselines)))

    def sizes(self, *sizes: int) -> tuple[int, ...]:
        """Group sizes up to the largest one allowed."""
        return tuple(size for size in sizes if size <= self.group_most)

    def runs(self, scenario: Scenario, law: Law | None, look: Callable[[Run], T], title: str = "") -> list[T]:
        """What ``look`` sees in the runs of all seeds; the first one is kept for the picture when it has a title. law None: as the scenario says."""
        world = scenario if law is None else scenario.under(law)

        def one(seed: int) -> T:
            outcome = run(world, seed)
            if title and seed == 1:
                self.sketches.append(Sketch(title, outcome))
            return look(outcome)

        with ThreadPoolExecutor(_WORKERS) as pool:
            return list(pool.map(one, range(1, self.seeds + 1)))


def columns(rows: Sequence[Mapping[str, float]], prefix: str = "") -> Figures:
    """One tuple of values per name, in the order of the seeds."""
    return {prefix + name: tuple(row[name] for row in rows) for name in rows[0]}


def report_of(plan: Plan, name: str, seen: Mapping[str, Figures], limits: Limits, notes: Sequence[str] = ()) -> Report:
    """``seen`` by law. Units are the last word of a figure's name."""

    def figures(law: str, judged: bool) -> list[Figure]:
        return [
            Figure(figure, values, unit_of(figure), *(limits.get(figure, UNLIMITED) if judged else UNLIMITED)) for figure, values in seen[law].items()
        ]  # fmt: skip

    others = [law for law in seen if law != "adaptive"]
    return Report(
        name,
        figures("adaptive", True),
        plan.law("adaptive").parameters,
        {law: figures(law, False) for law in others},
        {law: plan.law(law).parameters for law in others},
        list(notes),
    )


def unit_of(figure: str) -> str:
    return {"ms": "ms", "s": "s", "reactions": "T", "bytes": "B"}.get(figure.rsplit("_", 1)[-1], "")


def target_delay_s(plan: Plan) -> float:
    """L of the adaptive law with the parameters found; what X means depends on it."""
    return plan.law("adaptive").parameters.get("target_delay_ns", 10e6) / 1e9
