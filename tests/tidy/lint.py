"""`make lint`: formatting and types, one verdict each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
CHECKS = (
    ("ruff", [str(BIN / "ruff"), "check", "rstream", "tests", "examples"]),
    ("pyright", [str(BIN / "pyright"), "rstream"]),
    ("pyright --verifytypes", [str(BIN / "pyright"), "--pythonpath", sys.executable, "--ignoreexternal", "--verifytypes", "rstream"]),
    ("stubtest", [str(BIN / "stubtest"), "rstream._core", "--ignore-unused-allowlist", "--allowlist", "tests/binding/stubtest.txt"]),
    ("layers", [str(BIN / "lint-imports")]),
    ("tidy", [sys.executable, "-m", "pytest", "-q", "tests/tidy"]),
)


def main() -> int:
    # An editable install is found by a hook that pyright cannot run: the path says where the package lies.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    failed = [
        name for name, command in CHECKS if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0
    ]
    print(f"lint: {'FAILED ' + ', '.join(failed) if failed else 'OK'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
