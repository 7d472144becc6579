"""What the experiments share: seeds, laws with their parameters, runs of one scenario under many laws."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from rstream.lab.engine import Run, run
from rstream.lab.tune import TRIALS, tuned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rstream.lab.scenario import Law, Scenario

__all__ = ("BASELINES", "Plan", "Sketch")

T = TypeVar("T")

BASELINES: Final = ("credit", "static", "aimd", "nak", "cubic")
_WORKERS: Final = 2  # the engine runs without the GIL


@dataclass(frozen=True, slots=True)
class Sketch:
    """A run worth drawing, and under which title."""

    title: str
    run: Run


@dataclass(slots=True)
class Plan:
    """How an experiment is carried out. ``time_scale`` shortens the long phases of an experiment (tests)."""

    seeds: int = 10
    trials: int = TRIALS
    baselines: tuple[str, ...] = BASELINES
    time_scale: float = 1.0
    sketches: list[Sketch] = field(default_factory=list[Sketch])

    def law(self, name: str) -> Law:
        """A law with the best parameters that the search found."""
        return tuned(name, self.trials)

    def runs(self, scenario: Scenario, law: Law, look: Callable[[Run], T], title: str = "") -> list[T]:
        """What ``look`` sees in the runs of all seeds; the first one is kept for the picture when it has a title."""

        def one(seed: int) -> T:
            outcome = run(scenario.under(law), seed)
            if title and seed == 1:
                self.sketches.append(Sketch(title, outcome))
            return look(outcome)

        with ThreadPoolExecutor(_WORKERS) as pool:
            return list(pool.map(one, range(1, self.seeds + 1)))


def columns(rows: Sequence[dict[str, float]]) -> dict[str, tuple[float, ...]]:
    """One tuple of values per name, in the order of the seeds."""
    return {name: tuple(row[name] for row in rows) for name in rows[0]}
