"""Each example runs as its first lines say.

The flights have a target of their own: ``make demo``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import free_port

ROOT = Path(__file__).parent.parent
LAST_SCORE = "{'last': 999, 'sum': 504}"


def run(name: str, driver_dir: str, *arguments: str) -> str:
    """The output of an example, after it and its processes have ended."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", f"examples/{name}", *arguments],
        cwd=ROOT,
        env={**os.environ, "RSTREAM_DIR": driver_dir, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        pytest.fail(f"{name} did not end; it printed:\n{output}")
    assert process.returncode == 0, output
    return output


def test_hello(driver_dir: str) -> None:
    assert run("hello.py", driver_dir).splitlines() == ["{'px': 0}", "{'px': 1}", "{'px': 2}"]


def test_udp(driver_dir: str) -> None:
    output = run("udp.py", driver_dir, f"127.0.0.1:{free_port()}")
    assert output.splitlines() == ["10000 messages, complete and in order"]


def test_async_send(driver_dir: str) -> None:
    assert sorted(run("async_send.py", driver_dir).splitlines()) == [
        "reader: 3000 readings",
        "writer: send waited: True; the loop went on meanwhile: True",
    ]


@pytest.mark.integration
def test_rx_pipeline(driver_dir: str) -> None:
    pytest.importorskip("reactivex", reason="reactivex is not installed")
    lines = run("rx_pipeline.py", driver_dir).splitlines()
    scores = [line for line in lines if line.startswith("{")]
    assert len(scores) == 9
    assert "pipeline: 9 scores sent" in lines
    assert scores[-1] == LAST_SCORE


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_says_what_for_and_how(name: str) -> None:
    first = (ROOT / "examples" / name).read_text().split('"""')[1]
    assert first.startswith("Goal: ")
    assert f"Run: python examples/{name}" in first
