"""The builds of the C tests, made at the lowest priority while other tests wait for time to pass.

The tests that need them wait for the end and then build themselves, which does nothing when all went well and
tells the reason when it did not.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

TRANSPORT = Path(__file__).resolve().parents[1] / "transport_ext"
PRESETS = os.environ.get("RSTREAM_PRESETS", "dev asan tsan").split()

_running: subprocess.Popen[bytes] | None = None


def start() -> None:
    """Begin with all of them, in the background; nothing without CMake."""
    global _running
    if shutil.which("cmake") is None or _running is not None:
        return
    steps = [
        f"cmake --preset {preset} && cmake --build --preset {preset} --parallel 2"
        for preset in PRESETS
    ]
    _running = subprocess.Popen(
        ["nice", "-n", "19", "sh", "-c", "; ".join(steps)],
        cwd=TRANSPORT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait() -> None:
    """Until they are made, or were given up."""
    if _running is not None:
        _running.wait()


def stop() -> None:
    """End what still runs."""
    if _running is not None and _running.poll() is None:
        os.killpg(_running.pid, signal.SIGTERM)
        _running.wait()
