"""``rstream doctor``: what this machine lacks for speed and safety, and how to mend it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rstream import _core
from rstream.cli._directory import why_unusable
from rstream.driver import resolve_dir, rstreamd_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

#: ("ok", "weak" or "lacks"; what was found; advice)
Finding = tuple[str, str, str]
SOCKET_BUFFER_WANTED = 4 << 20
SHARED_MEMORY_WANTED = 64 << 20


def run(options: argparse.Namespace) -> int:
    """Print each finding; the exit code is 1 when something is lacking, not when it is weak."""
    findings = list(examine(resolve_dir(options.dir)))
    for state, what, advice in findings:
        print(f"{state:5} {what}" + (f"\n      -> {advice}" if advice and state != "ok" else ""))
    return int(any(state == "lacks" for state, _, _ in findings))


def examine(driver_dir: str) -> Iterator[Finding]:
    """Run all checks. They are cheap; the only trace is a temporary file in shared memory."""
    cores = len(os.sched_getaffinity(0))
    yield (
        ("ok" if cores > 4 else "weak"),
        f"cores: {cores}",
        "on up to four cores the driver runs its agents in one thread that blocks when idle; "
        "threads that spin need more cores",
    )
    for direction, option in (("receive", "rmem_max"), ("send", "wmem_max")):
        limit = _number(f"/proc/sys/net/core/{option}")
        yield (
            "ok" if limit is None or limit >= SOCKET_BUFFER_WANTED else "weak",
            f"largest socket {direction} buffer: {limit if limit is not None else 'unknown'} bytes",
            f"sysctl -w net.core.{option}={SOCKET_BUFFER_WANTED}  "
            f"(windows above {limit} bytes lose datagrams in bursts)",
        )
    yield from _shared_memory(driver_dir)
    yield from _huge_pages()
    yield from _directory(driver_dir)
    program = Path(rstreamd_path())
    yield (
        "ok" if os.access(program, os.X_OK) else "lacks",
        f"driver program: {program}",
        "reinstall rstream-transport: the program is part of it",
    )
    yield ("ok", f"Python {sys.version.split()[0]}, rstream {_core.__version__}", "")


def _shared_memory(driver_dir: str) -> Iterator[Finding]:
    mount = Path("/dev/shm")
    if not driver_dir.startswith("/dev/shm"):
        yield (
            "weak",
            f"driver directory {driver_dir} is not in /dev/shm",
            "set RSTREAM_DIR to a folder in /dev/shm",
        )
    if not mount.is_dir():
        yield ("lacks", "shared memory: no /dev/shm", "mount -t tmpfs -o size=1g tmpfs /dev/shm")
        return
    usage = shutil.disk_usage(mount)
    yield (
        "ok" if usage.free >= SHARED_MEMORY_WANTED else "lacks",
        f"shared memory: {usage.free >> 20} MiB free of {usage.total >> 20} MiB",
        "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm",
    )
    try:
        with tempfile.NamedTemporaryFile(dir=mount):
            pass
        yield ("ok", "shared memory: writable", "")
    except OSError as error:
        yield (
            "lacks",
            f"shared memory: not writable ({error.strerror})",
            "check the rights of /dev/shm (1777)",
        )


def _huge_pages() -> Iterator[Finding]:
    path = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    text = path.read_text() if path.exists() else ""
    chosen = text[text.find("[") + 1 : text.find("]")] if "[" in text else "unknown"
    yield (
        "ok" if chosen in ("always", "within_size", "advise") else "weak",
        f"huge pages for shared memory: {chosen}",
        f"echo within_size > {path}  (fewer TLB misses with large terms)",
    )


def _directory(driver_dir: str) -> Iterator[Finding]:
    life = _core.probe(driver_dir)
    problem = why_unusable(driver_dir, life)
    if problem:
        yield ("lacks", f"no driver, and none can start: {problem}", "--dir, or RSTREAM_DIR")
        return
    if life == 1:
        yield (
            "weak",
            f"{driver_dir}: files of a dead driver",
            "rstream driver --clean (the next start does it too)",
        )
    if os.path.isdir(driver_dir):
        status = os.stat(driver_dir)
        mine = status.st_uid == os.geteuid()
        private = not status.st_mode & 0o077
        yield (
            "ok" if mine and private else "lacks",
            f"{driver_dir}: {'yours' if mine else f'owned by uid {status.st_uid}'}, "
            f"mode {status.st_mode & 0o777:o}",
            "the directory must be yours and closed to others: chmod 700, "
            "or choose another with RSTREAM_DIR",
        )
    state = {
        0: "none running (the next use starts it)",
        1: "dead",
        2: "alive",
        3: "an Aeron driver, alive",
    }[life]
    yield ("ok", f"driver in {driver_dir}: {state}", "")


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
