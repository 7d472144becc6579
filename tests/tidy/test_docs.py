"""The house rules of text: links and cited documents exist, lines and cells are short."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import make_decisions_index

ROOT = Path(__file__).resolve().parents[2]
LINE_LENGTH_MAX = 100
#: Characters of a table's cell, without code and link targets: more is a paragraph.
CELL_LENGTH_MAX = 240
TEXTS = {".c", ".h", ".py", ".pyi", ".md", ".txt", ".toml", ".sh", ".pml", ".ipynb"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CITED = re.compile(r"(?<![\w/.-])docs/[\w./-]*\w")
DECISION = re.compile(r"\bdecisions?[ \n*]+(\d+)\b", re.IGNORECASE)
#: A page of Aeron's facts and the sections that a comment names, also over the end of a line.
SECTIONS = re.compile(
    r"(docs/reference/aeron/\w+\.md)((?:(?:,|\s|\*|#|and\b|to\b)*(?<![\w.])\d+(?:\.\d+)?(?!\w))+)"
)
CODE = re.compile(r"`[^`\n]*`")


@cache
def files(*names: str) -> list[Path]:
    """Files with one of these suffixes or names, except built and hidden ones."""
    found = [
        path
        for path in sorted(ROOT.rglob("*"))
        if (path.suffix in names or path.name in names)
        and not any(
            part in {"build", "dist"} or part.startswith(".")
            for part in path.relative_to(ROOT).parts[:-1]
        )
    ]
    assert len(found) > 5
    return found


def without_code(text: str) -> str:
    """The text with its fenced code blanked; line numbers stay."""
    inside = False
    lines = []
    for line in text.splitlines():
        is_fence = line.lstrip().startswith("```")
        inside ^= is_fence
        lines.append("" if inside or is_fence else line)
    return "\n".join(lines)


def prose(text: str) -> str:
    """The text without fenced code and code spans."""
    return CODE.sub("", without_code(text))


def dead_links(path: Path, text: str) -> Iterator[str]:
    text = prose(text)
    for match in LINK.finditer(text):
        target = match[1].partition("#")[0]
        if target and "://" not in target and not (path.parent / target).exists():
            yield f"{text.count(chr(10), 0, match.start()) + 1}: {target} does not exist"


def dead_citations(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        for match in CITED.finditer(line):
            if not (ROOT / match[0]).exists():
                yield f"{number}: {match[0]} does not exist"


@cache
def headings(page: str) -> frozenset[str]:
    path = ROOT / page
    text = path.read_text() if path.exists() else ""
    return frozenset(re.findall(r"^#+ (\d+(?:\.\d+)?)", text, re.MULTILINE))


def dead_sections(path: Path, text: str) -> Iterator[str]:
    for match in SECTIONS.finditer(text):
        for section in re.findall(r"\d+(?:\.\d+)?", match[2]):
            if section not in headings(match[1]):
                number = text.count("\n", 0, match.start()) + 1
                yield f"{number}: {match[1]} has no section {section}"


def dead_decisions(path: Path, text: str) -> Iterator[str]:
    known = {int(record.name[:4]) for record in make_decisions_index.records()}
    for match in DECISION.finditer(text):
        if int(match[1]) not in known:
            yield f"{text.count(chr(10), 0, match.start()) + 1}: there is no decision {match[1]}"


def long_lines(path: Path, text: str) -> Iterator[str]:
    """Code is left out: formatters know it, and the output of a program may have any length."""
    for number, line in enumerate(without_code(text).splitlines(), 1):
        is_table = line.lstrip().startswith("|")
        if len(line) > LINE_LENGTH_MAX and not is_table and "://" not in line:
            yield f"{number}: {len(line)} characters"


def long_cells(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(prose(text).splitlines(), 1):
        cells = re.split(r"(?<!\\)\|", re.sub(r"\]\([^)]*\)", "]", line))
        for cell in cells if line.startswith("|") else ():
            if len(cell.strip()) > CELL_LENGTH_MAX:
                yield f"{number}: a cell of {len(cell.strip())} characters"


Rule = Callable[[Path, str], Iterator[str]]
#: Each rule, the suffixes and names of its files, and an example that it must catch.
RULES: dict[str, tuple[Rule, tuple[str, ...], str]] = {
    "links lead somewhere": (dead_links, (".md",), "See [there](no/such/page.md#part)."),
    "cited documents exist": (
        dead_citations,
        (*TEXTS, "Makefile"),
        "/* source: " + "docs/" + "none.md. */",
    ),
    "cited sections exist": (
        dead_sections,
        (*TEXTS, "Makefile"),
        "/* " + "docs/reference/aeron/wire.md 9.4 and\n * 99.1 */",
    ),
    "cited decisions exist": (dead_decisions, (*TEXTS, "Makefile"), "/* " + "decision " + "0 */"),
    "lines are short": (long_lines, (".md",), "word " * 21),
    "cells are short": (long_cells, (".md",), "| a | " + "word " * 49 + "|"),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    rule, suffixes, _ = RULES[name]
    found = [
        f"{path.relative_to(ROOT)}:{problem}"
        for path in files(*suffixes)
        for problem in rule(path, path.read_text(errors="replace"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", RULES)
def test_rule_catches_its_example(name: str) -> None:
    rule, _, example = RULES[name]
    assert list(rule(ROOT / "example.md", example))


def test_code_and_addresses_are_left_alone() -> None:
    text = (
        "Call `a[0](b)`, see [it](https://example.org/none), [below](#part).\n"
        + "https://"
        + "x" * 200
    )
    for rule, _, _ in RULES.values():
        assert not list(rule(ROOT / "example.md", text))


def test_each_decision_has_a_status_and_is_listed() -> None:
    found = make_decisions_index.records()
    assert len({path.name[:4] for path in found}) == len(found)
    assert not [path.name for path in found if not make_decisions_index.status(path.read_text())]
    text = make_decisions_index.PAGE.read_text()
    assert make_decisions_index.page(text) == text, "run: python -m tests.make_decisions_index"
