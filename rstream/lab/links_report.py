"""The law of the path beside cubic and BBR on families of links: figures, limits, and the page."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

from rstream.lab.links import draw_link
from rstream.lab.links_measure import measure
from rstream.lab.report import Figure
from rstream.lab.traffic import BBR, CUBIC, PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rstream.lab.links import LinkFamily

__all__ = ("LinkRow", "compare_links", "links_json", "links_markdown", "links_verdict")

#: What flows in a row, in this order; the first one is judged.
KINDS: Final[Mapping[str, int]] = {"rstream": PATH, "cubic": CUBIC, "BBR": BBR}
OURS: Final = "rstream"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """The draws of a family, under the law and the yardsticks.

    Attributes:
        family: the family.
        seeds: one for each draw.
        seen: the figures of each draw, by what flows.
    """

    family: LinkFamily
    seeds: tuple[int, ...]
    seen: Mapping[str, tuple[Mapping[str, float], ...]]

    def values(self, figure: str, kind: str = OURS) -> tuple[float, ...]:
        """A figure of each draw that has it."""
        return tuple(one[figure] for one in self.seen[kind] if figure in one)

    def seed_of(self, figure: str, value: float) -> int:
        """The draw with this value under the law."""
        pairs = zip(self.seeds, self.seen[OURS], strict=True)
        return next(seed for seed, one in pairs if one.get(figure) == value)


def compare_links(
    families: Sequence[LinkFamily],
    seeds: Sequence[int],
    *,
    on_done: Callable[[int], None] = lambda count: None,
) -> list[LinkRow]:
    """Run draws of families under the law and the yardsticks, on all processors.

    Args:
        families: the families.
        seeds: one draw of each family for each of them.
        on_done: called with the number of draws that are done.
    """
    draws = [draw_link(family, seed) for family in families for seed in seeds]

    def one(number: int) -> dict[str, dict[str, float]]:
        return {name: measure(draws[number], kind) for name, kind in KINDS.items()}

    found: list[dict[str, dict[str, float]]] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the engine runs without the GIL
        for seen in pool.map(one, range(len(draws))):
            found.append(seen)
            on_done(len(found))
    count = len(seeds)
    return [
        LinkRow(
            family=family,
            seeds=tuple(seeds),
            seen={
                name: tuple(seen[name] for seen in found[at * count : (at + 1) * count])
                for name in KINDS
            },
        )
        for at, family in enumerate(families)
    ]


@dataclass(frozen=True, slots=True)
class _FamilyLimit:
    """A limit on a figure of a family: of its mean, or of every draw.

    A number of the form ``(factor, "cubic")`` is that times the mean of cubic in the same draws.
    """

    families: str
    figure: str
    least: float | tuple[float, str] | None = None
    most: float | tuple[float, str] | None = None
    of_every: bool = False

    def judge(self, row: LinkRow) -> Figure | None:
        values = row.values(self.figure)
        if not values:
            return None

        def number(limit: float | tuple[float, str] | None) -> float | None:
            if not isinstance(limit, tuple):
                return limit
            return limit[0] * fmean(row.values(self.figure, limit[1]))

        shown = values if self.of_every else (fmean(values),)
        name = f"{row.family.name}: {self.figure}, {'each' if self.of_every else 'mean'}"
        return Figure(name, shown, "", number(self.least), number(self.most), of_every=True)


#: What the law must show.
_LIMITS: Final = (
    _FamilyLimit("alone fast", "goodput", least=0.93),
    _FamilyLimit("alone fast", "goodput", least=0.8, of_every=True),
    _FamilyLimit("alone fast", "drops / allowed", most=1.0, of_every=True),
    _FamilyLimit("alone fast", "queue / allowed", most=1.0, of_every=True),
    _FamilyLimit("loss-1", "goodput", least=0.85),
    _FamilyLimit("loss-2 loss-long", "goodput", least=0.75),
    _FamilyLimit("beside-cubic", "own share", least=0.35, most=0.5),
    _FamilyLimit("beside-cubic", "own share", least=0.15, of_every=True),
    _FamilyLimit("beside-cubic", "both in 0.25 to 0.75", least=0.9),
    _FamilyLimit("beside-cubic", "both in 0.25 to 0.75", least=(1.0, "cubic")),
    _FamilyLimit("streams-2 streams-4 streams-8", "goodput", least=0.93, of_every=True),
    _FamilyLimit("streams-2 streams-4 streams-8", "jain", least=0.9),
    _FamilyLimit("streams-2 streams-4 streams-8", "jain", least=0.8, of_every=True),
    _FamilyLimit("streams-2 streams-4 streams-8", "drops", most=0.02, of_every=True),
    _FamilyLimit("latecomer", "half of fair", least=0.9),
    _FamilyLimit("incast", "drops", most=0.03, of_every=True),
    _FamilyLimit("incast", "shallow drops", most=(1.5, "cubic")),
    _FamilyLimit("start", "started, RTT", most=15.0, of_every=True),
    _FamilyLimit("start", "drops", most=0.015),
    _FamilyLimit("start", "drops", most=0.05, of_every=True),
    _FamilyLimit("rate-change", "drops, second second", most=0.01, of_every=True),
    _FamilyLimit("rate-change", "back", least=0.9, of_every=True),
)


def links_verdict(rows: Sequence[LinkRow]) -> list[tuple[Figure, _FamilyLimit, LinkRow]]:
    """The figures that have limits, by family."""
    found: list[tuple[Figure, _FamilyLimit, LinkRow]] = []
    for row in rows:
        for limit in _LIMITS:
            if row.family.name in limit.families.split():
                figure = limit.judge(row)
                if figure is not None:
                    found.append((figure, limit, row))
    return found


#: Columns: title, figure, what is made of the draws, digits, factor.
_COLUMNS: Final[tuple[tuple[str, str, Callable[[Sequence[float]], float], int, float], ...]] = (
    ("goodput", "goodput", fmean, 2, 1),
    ("least", "goodput", min, 2, 1),
    ("own share", "own share", fmean, 2, 1),
    ("least", "own share", min, 2, 1),
    ("drops, %", "drops", fmean, 1, 100),
    ("most", "drops", max, 1, 100),
    ("queue, ms", "queue, ms", fmean, 1, 1),
    ("Jain", "jain", fmean, 2, 1),
    ("least", "jain", min, 2, 1),
)


def links_markdown(rows: Sequence[LinkRow], *, is_training: bool) -> str:
    """The table, the verdict, and what was run."""
    return "\n".join([*_table(rows), *_verdict(rows), *_what(rows, is_training=is_training), ""])


def _table(rows: Sequence[LinkRow]) -> Iterator[str]:
    yield f"| family | flows | {' | '.join(title for title, *_ in _COLUMNS)} |"
    yield "|---|---|" + "---:|" * len(_COLUMNS)
    for row in rows:
        for kind in KINDS:
            cells = [
                f"{factor * made(values):.{digits}f}"
                if (values := row.values(figure, kind))
                else ""
                for _, figure, made, digits, factor in _COLUMNS
            ]
            name = row.family.name if kind == OURS else ""
            yield f"| {name} | {kind} | {' | '.join(cells)} |"
    yield ""


def _verdict(rows: Sequence[LinkRow]) -> Iterator[str]:
    judged = links_verdict(rows)
    missed = sum(not figure.passed for figure, _, _ in judged)
    yield f"## Verdict: {f'{missed} of {len(judged)} limits missed' if missed else 'passed'}"
    yield ""
    for figure, limit, row in judged:
        bounds = [f">= {figure.least:.3g}"] if figure.least is not None else []
        bounds += [f"<= {figure.most:.3g}"] if figure.most is not None else []
        seed = f" (seed {row.seed_of(limit.figure, figure.worst)})" if limit.of_every else ""
        beside = ", ".join(
            f"{kind} {_same(figure, limit, row.values(limit.figure, kind)):.3g}"
            for kind in KINDS
            if kind != OURS
        )
        word = "ok" if figure.passed else "**MISSED**"
        yield (
            f"* {word}: {figure.name}: {figure.worst:.3g}{seed}, "
            f"limit {' and '.join(bounds)} ({beside})"
        )
    yield ""


def _same(figure: Figure, limit: _FamilyLimit, values: Sequence[float]) -> float:
    """What a yardstick had of the same figure."""
    shown = tuple(values) if limit.of_every else (fmean(values),)
    return Figure("", shown, "", figure.least, figure.most, of_every=True).worst


def _what(rows: Sequence[LinkRow], *, is_training: bool) -> Iterator[str]:
    seeds = rows[0].seeds
    kind = "Training seeds (odd), not for results" if is_training else "Test seeds (even)"
    yield "## What was run"
    yield ""
    yield f"* {kind}: {seeds[0]} to {seeds[-1]}. A row has {len(seeds)} draws."
    for row in rows:
        yield f"* {row.family.name}: {row.family.text}"


def links_json(rows: Sequence[LinkRow]) -> str:
    """Verdict, and the figures of every draw."""
    judged = links_verdict(rows)
    return json.dumps(
        {
            "links": True,
            "passed": all(figure.passed for figure, _, _ in judged),
            "verdict": {figure.name: figure.as_json() for figure, _, _ in judged},
            "rows": [
                {
                    "family": row.family.name,
                    "seeds": row.seeds,
                    "draws": {kind: list(map(dict, seen)) for kind, seen in row.seen.items()},
                }
                for row in rows
            ],
        },
        indent=1,
    )
