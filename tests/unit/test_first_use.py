"""Threads that use rstream for the first time at the same moment."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
import rstream

sys.setswitchinterval(1e-6)
uses = {uses!r}
begin = threading.Barrier(len(uses))
failures = []

def run(use):
    begin.wait()
    try:
        exec(use, {{"rstream": rstream}})
    except BaseException as error:
        failures.append(f"{{use}}: {{error!r}}")

threads = [threading.Thread(target=run, args=(use,)) for use in uses]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failures)
sys.exit(bool(failures))
"""
#: Without the rule of decision 90 a quarter of the attempts fails.
ATTEMPTS = 4


@pytest.mark.parametrize(
    ("needs", "uses"),
    [
        ("reactivex", ("rstream.publisher", "rstream.subscriber", "import rstream.rx")),
        ("anyio", ("rstream.publisher", "import rstream.aio", "rstream.codecs", "rstream.work")),
        ("reactivex", ("rstream.service", "rstream.stages", "rstream.subscriber", "rstream.rx")),
    ],
)
def test_the_first_use_may_be_in_several_threads(needs: str, uses: tuple[str, ...]) -> None:
    pytest.importorskip(needs)
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(uses=uses)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
