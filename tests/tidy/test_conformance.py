"""docs/reference/conformance.md is complete.

Every behaviour of the list stands there once, every test that it names exists, its sums are right.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "conformance.md"
VECTORS = ROOT / "tests" / "vectors" / "aeron.json"
# The number of behaviours of each group.
GROUPS = {
    "A": 16,
    "B": 10,
    "C": 8,
    "D": 11,
    "E": 7,
    "F": 10,
    "G": 6,
    "H": 7,
    "I": 8,
    "J": 7,
    "K": 7,
    "L": 16,
    "M": 9,
    "N": 30,
    "O": 10,
    "P": 6,
}
IDS = [f"{group}{number}" for group, count in GROUPS.items() for number in range(1, count + 1)]
ROW = re.compile(r"^\| (?P<id>[A-P]\d+) \| (?P<what>[^|]*) \| (?P<tests>[^|]*) \|$", re.MULTILINE)
VECTOR_ROW = re.compile(r"^\| (?P<section>[a-z_]+) \| (?P<tests>[^|]*) \|$", re.MULTILINE)
NAMED = re.compile(r"`(?P<path>[\w/]+\.(?:c|py))(?:::(?P<name>\w+)|: (?P<names>[\w, ]+))`")
SUMS = re.compile(
    r"Of (\d+) lines \*\*(\d+) are shown\*\*, \*\*(\d+) partly\*\* .*\*\*(\d+) not\*\*"
)


@cache
def names_in(path: str) -> frozenset[str]:
    text = (ROOT / path).read_text()
    if path.endswith(".c"):
        defined, run = (
            re.findall(r"^TEST\((\w+)\)", text, re.MULTILINE),
            re.findall(r"\bRUN\((\w+)\)", text),
        )
        return frozenset(defined) & frozenset(run)
    return frozenset(
        n.name
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name.startswith("test_")
    )


def named(cell: str) -> list[tuple[str, str]]:
    found = [
        (m["path"], name)
        for m in NAMED.finditer(cell)
        for name in (m["names"].split(", ") if m["names"] else [m["name"]])
    ]
    assert cell.count("`") >= 2 * len(list(NAMED.finditer(cell)))
    return found


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(PAGE.read_text()))


def test_every_behaviour_is_listed_once_and_in_order() -> None:
    assert [row["id"] for row in rows()] == IDS


def test_no_line_is_empty() -> None:
    for row in rows():
        assert row["what"].strip(), row["id"]
        assert named(row["tests"]) or re.search(r"\*\*not shown\*\*: \w", row["tests"]), row["id"]


def test_every_named_test_exists_and_runs() -> None:
    missing = [
        f"{path}: {name}"
        for match in NAMED.finditer(PAGE.read_text())
        for path, name in named(match[0])
        if name not in names_in(path)
    ]
    assert not missing


def test_the_sums_are_right() -> None:
    kinds = Counter(
        "not"
        if "**not shown**" in row["tests"]
        else "partly"
        if "**partly**" in row["tests"]
        else "shown"
        for row in rows()
    )
    sums = SUMS.search(PAGE.read_text())
    assert sums is not None
    assert [int(number) for number in sums.groups()] == [
        len(IDS),
        kinds["shown"],
        kinds["partly"],
        kinds["not"],
    ]


def test_every_section_of_the_vectors_is_used() -> None:
    sections = [name for name in json.loads(VECTORS.read_text()) if not name.startswith("_")]
    used = {row["section"]: named(row["tests"]) for row in VECTOR_ROW.finditer(PAGE.read_text())}
    assert list(used) == sections
    for section, tests in used.items():
        assert tests, section
        for path, _ in tests:
            assert '#include "tests/vectors/' in (ROOT / path).read_text(), path
