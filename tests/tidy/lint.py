"""`make lint`: formatting, linters, types, house rules, one verdict each; `make format` formats.

The layers are a test of tests/tidy, the stub of the extension one of tests/binding. With
``--tools`` without tests/tidy, which `make test` has run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
C_SOURCES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "transport_ext").rglob("*.[ch]")
    if "build" not in path.relative_to(ROOT).parts
)
FORMAT = (
    [str(BIN / "ruff"), "format", "--quiet", "."],
    [str(BIN / "clang-format"), "-i", *C_SOURCES],
)
CHECKS = (
    ("ruff format", [str(BIN / "ruff"), "format", "--check", "."]),
    ("clang-format", [str(BIN / "clang-format"), "--dry-run", "-Werror", *C_SOURCES]),
    ("clang-tidy", [sys.executable, "-m", "tests.tidy.clang_tidy"]),
    ("ruff", [str(BIN / "ruff"), "check", "rstream", "tests", "examples"]),
    ("pyright", [str(BIN / "pyright"), "rstream"]),
    (
        "pyright --verifytypes",
        [
            str(BIN / "pyright"),
            "--pythonpath",
            sys.executable,
            "--ignoreexternal",
            "--verifytypes",
            "rstream",
        ],
    ),
    ("tidy", [sys.executable, "-m", "pytest", "-q", "tests/tidy"]),
)


def write() -> int:
    """Format everything."""
    return max(subprocess.run(command, cwd=ROOT, check=False).returncode for command in FORMAT)


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        return write()
    # pyright cannot run the import hook of an editable install: the path names the package.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def passes(check: tuple[str, list[str]]) -> bool:
        done = subprocess.run(
            check[1],
            cwd=ROOT,
            env=environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        print(done.stdout, end="", flush=True)
        return done.returncode == 0

    checks = CHECKS[:-1] if "--tools" in sys.argv else CHECKS
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # most of them use one processor
        results = pool.map(passes, checks)
        failed = [name for (name, _), good in zip(checks, results, strict=True) if not good]
    print(f"lint: {'FAILED ' + ', '.join(failed) if failed else 'OK'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
