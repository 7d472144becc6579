"""Builds the wheel and gives it the manylinux tag that its symbols allow."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "wheel"


def run(*command: str) -> str:
    """Its output; its whole output as the error when it fails."""
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{result.stdout}{result.stderr}")
    return result.stdout


def build() -> Path:
    """The path of a fresh wheel."""
    shutil.rmtree(OUT, ignore_errors=True)
    raw = OUT / "linux"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel"]
    run(
        *pip,
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--config-settings=build-dir=build/wheel/cmake",
        f"--wheel-dir={raw}",
        ".",
    )
    (made,) = raw.glob("*.whl")
    run(sys.executable, "-m", "auditwheel", "repair", f"--wheel-dir={OUT}", str(made))
    (repaired,) = OUT.glob("*.whl")
    shutil.rmtree(raw)
    return repaired
