"""Runs the C tests, so that pytest alone tells the whole truth: as built for speed, under ASan + UBSan, under TSan.

RSTREAM_PRESETS chooses (default: dev asan tsan).
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests import c_builds


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("preset", c_builds.PRESETS)
def test_c_tests_pass(preset: str) -> None:
    cmake = shutil.which("cmake")
    assert cmake is not None, "cmake is part of the group dev: run make setup"
    c_builds.wait()
    result = subprocess.run(
        [cmake, "--workflow", "--preset", preset],
        cwd=c_builds.TRANSPORT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, (result.stdout + result.stderr)[-8000:]
    assert "100% tests passed" in result.stdout
