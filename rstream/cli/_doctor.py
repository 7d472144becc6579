"""``rstream doctor``: what this machine lacks for speed and safety, and how to mend it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rstream import _core, keys, metrics
from rstream.cli._directory import why_unusable
from rstream.cli._path import window_advice
from rstream.driver import SHARED_MEMORY, is_fallback, resolve_dir, rstreamd_path
from rstream.errors import ConfigError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

#: ("ok", "weak" or "lacks"; what was found; advice)
Finding = tuple[str, str, str]
SOCKET_BUFFER_WANTED = 4 << 20
SHARED_MEMORY_WANTED = 64 << 20
#: File systems whose files are memory.
MEMORY_KINDS = ("tmpfs", "ramfs", "hugetlbfs")
#: How /proc/self/mounts writes a blank, a tab, a line end and a backslash.
_MOUNT_ESCAPE = re.compile(r"\\(0[0-7]{2}|1[0-7]{2})")


def run(options: argparse.Namespace) -> int:
    """Print each finding; the exit code is 1 when something is lacking, not when it is weak."""
    driver_dir = resolve_dir(options.dir)
    findings = list(examine(driver_dir, is_default=options.dir is None))
    for state, what, advice in findings:
        print(f"{state:5} {what}" + (f"\n      -> {advice}" if advice and state != "ok" else ""))
    return int(any(state == "lacks" for state, _, _ in findings))


def examine(driver_dir: str, *, is_default: bool = False) -> Iterator[Finding]:
    """Run all checks. They are cheap; the only trace is a temporary file where the directory is.

    Args:
        driver_dir: what programs use.
        is_default: no program has named it.
    """
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
    if is_default and is_fallback(driver_dir):
        yield (
            "weak",
            f"{SHARED_MEMORY} is missing or cannot be written: the driver directory is "
            f"{driver_dir}, and only processes with the same $TMPDIR meet there",
            "set RSTREAM_DIR to one folder for all processes, or give each of them a writable "
            f"{SHARED_MEMORY} (mode 1777; mount -t tmpfs -o size=1g tmpfs {SHARED_MEMORY})",
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
    yield from _keys()
    yield ("ok", f"Python {sys.version.split()[0]}, rstream {_core.__version__}", "")


def _shared_memory(driver_dir: str) -> Iterator[Finding]:
    """The file system that the driver directory is in, or would be in."""
    place = _nearest(Path(driver_dir))
    mount, kind = _mount_of(place)
    if kind not in MEMORY_KINDS:
        yield (
            "weak",
            f"driver directory {driver_dir} is on {mount} ({kind}), not in memory",
            f"set RSTREAM_DIR to a folder of a tmpfs, such as {SHARED_MEMORY}",
        )
    usage = shutil.disk_usage(place)
    yield (
        "ok" if usage.free >= SHARED_MEMORY_WANTED else "lacks",
        f"room for {driver_dir}: {usage.free >> 20} MiB free of {usage.total >> 20} MiB on {mount}",
        f"mount -o remount,size=1g {mount}, or docker run --shm-size=1g, or another RSTREAM_DIR"
        if kind in MEMORY_KINDS
        else "free some, or set RSTREAM_DIR to a folder of another file system",
    )
    try:
        with tempfile.NamedTemporaryFile(dir=place):
            pass
        yield ("ok", f"{place}: writable", "")
    except OSError as error:
        yield (
            "lacks",
            f"{place}: not writable ({error.strerror})",
            "check its rights and the mount, or set RSTREAM_DIR to a folder that can be written",
        )


def _nearest(path: Path) -> Path:
    """The path, or the nearest folder above that is there."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _mount_of(path: Path) -> tuple[str, str]:
    """Mount point and kind of the file system that holds a path."""
    found = ("/", "unknown")
    real = os.path.realpath(path)
    try:
        lines = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:  # a later mount hides an earlier one
        _, written, kind = line.split(" ")[:3]
        mount = _MOUNT_ESCAPE.sub(lambda octal: chr(int(octal[1], 8)), written)
        is_above = real == mount or real.startswith(mount.rstrip("/") + "/")
        if is_above and len(mount) >= len(found[0]):
            found = (mount, kind)
    return found


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
    yield from _windows(driver_dir if life > 1 else "")


def _windows(driver_dir: str) -> Iterator[Finding]:
    """The readers whose window their socket's receive buffer bounds."""
    for state in metrics.images(driver_dir) if driver_dir else ():
        if advice := window_advice(state):
            where = f"stream {state.name or state.stream_id}, session {state.session_id}"
            yield ("weak", f"{where}: window bounded by so-rcvbuf", advice)


def _keys() -> Iterator[Finding]:
    """Whether datagrams can be sealed, and the file with the key that programs take by default."""
    path = os.environ.get(keys.ENVIRONMENT, "")
    yield (
        "ok" if keys.is_built() else "lacks" if path else "weak",
        f"encryption: {_core.build_config()['crypto']}",
        "install the headers of libcrypto (Debian: libssl-dev) and build anew, or take a wheel",
    )
    if not path:
        yield ("ok", f"{keys.ENVIRONMENT} is not set: UDP is plain where no key= is given", "")
        return
    try:
        ids = [key.id for key in keys.read_file(Path(path).expanduser())]
    except ConfigError as error:
        yield ("lacks", f"{keys.ENVIRONMENT}: {error.args[0]}", error.hint or "")
        return
    opens = "".join(f", {one} opens" for one in ids[1:])
    yield ("ok", f"{keys.ENVIRONMENT}={path}: {ids[0]} seals{opens}", "")


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None
