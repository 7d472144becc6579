"""Type checkers see what a user sees: types for right programs, errors for wrong ones.

They read the programs of this folder as a user's own code, with the strictest settings.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs in a folder outside this checkout, without its settings."""
    return Path(shutil.copytree(PROGRAMS, tmp_path_factory.mktemp("user") / "programs"))


@pytest.fixture(scope="module", params=["pyright", "mypy"])
def errors(request: pytest.FixtureRequest, folder: Path) -> dict[str, dict[int, str]]:
    """File and line of each error, with its text."""
    tool = request.param
    if not (BIN / tool).exists():
        pytest.skip(f"{tool} is not installed")
    return _pyright(folder) if tool == "pyright" else _mypy(folder)


def _pyright(folder: Path) -> dict[str, dict[int, str]]:
    done = subprocess.run(
        [BIN / "pyright", "--pythonpath", sys.executable, "--outputjson", folder],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, dict[int, str]] = {}
    for item in json.loads(done.stdout)["generalDiagnostics"]:
        if item["severity"] == "error":
            line = item["range"]["start"]["line"] + 1
            found.setdefault(Path(item["file"]).name, {})[line] = item["message"]
    return found


def _mypy(folder: Path) -> dict[str, dict[int, str]]:
    done = subprocess.run(
        [
            *(BIN / "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"),
            *("--cache-dir", ROOT / "build" / "mypy-cache", "--python-executable", sys.executable),
            *("right.py", "wrong.py"),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode < 2, done.stdout + done.stderr
    found: dict[str, dict[int, str]] = {}
    for match in re.finditer(r"^(\w+\.py):(\d+): error: (.*)$", done.stdout, re.MULTILINE):
        found.setdefault(match[1], {})[int(match[2])] = match[3]
    return found


def test_right_programs_are_accepted_with_the_types_that_they_state(errors) -> None:
    assert errors.get("right.py", {}) == {}


def test_wrong_programs_are_refused_where_they_are_wrong(errors) -> None:
    lines = (PROGRAMS / "wrong.py").read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    found = errors.get("wrong.py", {})
    assert len(marked) > 10
    assert marked - set(found) == set(), "not reported"
    assert {n: text for n, text in found.items() if n not in marked} == {}
