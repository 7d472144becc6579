"""Finds a Python for pyaeron and makes a small environment in build/, or skips with the reason."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.aeron import KINDS, Aeron, aeron_of
from tests.interop.java import MissingError
from tests.support import one_at_a_time

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / "build" / "interop-venv"


def _candidates() -> list[str]:
    found = [sys.executable] if sys.version_info >= (3, 12) else []
    for name in ("python3.12", "python3.13", "python3.14"):
        path = shutil.which(name)
        if path:
            found.append(path)
    for root in (os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")):
        if root:
            found += sorted(glob.glob(f"{root}/versions/3.1[2-9]*/bin/python3"))
    return found


def _works(python: str) -> bool:
    result = subprocess.run([python, "-c", "import pyaeron"], capture_output=True, check=False)
    return result.returncode == 0


@pytest.fixture(scope="session")
def aeron_python() -> str:
    """A Python that imports pyaeron."""
    with one_at_a_time("interop-venv"):
        return _aeron_python()


def _aeron_python() -> str:
    python = ENVIRONMENT / "bin" / "python"
    if python.exists() and _works(str(python)):
        return str(python)
    reason = "no Python 3.12 or newer found"
    for candidate in _candidates():
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        made = subprocess.run(
            [candidate, "-m", "venv", str(ENVIRONMENT)], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            reason = f"{candidate} -m venv: {made.stderr.strip()[-200:]}"
            continue
        install = [
            str(python),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "pyaeron",
        ]
        result = subprocess.run(install, capture_output=True, text=True, check=False)
        if result.returncode == 0 and _works(str(python)):
            return str(python)
        reason = f"pip install pyaeron with {candidate}: {result.stderr.strip()[-300:]}"
    pytest.skip(f"no real Aeron peer: {reason}")


@pytest.fixture(params=KINDS)
def aeron(request: pytest.FixtureRequest, aeron_python: str) -> Aeron:
    """Aeron in C, and in Java, current and older."""
    try:
        return aeron_of(str(request.param), aeron_python)
    except MissingError as error:
        pytest.skip(f"no {request.param} peer: {error}")
