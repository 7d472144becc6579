"""`make fuzz SECONDS=n`: each fuzz target for n seconds under ASan and UBSan, from the corpus.

python -m tests.fuzz [SECONDS]   (default 60)
A finding prints its input as hex. Keep it as a file in transport_ext/fuzz/corpus/<target>/: every
later run replays it. The same seed gives the same run:
RSTREAM_SEED.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import c_builds

ROOT = Path(__file__).resolve().parents[1]
TRANSPORT = ROOT / "transport_ext"
FINDING_CHARACTERS = 4000


def run_fuzzers(amount: Callable[[str], str]) -> tuple[bool, list[str]]:
    """Run each target for ``amount(target)``: a count, or seconds with an s; one on each processor.

    Returns whether all were clean, and a line for each.
    """
    build = c_builds.make("asan")
    programs = sorted(
        path
        for path in (build / "fuzz").glob("fuzz_*")
        if path.is_file() and os.access(path, os.X_OK)
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda program: _run(program, amount), programs))
    return bool(results) and all(good for good, _ in results), [line for _, line in results]


def _run(program: Path, amount: Callable[[str], str]) -> tuple[bool, str]:
    """Run one target; returns whether it was clean, and its line."""
    name = program.name.removeprefix("fuzz_")
    began = time.monotonic()
    command = [str(program), str(TRANSPORT / "fuzz" / "corpus" / name), amount(name)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    verdict = "clean" if result.returncode == 0 else "FINDING"
    last = (result.stdout.strip() or "-").splitlines()[-1]
    line = f"{name}: {verdict} in {time.monotonic() - began:.0f} s: {last}"
    found = "" if result.returncode == 0 else f"\n{result.stderr[-FINDING_CHARACTERS:]}"
    print(f"fuzz: {line}{found}", flush=True)
    return result.returncode == 0, line


def main() -> int:
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    good, _ = run_fuzzers(lambda _: f"{seconds}s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
