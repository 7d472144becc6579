"""The C tests, so that pytest alone tells the whole truth.

As built for speed in `make test`; under ASan and UBSan in `make check-ci`; under TSan too in
`make check-all`.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests import c_builds


def _what_failed(output: str) -> str:
    """ctest's output without the lines of the tests that passed: the checks and their seeds."""
    lines = output.splitlines()
    return "\n".join(
        line for line in lines if " Passed " not in line and not line.strip().startswith("Start ")
    )[-8000:]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "preset",
    [
        "dev",
        pytest.param("asan", marks=pytest.mark.ci),
        pytest.param("tsan", marks=pytest.mark.long),
    ],
)
def test_c_tests_pass(preset: str) -> None:
    c_builds.make(preset)
    ctest = shutil.which("ctest")
    assert ctest is not None, "ctest comes with cmake: run make setup"
    result = subprocess.run(
        [ctest, "--preset", preset],
        cwd=c_builds.TRANSPORT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, _what_failed(result.stdout + result.stderr)
    assert "100% tests passed" in result.stdout
