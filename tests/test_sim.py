"""The simulator's runs that the checks make.

`make test`: a fixed hundred, the kept seeds. `make check-ci`: 300 fresh ones. `make check-all`: a
fixed thousand and the fresh ones.
"""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from tests import c_builds

KEPT = c_builds.TRANSPORT / "tests" / "sim" / "seeds.txt"


@pytest.fixture(scope="module")
def sim() -> Path:
    return c_builds.make("dev", "sim") / "tests" / "sim" / "sim"


def run(sim: Path, *arguments: str) -> str:
    result = subprocess.run([str(sim), *arguments], capture_output=True, text=True, check=False)
    print(result.stdout[-3000:])
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


@pytest.mark.timeout(300)
def test_a_fixed_hundred_runs_are_clean(sim: Path) -> None:
    run(sim, "--seeds", "100", "--from", "1")


@pytest.mark.timeout(300)
def test_a_fixed_hundred_runs_with_keys_are_clean(sim: Path) -> None:
    run(sim, "--seeds", "100", "--from", "1", "--keys", "always")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_fixed_thousand_runs_are_clean(sim: Path) -> None:
    run(sim, "--seeds", "900", "--from", "101")


@pytest.mark.ci
@pytest.mark.timeout(600)
def test_300_fresh_runs_are_clean(sim: Path) -> None:
    first = random.SystemRandom().randrange(1 << 40)
    print(f"fresh seeds from {first}")
    run(sim, "--seeds", "300", "--from", str(first))


@pytest.mark.timeout(300)
def test_seeds_that_once_found_a_bug_stay_clean(sim: Path) -> None:
    for line in KEPT.read_text().splitlines():
        if arguments := line.partition("#")[0].split():
            run(sim, "--seed", *arguments, "--quiet")


@pytest.mark.timeout(60)
def test_one_seed_is_one_run(sim: Path) -> None:
    for seed in ("11", "12", "13", "14", "15"):
        hashes = {
            re.findall(r"hash ([0-9a-f]{16})", run(sim, "--seed", seed, "--quiet"))[0]
            for _ in range(2)
        }
        assert len(hashes) == 1
