"""`make compat`: an older rstream beside this one, in every place of a stream.

    python -m tests.compat [--old COMMIT]

It builds a wheel of the commit into an environment of its own, below build/compat, and runs one
stream for each choice of old and new for the reader, the writer, and their drivers: over UDP with
two drivers, and in shared memory with one. Numbers go one by one and many at once, and then a
message in parts. It prints the matrix, and fails when a stream did.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support import free_port

ROOT = Path(__file__).resolve().parents[2]
ENDS = Path(__file__).with_name("ends.py")
BUILT = ROOT / "build" / "compat"
#: The last one before streams followed the path.
OLD_COMMIT = "8983c00c"
COUNT = 3000
PATIENCE_S = 120
VERSIONS = ("old", "new")


def build(commit: str) -> Path:
    """The Python that has the rstream of a commit."""
    place = BUILT / commit
    python = place / "venv" / "bin" / "python"
    if python.exists():
        return python
    source = place / "source"
    source.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", commit], capture_output=True, check=False
    )
    if archive.returncode != 0:
        sys.exit(f"compat: git has no commit {commit} here: a shallow clone? {archive.stderr!r}")
    subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    subprocess.run([*pip, "-w", place, source], check=True)
    (wheel,) = place.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True)
    return python


class Place:
    """Runs an end by the Python of its version."""

    def __init__(self, old: Path) -> None:
        self._pythons = {"old": old, "new": Path(sys.executable)}

    def start(self, version: str, *arguments: str) -> subprocess.Popen[str]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        if version == "new":
            environment["PYTHONPATH"] = str(ROOT)
        return subprocess.Popen(
            [self._pythons[version], "-W", "ignore", ENDS, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tempfile.gettempdir(),
        )

    @contextmanager
    def driver(self, version: str, directory: str) -> Iterator[None]:
        process = self.start(version, "driver", directory)
        try:
            wait_until_ready(process)
            yield
        finally:
            process.communicate(timeout=PATIENCE_S)


def wait_until_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise OSError(process.communicate()[1])


def stream(place: Place, medium: str, drivers: tuple[str, str], reader: str, writer: str) -> str:
    """What went wrong; "": nothing did."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rstream-compat-") as shared:
        directories = [f"{shared}/{side}" for side in ("reader", "writer")[: 1 + (medium == "udp")]]
        channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if medium == "udp" else ""
        with ExitStack() as stack:
            for version, directory in zip(drivers, directories, strict=False):
                stack.enter_context(place.driver(version, directory))
            ends = [place.start(reader, "read", directories[0], channel, str(COUNT))]
            wait_until_ready(ends[0])
            ends.append(place.start(writer, "write", directories[-1], channel, str(COUNT)))
            return "; ".join(filter(None, map(outcome, reversed(ends))))


def outcome(end: subprocess.Popen[str]) -> str:
    try:
        _, errors = end.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        end.kill()
        return f"came to no end: {end.communicate()[1][-500:]}"
    return (errors[-500:] or f"ended with {end.returncode}") if end.returncode else ""


def cells() -> Iterator[tuple[str, tuple[str, str], str, str]]:
    """Medium, drivers of reader and writer, reader, writer; one of them is old, and one new."""
    for of_reader, of_writer, reader, writer in itertools.product(VERSIONS, repeat=4):
        if len({of_reader, of_writer, reader, writer}) > 1:
            yield "udp", (of_reader, of_writer), reader, writer
            if of_reader == of_writer:
                yield "ipc", (of_reader, of_writer), reader, writer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compat")
    parser.add_argument("--old", default=OLD_COMMIT, help=f"a commit (default {OLD_COMMIT})")
    options = parser.parse_args()
    place = Place(build(options.old))
    failed = 0
    print("medium  reader's driver  reader  writer  writer's driver")
    for medium, drivers, reader, writer in cells():
        wrong = stream(place, medium, drivers, reader, writer)
        failed += bool(wrong)
        row = f"{medium:6}  {drivers[0]:15}  {reader:6}  {writer:6}  {drivers[1]:15}"
        print(f"{row}  {wrong or 'ok'}", flush=True)
    print(f"compat: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
