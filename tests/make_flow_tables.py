"""Puts results into docs/results/flow.md: ``python -m tests.make_flow_tables FILE ...``.

A FILE is the output of ``rstream lab E… --json FILE``. A table keeps its rows, which are a choice
of the figures. These stay as they are: experiments without a file, laws that a file does not have,
and E7, whose table has its own form.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "results" / "flow.md"
HEAD = re.compile(r"^\*\*(E\d+): (?:passed|fails)\*\* \(`rstream lab \1`\)$", re.MULTILINE)
LAWS = ("credit", "static", "aimd", "nak", "cubic")
DIGITS = (
    ("overrun_share", 4),
    ("share", 3),
    ("utilisation", 3),
    ("distance", 3),
    ("jain", 3),
    ("goodput", 3),
    ("per_mb", 0),
    ("fill_naks", 0),
    ("", 1),
)


def text_of(name: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return "inf"  # JSON cannot represent infinity
    if abs(value) >= 1e5:
        return f"{value:.3g}"
    if name.endswith("_bytes"):
        return f"{value:.0f}"
    digits = (
        1 if name.endswith("per_window") else next(count for part, count in DIGITS if part in name)
    )
    return f"{value:.{digits}f}"


def limit_of(figure: dict[str, Any]) -> str:
    parts = [
        f"{sign} {figure[key]:.4g}"
        for key, sign in (("least", "≥"), ("most", "≤"))
        if figure.get(key) is not None
    ]
    return " ".join((*parts, "ok" if figure["passed"] else "**fails**")) if parts else ""


def row_of(name: str, result: dict[str, Any], laws: list[str], before: list[str]) -> str:
    """``before``: the present cells of the other laws."""
    figure = result["figures"][name]
    own = (
        f"{text_of(name, figure['mean'])}"
        f" [{text_of(name, figure['low'])}, {text_of(name, figure['high'])}]"
        if isinstance(figure["mean"], float | int)
        else "inf"
    )
    others = [
        cell
        if law not in result["baselines"]
        else "-"
        if (other := result["baselines"][law].get(name)) is None
        else text_of(name, other["mean"])
        for law, cell in zip(laws, before, strict=True)
    ]
    cells = [name, own, limit_of(figure), *others]
    return f"| {' | '.join(cells)} |"


def rewrite(page: str, result: dict[str, Any]) -> str:
    heads = list(HEAD.finditer(page))
    for index, head in enumerate(heads):
        if head[1] != result["experiment"]:
            continue
        end = heads[index + 1].start() if index + 1 < len(heads) else len(page)
        section = page[head.end() : end]
        laws = [law for law in LAWS if f"| {law} " in section.split("\n|---")[0]]
        lines = [
            row_of(cells[1].strip(), result, laws, [cell.strip() for cell in cells[4:-1]])
            if (cells := line.split("|"))[0] == ""
            and len(cells) > 2
            and cells[1].strip() in result["figures"]
            else line
            for line in section.split("\n")
        ]
        verdict = "passed" if result["passed"] else "fails"
        title = f"**{head[1]}: {verdict}** (`rstream lab {head[1]}`)"
        return page[: head.start()] + title + "\n".join(lines) + page[end:]
    raise SystemExit(f"{PAGE.name} has no table of {result['experiment']}")


def main() -> None:
    page = PAGE.read_text()
    for name in sys.argv[1:]:
        page = rewrite(page, json.loads(Path(name).read_text()))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
