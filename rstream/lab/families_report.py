"""The result of a comparison on families, as Markdown, as HTML and as JSON."""

from __future__ import annotations

import html
import itertools
import json
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING, Final

from rstream.lab.comparison import HEADROOM_LEAST, TARGETS_S, LabRow, verdict
from rstream.lab.families import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ("as_html", "as_json", "as_markdown", "passed")

#: Digits behind the point, by column; 2 for all others.
_DIGITS: Final = {"p50, ms": 1, "p99, ms": 1, "faults": 0, "fill NAKs, %": 3}
#: Columns whose last row is a sum; that of all others is a mean.
_SUMS: Final = ("overrun, MB", "faults")


def passed(rows: Sequence[LabRow]) -> bool:
    """Whether all limits hold."""
    return all(figure.passed for figure, _ in verdict(rows))


def as_markdown(rows: Sequence[LabRow], law: str, *, is_training: bool) -> str:
    """A table for each target delay, a verdict, and what was run."""
    return "\n".join(
        [*_tables(rows), *_verdict(rows), *_what(rows, law, is_training=is_training), ""]
    )


def _tables(rows: Sequence[LabRow]) -> Iterator[str]:
    for target_s in TARGETS_S:
        chosen = [row for row in rows if row.target_s == target_s]
        names = list(chosen[0].figures)
        yield f"## Target delay {target_s * 1e3:.0f} ms"
        yield ""
        yield _line(["family", *names])
        yield "|---|" + "---:|" * len(names)
        for row in chosen:
            yield _line([row.family.name, *_cells(row.figures)])
        if len(chosen) > 1:
            columns = {name: [row.figures[name] for row in chosen] for name in names}
            whole = {name: (sum if name in _SUMS else fmean)(columns[name]) for name in names}
            yield _line(["all", *_cells(whole)])
        yield ""


def _cells(figures: Mapping[str, float]) -> list[str]:
    return [f"{value:.{_DIGITS.get(name, 2)}f}" for name, value in figures.items()]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _verdict(rows: Sequence[LabRow]) -> Iterator[str]:
    judged = verdict(rows)
    missed = sum(not figure.passed for figure, _ in judged)
    yield f"## Verdict: {f'{missed} of {len(judged)} limits missed' if missed else 'passed'}"
    yield ""
    for figure, family in judged:
        limit = f">= {figure.least:g}" if figure.least is not None else f"<= {figure.most:g}"
        where = f" ({family})" if family and figure.worst else ""
        word = "ok" if figure.passed else "**MISSED**"
        yield f"* {word}: {figure.name}: {figure.worst:.3g}{where}, limit {limit}"
    yield ""


def _what(rows: Sequence[LabRow], law: str, *, is_training: bool) -> Iterator[str]:
    seeds = sorted({seen.draw.seed for row in rows for seen in row.seen})
    runs = [seen for row in rows if row.target_s == TARGETS_S[0] for seen in row.seen]
    by_agents = sum(seen.by_agents for seen in runs)
    safe = sum(seen.headroom >= HEADROOM_LEAST for seen in runs)
    yield "## What was run"
    yield ""
    yield f"* Law: {law}."
    kind = "Training seeds (odd), not for results" if is_training else "Test seeds (even)"
    yield f"* {kind}: {seeds[0]} to {seeds[-1]}. A row has {len(seeds)} draws of {SECONDS:g} s."
    yield f"* {by_agents} of {len(runs)} draws by real media drivers, the others by queues."
    yield f"* {safe} of {len(runs)} draws with X >= {HEADROOM_LEAST} at the first target delay."
    for row in rows:
        for seen in row.seen:
            if seen.is_fault:
                yield (
                    f"* Overrun at {row.target_s * 1e3:.0f} ms, {row.family.name}, seed "
                    f"{seen.draw.seed}{' by drivers' * seen.by_agents}: "
                    f"{seen.overrun_bytes / 1e6:.2f} MB with X = {seen.headroom:.2f}"
                )
    for family in {row.family.name: row.family for row in rows}.values():
        yield f"* {family.name}: {family.text}"


def as_html(markdown: str) -> str:
    """The headings, tables and lists of ``as_markdown`` in HTML."""
    parts: list[str] = []
    for kind, lines in itertools.groupby(markdown.splitlines(), lambda line: line[:1]):
        texts = [html.escape(line).replace("**", "") for line in lines]
        if kind == "|":
            rows = [text.strip("| ").split(" | ") for text in texts if not text.startswith("|---")]
            cells = "".join(f"<tr><td>{'<td>'.join(row)}" for row in rows)
            parts.append(f'<table style="border-spacing: 1em 0.2em">{cells}</table>')
        elif kind == "*":
            parts.append(f"<ul>{''.join(f'<li>{text[2:]}' for text in texts)}</ul>")
        elif kind == "#":
            parts += [f"<h2>{text[3:]}</h2>" for text in texts]
    return "\n".join(parts)


def as_json(rows: Sequence[LabRow]) -> str:
    """Verdict, figures, and every draw."""
    return json.dumps(
        {
            "families": True,
            "passed": passed(rows),
            "verdict": {figure.name: figure.as_json() for figure, _ in verdict(rows)},
            "rows": [
                {
                    "family": row.family.name,
                    "target_s": row.target_s,
                    "figures": row.figures,
                    "draws": [
                        {**asdict(seen), "draw": {"seed": seen.draw.seed}} for seen in row.seen
                    ],
                }
                for row in rows
            ],
        },
        indent=1,
    )
