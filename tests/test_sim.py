"""The simulator's runs that every check makes: a fixed thousand, a hundred fresh ones, the kept seeds."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests import c_builds

if TYPE_CHECKING:
    from pathlib import Path

TRANSPORT = c_builds.TRANSPORT
BUILD = TRANSPORT.parent / "build" / "c" / "dev"  # the one of test_ctest: nothing is built twice
KEPT = TRANSPORT / "tests" / "sim" / "seeds.txt"


@pytest.fixture(scope="module")
def sim() -> Path:
    cmake = shutil.which("cmake")
    assert cmake is not None, "cmake is part of the group dev: run make setup"
    c_builds.wait()
    for command in (
        [cmake, "--preset", "dev"],
        [cmake, "--build", "--preset", "dev", "--target", "sim"],
    ):
        made = subprocess.run(command, cwd=TRANSPORT, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout + made.stderr
    return BUILD / "tests" / "sim" / "sim"


def run(sim: Path, *arguments: str) -> str:
    result = subprocess.run([str(sim), *arguments], capture_output=True, text=True, check=False)
    print(result.stdout[-3000:])
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


@pytest.mark.timeout(900)
def test_a_fixed_thousand_runs_are_clean(sim: Path) -> None:
    run(sim, "--seeds", "1000", "--from", "1")


@pytest.mark.timeout(300)
def test_a_hundred_fresh_runs_are_clean(sim: Path) -> None:
    first = random.SystemRandom().randrange(1 << 40)
    print(f"fresh seeds from {first}")
    run(sim, "--seeds", "100", "--from", str(first))


@pytest.mark.timeout(300)
def test_seeds_that_once_found_a_bug_stay_clean(sim: Path) -> None:
    for line in KEPT.read_text().splitlines():
        if seed := line.partition("#")[0].strip():
            run(sim, "--seed", seed, "--quiet")


@pytest.mark.timeout(60)
def test_one_seed_is_one_run(sim: Path) -> None:
    for seed in ("11", "12", "13", "14", "15"):
        hashes = {
            re.findall(r"hash ([0-9a-f]{16})", run(sim, "--seed", seed, "--quiet"))[0]
            for _ in range(2)
        }
        assert len(hashes) == 1
