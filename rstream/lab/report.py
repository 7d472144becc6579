"""The result of an experiment: figures with confidence intervals, and a verdict on their limits.

Its JSON form::

    {
      "experiment": "E1",
      "passed": true,
      "figures": {NAME: {...}},
      "baselines": {LAW: {NAME: {...}}}
    }
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("Figure", "LabReport", "interval")

#: Student's t, two-sided 95 %, by degrees of freedom from 1 on; the last one serves for more.
_T: Final = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and both ends of its 95 % confidence interval.

    One value that is not finite is returned as all three, so that a mean cannot hide it.
    """
    if not values or not all(math.isfinite(value) for value in values):
        worst = (
            math.nan
            if not values
            else max(values, key=lambda value: (not math.isfinite(value), value))
        )
        return worst, worst, worst
    mean = statistics.fmean(values)
    if len(values) == 1:
        return mean, mean, mean
    t = _T[min(len(values) - 1, len(_T)) - 1]
    half = t * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity over all seeds, with an optional limit.

    The whole confidence interval must lie on the good side of the limit. With ``of_every`` every
    value must.
    """

    name: str
    values: tuple[float, ...]
    unit: str = ""
    least: float | None = None
    most: float | None = None
    of_every: bool = False

    @property
    def is_judged(self) -> bool:
        return self.least is not None or self.most is not None

    @property
    def passed(self) -> bool:
        """Whether the limit holds; True without a limit."""
        _, low, high = interval(self.values)
        if self.of_every:
            low, high = min(self.values), max(self.values)
        return (self.least is None or low >= self.least) and (
            self.most is None or high <= self.most
        )

    @property
    def worst(self) -> float:
        """The value nearest to a limit, or furthest beyond it."""

        def room(value: float) -> float:
            return min(
                [value - least for least in (self.least,) if least is not None]
                + [most - value for most in (self.most,) if most is not None],
                default=0.0,
            )

        return min(self.values, key=room)

    def as_json(self) -> dict[str, Any]:
        mean, low, high = interval(self.values)
        entry: dict[str, Any] = {
            "mean": _number(mean),
            "low": _number(low),
            "high": _number(high),
            "seeds": len(self.values),
            "unit": self.unit,
        }
        if self.least is not None:
            entry["least"] = self.least
        if self.most is not None:
            entry["most"] = _number(self.most)
        if self.is_judged:
            entry["passed"] = self.passed
            entry["worst"] = _number(self.worst)
        return entry

    def line(self) -> str:
        mean, low, high = interval(self.values)
        limit = "" if self.least is None else f"  >= {self.least:g}"
        limit += "" if self.most is None else f"  <= {self.most:.4g}"
        limit += " in every run" if self.of_every else ""
        verdict = ("  ok" if self.passed else "  FAILS") if self.is_judged else ""
        return (
            f"{self.name:<44}{mean:>12.5g}  [{low:.5g}, {high:.5g}] {self.unit:<6}{limit}{verdict}"
        )


def _number(value: float) -> float | str:
    """The value, or its text when it is not finite: JSON has no infinity."""
    return value if math.isfinite(value) else str(value)


@dataclass(slots=True)
class LabReport:
    """The result of an experiment: figures of our law and of the others."""

    experiment: str
    figures: list[Figure]
    parameters: Mapping[str, float]
    baselines: dict[str, list[Figure]] = field(default_factory=dict[str, list[Figure]])
    baseline_parameters: dict[str, Mapping[str, float]] = field(
        default_factory=dict[str, Mapping[str, float]]
    )
    notes: list[str] = field(default_factory=list[str])
    #: On real sockets: the capacity of a receiver, in bytes per second. None: virtual time.
    real_capacity: float | None = None

    @property
    def passed(self) -> bool:
        """Whether all limits hold; False without a limit."""
        judged = [figure for figure in self.figures if figure.is_judged]
        return bool(judged) and all(figure.passed for figure in judged)

    def as_json(self) -> dict[str, Any]:
        where: dict[str, Any] = (
            {}
            if self.real_capacity is None
            else {"real": True, "capacity_bytes_per_s": self.real_capacity}
        )
        return {
            "experiment": self.experiment,
            **where,
            "passed": self.passed,
            "figures": {
                **{figure.name: figure.as_json() for figure in self.figures},
                "parameters": dict(self.parameters),
                "notes": self.notes,
            },
            "baselines": {
                law: {
                    **{figure.name: figure.as_json() for figure in figures},
                    "parameters": dict(self.baseline_parameters.get(law, {})),
                }
                for law, figures in self.baselines.items()
            },
        }

    def write_json(self, path: Path) -> None:
        path.write_text(json.dumps(self.as_json(), indent=2) + "\n")

    def print(self, out: TextIO) -> None:
        verdict = "passed" if self.passed else "FAILED"
        where = (
            ""
            if self.real_capacity is None
            else f" (real sockets in real time, {self.real_capacity / 1e6:g} MB/s)"
        )
        print(f"{self.experiment}{where}: {verdict}", file=out)
        _print_law(out, "adaptive", self.figures, self.parameters)
        for law, figures in self.baselines.items():
            _print_law(out, law, figures, self.baseline_parameters.get(law, {}))
        for note in self.notes:
            print(f"  note: {note}", file=out)


def _print_law(
    out: TextIO, law: str, figures: Sequence[Figure], parameters: Mapping[str, float]
) -> None:
    said = (
        ", ".join(f"{name}={value:.4g}" for name, value in parameters.items()) or "nothing to tune"
    )
    print(f"  {law} ({said})", file=out)
    for figure in figures:
        print(f"    {figure.line()}", file=out)
