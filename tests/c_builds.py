"""The builds of the C side that tests run, made once however many processes ask.

python -m tests.c_builds [PRESET ...]   builds them (default: dev).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.support import one_at_a_time

TRANSPORT = Path(__file__).resolve().parents[1] / "transport_ext"
BUILDS = TRANSPORT.parent / "build" / "c"

_running: subprocess.Popen[bytes] | None = None


class BuildError(Exception):
    """What CMake or the compiler said."""


def make(preset: str, *targets: str) -> Path:
    """Brings a build up to date and returns its folder. Other processes wait for their turn."""
    cmake = shutil.which("cmake")
    assert cmake is not None, "cmake is part of the group dev: run make setup"
    build = [cmake, "--build", "--preset", preset]
    if targets:
        build += ["--target", *targets]
    with one_at_a_time(f"c-{preset}"):
        cache = BUILDS / preset / "CMakeCache.txt"
        if cache.exists() and "CMAKE_GENERATOR:INTERNAL=Ninja\n" not in cache.read_text():
            cache.unlink()  # made by another generator, which CMake refuses
        for command in ([cmake, "--preset", preset], build):
            made = subprocess.run(
                command, cwd=TRANSPORT, capture_output=True, text=True, check=False
            )
            if made.returncode != 0:
                raise BuildError((made.stdout + made.stderr)[-8000:])
    return BUILDS / preset


def start() -> None:
    """Begin with the build of `make test` while tests that need none run, at low priority."""
    global _running
    _running = subprocess.Popen(
        ["nice", "-n", "19", sys.executable, "-m", "tests.c_builds"],
        cwd=TRANSPORT.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,  # no session of its own: Linux would give that an equal share of the cores
    )


def stop() -> None:
    """End what still runs."""
    if _running is not None and _running.poll() is None:
        os.killpg(_running.pid, signal.SIGTERM)
        _running.wait()


if __name__ == "__main__":
    for name in sys.argv[1:] or ["dev"]:
        make(name)
