"""Makes the table of docs/reference/errors.md: ``python -m tests.make_errors_page``.

Code and meaning come from the classes in rstream.errors. The last column, what to do, is written by
hand and kept.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from rstream import errors

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "errors.md"
BEGIN, END = "<!-- errors -->\n", "<!-- end of errors -->\n"
ROW = re.compile(
    r"^\| (?:… )*`(?P<name>\w+)` [^|]* \| [^|]* \| (?P<advice>[^|]*?) ?\|$", re.MULTILINE
)


def family(base: type[errors.RStreamError]) -> list[tuple[int, type[errors.RStreamError]]]:
    """The class and all its subclasses, each with its depth, in the order of definition."""
    found = [(0, base)]
    for child in base.__subclasses__():
        if child.__module__ == errors.__name__:
            found += [(depth + 1, error) for depth, error in family(child)]
    return found


def meaning(error: type[errors.RStreamError]) -> str:
    """The first paragraph of the docstring as one line of Markdown."""
    text = (inspect.getdoc(error) or "").split("\n\n")[0]
    return " ".join(text.replace("``", "`").split())


def table(advice: dict[str, str]) -> list[str]:
    lines = ["| exception and code | meaning | what to do |", "|---|---|---|"]
    for depth, error in family(errors.RStreamError):
        name = error.__name__
        lines.append(
            f"| {'… ' * depth}`{name}` `{error.default_code}` | {meaning(error)} |"
            f" {advice.get(name, '')} |"
        )
    return lines


def page(text: str) -> str:
    """The page with a new table."""
    head, _, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert end, f"{PAGE.name} has no place for the table"
    advice = {row["name"]: row["advice"] for row in ROW.finditer(rest)}
    return head + BEGIN + "\n".join(table(advice)) + "\n" + END + tail


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
