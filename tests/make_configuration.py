"""Makes the tables of docs/reference/configuration.md: ``python -m tests.make_configuration``.

The tables come from the driver's own. The text outside the two pairs of markers is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

from rstream import _core

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "configuration.md"


def cell(text: str) -> str:
    return text.replace("|", "\\|") if text else "–"


def options_table() -> list[str]:
    aeron: dict[str, list[tuple[str, str]]] = {}
    for name, variable, option, _ in _core.aeron_names():
        if option is not None:
            aeron.setdefault(option, []).append((name, variable))
    lines = [
        "| flag | variable | Aeron's property | Aeron's variable | default | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for option, default, text in _core.driver_options():
        names = aeron.pop(option, [])
        own = f"`RSTREAM_{option.upper().replace('-', '_')}`"
        properties = ", ".join(f"`{name}`" for name, _ in names)
        variables = ", ".join(dict.fromkeys(f"`{variable}`" for _, variable in names))
        lines.append(
            f"| `--{option}` | {own} | {cell(properties)} | {cell(variables)} | {cell(default)}"
            f" | {cell(text)} |"
        )
    assert not aeron, f"names for options that do not exist: {aeron}"
    return lines


def without_effect_table() -> list[str]:
    lines = ["| property | variable | why |", "|---|---|---|"]
    lines += [
        f"| `{name}` | `{variable}` | {why} |"
        for name, variable, option, why in _core.aeron_names()
        if option is None
    ]
    return lines


def page(text: str) -> str:
    """The page with new tables."""
    for marker, table in (("options", options_table()), ("without effect", without_effect_table())):
        begin, end = f"<!-- {marker} -->\n", f"<!-- end of {marker} -->\n"
        made = begin + "\n".join(table) + "\n" + end
        text, count = re.subn(
            re.escape(begin) + ".*?" + re.escape(end),
            made.replace("\\", r"\\"),
            text,
            flags=re.DOTALL,
        )
        assert count == 1, f"{PAGE.name} has no place for {marker}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
