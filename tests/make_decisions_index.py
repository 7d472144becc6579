"""Makes the list of docs/explanation/decisions/index.md: ``python -m tests.make_decisions_index``.

Each record has a title, and a status whose first word is accepted, superseded or open. What its
first sentence says beyond "accepted" stands behind the title.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "decisions"
PAGE = FOLDER / "index.md"
BEGIN, END = "<!-- records -->\n", "<!-- end of records -->\n"
LINE_LENGTH_MAX = 100


def records() -> list[Path]:
    return sorted(FOLDER.glob("[0-9]*.md"))


def status(text: str) -> str:
    """The first sentence of the status, in one line and without links; empty: there is none."""
    match = re.search(
        r"^Status: ((?:accepted|superseded|open)\b.*?)(?:\.\s|\.?\n\n)", text, re.M | re.S
    )
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(match[1].split())) if match else ""


def row(record: Path) -> str:
    text = record.read_text()
    title = text.partition("\n")[0].removeprefix("# ")
    remark = status(text).removeprefix("accepted").lstrip("; ")
    line = f"* [{title}]({record.name})" + (f" ({remark})" if remark else "")
    return textwrap.fill(
        line,
        LINE_LENGTH_MAX,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def page(text: str) -> str:
    """The page with a new list."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join(map(row, records())) + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
