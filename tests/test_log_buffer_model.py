"""The model of the log buffer (transport_ext/tests/model/log_buffer.pml), explored by spin.

What must hold: no assertion fails and no run gets stuck in any order of accesses, with plain stores
delayed at will and, in one run, a producer that dies anywhere; each deliberate fault is found.
`make prove ARGS=model` explores larger runs (RSTREAM_MODEL_LARGE).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parents[1] / "transport_ext" / "tests" / "model" / "log_buffer.pml"
FAULTS = {
    1: "commit without release",
    2: "rotation without compare",
    3: "limit before cleaning",
    4: "cleaner too far",
    5: "padding left",
    6: "unblocking too early",
}
IS_LARGE = os.environ.get("RSTREAM_MODEL_LARGE", "") == "1"
# The number of messages of each of two producers, and whether one of them may die.
SIZES = [(2, 1), (3, 0)] if IS_LARGE else [(1, 1), (2, 0)]

pytestmark = [pytest.mark.timeout(900)]


def explore(place: Path, fault: int, messages: int, deaths: int) -> str:
    """The report of spin."""
    if shutil.which("spin") is None:
        pytest.skip("spin is not installed")
    steps = (
        [
            "spin",
            "-a",
            f"-DFAULT={fault}",
            f"-DMESSAGES={messages}",
            f"-DDEATHS={deaths}",
            str(MODEL),
        ],
        [
            os.environ.get("CC", "cc"),
            "-O2",
            "-w",
            "-DSAFETY",
            "-DCOLLAPSE",
            "-DMEMLIM=6000",
            "-o",
            "pan",
            "pan.c",
        ],
        ["./pan", "-m200000"],
    )
    text = ""
    for step in steps:
        result = subprocess.run(step, cwd=place, capture_output=True, text=True, check=False)
        text = result.stdout + result.stderr
        assert result.returncode == 0, f"{step}: {text[-2000:]}"
    return text


@pytest.mark.parametrize(("messages", "deaths"), SIZES)
def test_every_order_is_right(tmp_path: Path, messages: int, deaths: int) -> None:
    """A14, N21."""
    report = explore(tmp_path, 0, messages, deaths)
    states = re.search(r"(\S+) states, stored", report)
    assert states is not None
    print(f"{messages} messages each, {deaths} deaths: {states[1]} states")
    assert "errors: 0" in report
    assert "max search depth too small" not in report


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=[pytest.mark.long] * (fault > 2)) for fault in FAULTS]
)
def test_each_fault_is_found(tmp_path: Path, fault: int) -> None:
    report = explore(tmp_path, fault, 2, 1)
    assert "errors: 1" in report, FAULTS[fault]
