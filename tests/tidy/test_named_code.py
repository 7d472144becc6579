"""Pages for maintainers name files, and functions and classes in them: all of these exist.

A name in code behind a file (`` `rstream/x.py`: `name` ``) is one of that file, up to the next file
or the next item of the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.test_docs import without_code

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/explanation/walk.md", "docs/glossary.md")
TOKEN = re.compile(r"`(?P<code>[^`]+)`|^(?P<item>\d+\. |\* |#|\*\*)", re.MULTILINE)
FILE = re.compile(r"(?:rstream|transport_ext|tests)/[\w./]+")
NAME = re.compile(r"[A-Za-z_][\w.]*")


def missing(text: str) -> Iterator[str]:
    """Files and names that do not exist."""
    source = None
    for match in TOKEN.finditer(without_code(text)):
        code = match["code"]
        if code is None:
            source = None
        elif FILE.fullmatch(code) and "example" not in code:
            path = ROOT / code
            if not path.exists():
                yield f"{code} does not exist"
            source = path.read_text() if path.is_file() else None
        elif source is not None and NAME.fullmatch(code):
            for word in code.split("."):
                if not re.search(rf"\b{word}\b", source):
                    yield f"{path.relative_to(ROOT)} has no {word}"


def test_the_tables_of_rooms_are_complete() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text()
    rooms = {one.name for one in (ROOT / "transport_ext").iterdir() if one.is_dir()} - {"build"}
    rooms |= {one.name.partition(".")[0] for one in (ROOT / "rstream").iterdir()} - {"py"}
    rows = re.findall(r"^\| [-–\d]+ \| ([^|]*) \|", text, re.MULTILINE)
    listed = {room for row in rows for room in re.findall(r"`(\w+)`", row)}
    assert {room for room in rooms if room[:1] not in ("", "_", ".")} <= listed


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    assert len(FILE.findall(text)) > 5
    assert not list(missing(text))


def test_files_of_the_recipes_exist() -> None:
    found = [one for one in missing((ROOT / "CONTRIBUTING.md").read_text()) if "exist" in one]
    assert not found


@pytest.mark.parametrize(
    "text", ["1. `rstream/stream/_none.py`", "* `rstream/errors.py`: `RStreamError`, `NoSuchError`"]
)
def test_a_wrong_name_is_found(text: str) -> None:
    assert list(missing(text))
