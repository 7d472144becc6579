"""The parts that experiments share: seeds, laws with parameters, runs under many laws, reports."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from rstream.lab.engine import Run, run
from rstream.lab.measure import quantile
from rstream.lab.report import Figure, LabReport
from rstream.lab.scenario import Law
from rstream.lab.world import AGENTS_MOST, VIRTUAL, World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rstream.lab.scenario import Scenario

__all__ = (
    "BASELINES",
    "Figures",
    "Limits",
    "Plan",
    "Sketch",
    "Steady",
    "at_least",
    "at_most",
    "columns",
    "report_of",
    "target_delay_s",
)

T = TypeVar("T")
#: Values by figure, one for each seed.
Figures: TypeAlias = "dict[str, tuple[float, ...]]"
#: (least, most, whether every run must hold it) by figure.
Limits: TypeAlias = "Mapping[str, tuple[float | None, float | None, bool]]"

BASELINES: Final = ("credit", "static", "aimd", "nak", "cubic")
UNLIMITED: Final = (None, None, False)
#: The best of 24 random points for each law, by utilisation, queue, overruns and fairness in a
#: scenario that is none of the experiments. Credit has no parameters.
_PARAMETERS: Final[Mapping[str, Mapping[str, float]]] = {
    "static": {"buffer_bytes": 75_980},
    "aimd": {"initial": 121e6, "increase": 4.33e6, "decrease": 0.68},
    "nak": {
        "initial": 130e6,
        "window_ns": 15.6e6,
        "step_share": 0.03,
        "cut50": 0.224,
        "cut75": 0.467,
        "cut87": 0.403,
        "cut100": 0.522,
    },
    "cubic": {"buffer_bytes": 581_726, "cubic_rtt_ns": 143_794, "cubic_tcp": 0},
}
_WORKERS: Final = 2  # the engine runs without the GIL
#: In real time: a run with a step longer than this, in seconds, is unreliable.
GAP_S: Final = 0.020
TRIES: Final = 4


def at_least(
    limit: float, *, in_every_run: bool = False
) -> tuple[float | None, float | None, bool]:
    """A lower limit, for the confidence interval or for every single run."""
    return limit, None, in_every_run


def at_most(limit: float, *, in_every_run: bool = False) -> tuple[float | None, float | None, bool]:
    """An upper limit, for the confidence interval or for every single run."""
    return None, limit, in_every_run


@dataclass(frozen=True, slots=True)
class Steady:
    """The condition under which a run in real time counts.

    Its thread made no step longer than ``gap_most_s`` within ``spans``; no spans: in the whole run.
    """

    gap_most_s: float = GAP_S
    spans: tuple[tuple[float, float], ...] = ()

    def holds(self, found: Run) -> bool:
        return (
            max(
                (found.gap_within_s(from_s, to_s) for from_s, to_s in self.spans),
                default=found.gap_s,
            )
            <= self.gap_most_s
        )


@dataclass(frozen=True, slots=True)
class Sketch:
    """A run to draw, with its title."""

    title: str
    run: Run


_STEADY: Final = Steady()


@dataclass(slots=True)
class Plan:
    """How to run an experiment, and in which world.

    Attributes:
        seeds: runs per law.
        baselines: laws to compare with.
        time_scale: length of the long phases as a share of the usual length.
        group_most: the largest group.
        world: the engine, and the capacity of a receiver.
        sketches: the runs to draw; filled by the experiment.
        gaps_s: in real time, the longest step of each run in seconds.
        repeated: in real time, runs that were repeated.
        unsteady: in real time, runs that count although their thread stood still.
        on_run: called after each run, by the thread that ran it.
    """

    seeds: int = 10
    baselines: tuple[str, ...] = BASELINES
    time_scale: float = 1.0
    group_most: int = 1000
    world: World = VIRTUAL
    sketches: list[Sketch] = field(default_factory=list[Sketch])
    gaps_s: list[float] = field(default_factory=list[float])
    repeated: int = 0
    unsteady: int = 0
    on_run: Callable[[], None] | None = None

    def law(self, name: str, world: World | None = None) -> Law:
        """A law with its parameters, scaled to ``world``; None: to the plan's world."""
        return (world or self.world).law(Law(name, _PARAMETERS.get(name, {})))

    @property
    def laws(self) -> tuple[str, ...]:
        """The names of the laws to run: ours, credit, and the other baselines."""
        return tuple(dict.fromkeys(("adaptive", "credit", *self.baselines)))

    def sizes(self, *sizes: int) -> tuple[int, ...]:
        """Group sizes up to the largest one allowed."""
        return tuple(size for size in sizes if size <= self.group_most)

    def steady_run(self, scenario: Scenario, seed: int, steady: Steady) -> Run:
        """Run once; in real time repeat until a run counts.

        After TRIES runs the last one stands.
        """
        outcome = run(scenario, seed)
        for _ in range(TRIES - 1):
            if not scenario.real or steady.holds(outcome):
                return outcome
            self.repeated += 1
            outcome = run(scenario, seed)
        self.unsteady += scenario.real and not steady.holds(outcome)
        return outcome

    def runs(
        self,
        scenario: Scenario,
        law: Law | None,
        look: Callable[[Run], T],
        title: str = "",
        steady: Steady = _STEADY,
    ) -> list[T]:
        """Run a scenario with every seed; returns the results of ``look``.

        Args:
            scenario: the scenario.
            law: the law of every sender; None: the laws of the scenario.
            look: the function that reads figures from a run.
            title: the run of the first seed is kept for the plot under this title; empty: none is.
            steady: in real time, the condition under which a run counts.
        """
        world = self.world.place(scenario if law is None else scenario.under(law))

        def one(seed: int) -> T:
            outcome = self.steady_run(world, seed, steady)
            if title and seed == 1:
                self.sketches.append(Sketch(title, outcome))
            if world.real:
                self.gaps_s.append(outcome.gap_s)
            if self.on_run is not None:
                self.on_run()
            return look(outcome)

        # In real time each run needs the whole machine, and only the main thread gets Ctrl-C.
        if world.real:
            return [one(seed) for seed in range(1, self.seeds + 1)]

        with ThreadPoolExecutor(_WORKERS) as pool:
            return list(pool.map(one, range(1, self.seeds + 1)))


