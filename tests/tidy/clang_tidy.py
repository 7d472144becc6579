"""clang-tidy over every C file (transport_ext/.clang-tidy says which checks), on all cores.

python -m tests.tidy.clang_tidy. A file that was clean is not read again until it, a header that it
includes, its compile command, the checks or clang-tidy itself change.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRANSPORT = ROOT / "transport_ext"
BIN = Path(sys.executable).parent
CLEAN = ROOT / "build" / "clang-tidy-clean.txt"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def commands() -> dict[Path, tuple[Path, str]]:
    """Each C file of rstream, the folder of its compilation database, and its command."""
    dev = ROOT / "build" / "c" / "dev"
    subprocess.run(
        [str(BIN / "cmake"), "--preset", "dev"],
        cwd=TRANSPORT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found: dict[Path, tuple[Path, str]] = {}
    # The room python/ is compiled only with the extension.
    for folder in (dev, *(ROOT / "build").glob("cp3*")):
        database = folder / "compile_commands.json"
        for entry in json.loads(database.read_text()) if database.exists() else ():
            path = Path(entry["file"]).resolve()
            if path.is_relative_to(TRANSPORT) and path.exists():
                found.setdefault(path, (folder, entry["command"]))
    return found


@cache
def included(path: Path) -> frozenset[Path]:
    """A file and every file of ours that it includes, directly or not."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for name in INCLUDE.findall(one.read_text()):
            for folder in (one.parent, TRANSPORT, TRANSPORT / "include"):
                if (folder / name).exists():
                    waiting.append((folder / name).resolve())
                    break
    return frozenset(seen)


def key(path: Path, command: str, version: bytes) -> str:
    """What the verdict on a file depends on."""
    digest = hashlib.sha256(version + command.encode())
    for checks in sorted(TRANSPORT.rglob(".clang-tidy")):
        digest.update(checks.read_bytes())
    for one in sorted(included(path)):
        digest.update(str(one).encode() + hashlib.sha256(one.read_bytes()).digest())
    return digest.hexdigest()


def check(path: Path, database: Path) -> str:
    """What clang-tidy says of a file; nothing when it is clean."""
    result = subprocess.run(
        [str(BIN / "clang-tidy"), "--quiet", "-p", str(database), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if result.returncode == 0 else result.stdout + result.stderr


def main() -> int:
    version = subprocess.run(
        [str(BIN / "clang-tidy"), "--version"], capture_output=True, check=True
    ).stdout
    known = set(CLEAN.read_text().split()) if CLEAN.exists() else set()
    jobs = {
        path: (database, key(path, command, version))
        for path, (database, command) in commands().items()
    }
    changed = [path for path, (_, name) in jobs.items() if name not in known]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        said = list(pool.map(lambda path: check(path, jobs[path][0]), changed))
    found = {path: text for path, text in zip(changed, said, strict=True) if text}
    CLEAN.write_text("".join(f"{name}\n" for path, (_, name) in jobs.items() if path not in found))
    for text in found.values():
        print(text)
    print(f"clang-tidy: {len(changed)} of {len(jobs)} files read, {len(found)} with findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
