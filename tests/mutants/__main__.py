"""Do the tests of flow/ and loss/ notice a wrong law? Sixty fixed faults, one at a time.

python -m tests.mutants [PATH ...] [--from CHECKOUT]

Each is put into a copy of transport_ext in build/mutants/, never into the checkout; the tests of
the two rooms are built and run until the first fails. PATH: part of the names of files.
--from: another checkout, whose texts may differ; those that it lacks are told and not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.mutants.table import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = ROOT / "build" / "mutants"
TEST_LIMIT_S = 60


def copy_changed(source: Path, target: Path) -> None:
    """Unchanged files keep their time, so that ninja leaves them alone."""
    wanted = {p.relative_to(source) for p in source.rglob("*") if p.is_file()}
    for path in [p for p in target.rglob("*") if p.is_file()]:
        if path.relative_to(target) not in wanted:
            path.unlink()
    for name in wanted:
        to, content = target / name, (source / name).read_bytes()
        if not to.exists() or to.read_bytes() != content:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(content)
            to.chmod((source / name).stat().st_mode)


def run(*command: str, limit_s: float = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=SCRATCH, capture_output=True, text=True, check=False, timeout=limit_s
    )


def build(tests: list[str]) -> str:
    """What the compiler said, empty if it built."""
    made = run("cmake", "--build", "c", "--target", *tests)
    return "" if made.returncode == 0 else (made.stdout + made.stderr)[-2000:]


def killer(tests: list[str]) -> str:
    """The first test that fails or does not end; empty if none."""
    for test in tests:
        try:
            if run(f"c/tests/{test}", limit_s=TEST_LIMIT_S).returncode != 0:
                return test
        except subprocess.TimeoutExpired:
            return f"{test} (does not end)"
    return ""


def prepare(checkout: Path) -> list[str]:
    source = checkout / "transport_ext"
    copy_changed(source, SCRATCH / "transport_ext")
    made = run("cmake", "-S", "transport_ext", "-B", "c", "-G", "Ninja", "-DRST_TESTS=ON",
        "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-O1")  # fmt: skip
    tests = sorted(
        f"test_{room}_{path.stem.removeprefix('test_')}"
        for room in ("flow", "loss")
        for path in (source / "tests" / room).glob("test_*.c")
    )
    said = made.stderr if made.returncode != 0 else build(tests)
    if said or (failed := killer(tests)):
        sys.exit(said or f"{failed} fails without a mutant")
    return tests


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("path", nargs="*")
    parser.add_argument("--from", dest="checkout", type=Path, default=ROOT)
    options = parser.parse_args()
    (SCRATCH / "transport_ext").mkdir(parents=True, exist_ok=True)
    tests = prepare(options.checkout.resolve())
    count = {"killed": 0, "survived": 0, "no such text": 0, "does not compile": 0}
    for number, (name, before, after) in enumerate(MUTANTS):
        if options.path and not any(part in name for part in options.path):
            continue
        path = SCRATCH / "transport_ext" / name
        text = path.read_text() if path.exists() else ""
        found, by = "no such text", ""
        if text.count(before) == 1:
            path.write_text(text.replace(before, after))
            try:
                # The tests of the same name come first: they know most.
                stem = name.removesuffix(".c").replace("/", "_")
                order = sorted(tests, key=lambda test: not test.startswith(f"test_{stem}"))
                said = build(tests)
                by = "" if said else killer(order)
                found = "does not compile" if said else "killed" if by else "survived"
            finally:
                path.write_text(text)
        count[found] += 1
        print(
            f"{number:2} {found:12} {name}: {before.strip()!r} -> {after.strip()!r} {by}",
            flush=True,
        )
    print(", ".join(f"{n} {what}" for what, n in count.items() if n or what == "killed"))
    is_other = options.checkout.resolve() != ROOT
    return int(count["survived"] + count["does not compile"] > 0
        or (count["no such text"] > 0 and not is_other))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
