"""docs/conformance.md counts the tests that there are: ``python -m tests.make_conformance``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest

from tests.make_conformance import FACES, MATRIX, MEDIA, PAGE, ROOT, Place, place_of

ROW = re.compile(
    r"^\| (?P<verification>[^|]+) \| (?P<face>[^|]+) \| (?P<medium>[^|]+) \|"
    r" (?P<passed>\d+) \| (?P<skipped>\d+) \| (?P<untested>\d+) \| (?P<failed>\d+) \|$",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def rows() -> dict[Place, re.Match[str]]:
    classes = {text: face for face, text in FACES.items()}
    return {
        Place(classes[row["verification"], row["face"]], row["medium"]): row
        for row in ROW.finditer(PAGE.read_text())
    }


def test_each_row_counts_its_tests(rows: dict[Place, re.Match[str]]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "", *MATRIX]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    collected = Counter(place_of(line)[0] for line in listed.splitlines() if "::" in line)
    counts = {
        place: sum(int(row[kind]) for kind in ("passed", "skipped", "untested"))
        for place, row in rows.items()
    }
    assert counts == dict(collected)


def test_nothing_failed_and_every_face_is_there(rows: dict[Place, re.Match[str]]) -> None:
    assert {place.face for place in rows} == set(FACES)
    assert {place.medium for place in rows} == set(MEDIA)
    for place, row in rows.items():
        assert row["failed"] == "0", place
        assert int(row["passed"]) > 0, place
