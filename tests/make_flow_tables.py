"""Puts results into docs/results/flow.md: ``python -m tests.make_flow_tables FILE ...``.

A FILE is the output of ``rstream lab E… --json FILE``. It replaces that experiment's verdict and
table; other experiments, the text below each table, and E7's table (its form is its own) stay.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "results" / "flow.md"
#: The figures that the page shows, as a pattern per experiment; no entry: all of them.
ROWS = {
    "E2": r"death_(first|next)|hang",
    "E4": r"x(0.[468]|0.9|1|1.1|1.2|1.5|2)_overrun_bytes|x(0.9|1|1.1|1.2)_overrun_stops_share",
    "E5": r"jain|fair_from_s",
    "E6": r"goodput",
    "E8": r"calm_fill_naks$|overload_(fill_naks_most|control)",
    "E9": r"least_limit|recognised|after_recognition",
    "E10": r"first_to|last_|hop_",
}
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
        1
        if name.endswith("per_round_trip")
        else next(count for part, count in DIGITS if part in name)
    )
    return f"{value:.{digits}f}"


def limit_of(figure: dict[str, Any]) -> str:
    parts = [
        f"{sign} {figure[key]:.4g}"
        for key, sign in (("least", "≥"), ("most", "≤"))
        if figure.get(key) is not None
    ]
    return " ".join((*parts, "ok" if figure["passed"] else "**fails**")) if parts else ""


def row_of(name: str, result: dict[str, Any], laws: list[str]) -> str:
    figure = result["figures"][name]
    own = (
        f"{text_of(name, figure['mean'])}"
        f" [{text_of(name, figure['low'])}, {text_of(name, figure['high'])}]"
        if isinstance(figure["mean"], float | int)
        else "inf"
    )
    others = [
        text_of(name, other["mean"]) if (other := result["baselines"][law].get(name)) else "-"
        for law in laws
    ]
    return f"| {' | '.join([name, own, limit_of(figure), *others])} |"


def table_of(result: dict[str, Any]) -> str:
    laws = [law for law in LAWS if law in result["baselines"]]
    pattern = re.compile(ROWS.get(result["experiment"], ""))
    rows = [
        row_of(name, result, laws)
        for name, figure in result["figures"].items()
        if isinstance(figure, dict) and "mean" in figure and pattern.search(name)
    ]
    heads = (result["experiment"], "adaptive", "limit", *laws)
    return "\n".join((f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows))


def rewrite(page: str, result: dict[str, Any]) -> str:
    name = result["experiment"]
    section = re.compile(
        rf"^\*\*{name}: (?:passed|fails)\*\* (\(`rstream lab {name}.*\))\n\n(?:\|.*\n)+",
        re.MULTILINE,
    )
    if not (found := section.search(page)):
        raise SystemExit(f"{PAGE.name} has no table of {name}")
    verdict = "passed" if result["passed"] else "fails"
    title = f"**{name}: {verdict}** {found[1]}"
    return page[: found.start()] + f"{title}\n\n{table_of(result)}\n" + page[found.end() :]


def main() -> None:
    page = PAGE.read_text()
    for name in sys.argv[1:]:
        page = rewrite(page, json.loads(Path(name).read_text()))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