def columns(rows: Sequence[Mapping[str, float]], prefix: str = "") -> Figures:
    """One tuple of values per name, in the order of the seeds."""
    return {prefix + name: tuple(row[name] for row in rows) for name in rows[0]}


def report_of(
    plan: Plan, name: str, seen: Mapping[str, Figures], limits: Limits, notes: Sequence[str] = ()
) -> LabReport:
    """The report of an experiment.

    ``seen`` has the figures of each law. The last word of a figure's name is its unit. The limits
    judge the adaptive law only.
    """

    def figures(law: str, judged: bool) -> list[Figure]:
        return [
            Figure(
                figure,
                values,
                unit_of(figure),
                *(limits.get(figure, UNLIMITED) if judged else UNLIMITED),
            )
            for figure, values in seen[law].items()
        ]

    others = [law for law in seen if law != "adaptive"]
    return LabReport(
        name,
        figures("adaptive", True),
        plan.law("adaptive").parameters,
        {law: figures(law, False) for law in others},
        {law: plan.law(law).parameters for law in others},
        [*notes, *_notes_of(plan)],
        real_capacity=plan.world.full if plan.world.is_real else None,
    )


def _notes_of(plan: Plan) -> list[str]:
    """The notes of a report: which engine ran it.

    In real time also how the world was chosen, and whether the machine kept up.
    """
    world, gaps = plan.world, [gap_s * 1e3 for gap_s in plan.gaps_s]
    if world.engine == "queues":
        return ["virtual time, queues without payload"]
    if not gaps:
        return [
            "virtual time, real agents on a network in memory; "
            f"queues without payload above {AGENTS_MOST} receivers"
        ]
    late = sum(gap_ms > GAP_S * 1e3 for gap_ms in gaps)
    trust = (
        f"; above {GAP_S * 1e3:.0f} ms in {late} of {len(gaps)} runs: "
        "the machine was busy, so their figures are unreliable"
        if late
        else ""
    )
    notes = [
        "real sockets, one thread for all drivers: longest time between two steps "
        f"{max(gaps):.1f} ms, median of the runs {quantile(gaps, 0.5):.1f} ms{trust}"
    ]
    if plan.repeated:
        stayed = (
            f"; runs that count although it stood still each time: {plan.unsteady}"
            if plan.unsteady
            else ""
        )
        notes.append(
            f"{plan.repeated} times a run was repeated: "
            f"the thread had stood still for longer than the experiment allows{stayed}"
        )
    if world.carried > 0:
        notes.append(
            f"capacity {world.full / 1e6:g} MB/s a receiver; unlimited each got "
            f"{world.carried / 1e6:.1f} MB/s; buffers and rates in proportion"
        )
    return notes


def unit_of(figure: str) -> str:
    return {"ms": "ms", "s": "s", "reactions": "T", "bytes": "B"}.get(figure.rsplit("_", 1)[-1], "")


def target_delay_s(plan: Plan) -> float:
    """L of the adaptive law with the parameters found, in seconds; X depends on it."""
    return plan.law("adaptive").parameters.get("target_delay_ns", 10e6) / 1e9
