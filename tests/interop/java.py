"""Aeron's Java client and driver as a peer.

Maven fetches io.aeron:aeron-all, and the sources in java/ are compiled against it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.ends import SEED, STREAM, Peer, aeron_process
from tests.interop.messages import SIZE_MAX, Messages
from tests.support import one_at_a_time

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "interop-java"
SOURCES = sorted((Path(__file__).parent / "java").glob("*.java"))
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
OPENS = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("sun.nio.ch", "jdk.internal.misc", "java.util.zip")
]
SMALL_VM = [
    "-Xshare:auto",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx256m",
    "-XX:-UsePerfData",
]
EXPERIMENTAL = {
    "aeron.enable.experimental.features": "true"
}  # the older release enables response channels by this setting
TOOLS = ("AeronStat", "ErrorStat", "LossStat", "StreamStat", "BacklogStat")


class MissingError(Exception):
    """This machine has no Java peer; the text names what is missing."""


def _run(command: list[str], what: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if result.returncode != 0:
        raise MissingError(f"{what}: {(result.stdout + result.stderr).strip()[-400:]}")


@dataclass(frozen=True)
class Java:
    """One release of aeron-all, ready to run."""

    version: str
    jar: Path
    classes: Path

    @classmethod
    def prepare(cls, version: str) -> Java:
        """Fetch the jar and compile the peer, once; raises ``MissingError``."""
        for program in ("java", "javac", "mvn"):
            if shutil.which(program) is None:
                raise MissingError(f"{program} is not installed")
        with one_at_a_time("interop-java"):
            return cls._prepare(version)

    @classmethod
    def _prepare(cls, version: str) -> Java:
        place = PLACE / version
        jar = place / f"aeron-all-{version}.jar"
        if not jar.exists():
            artifact = f"io.aeron:aeron-all:{version}"
            _run(
                [
                    "mvn",
                    "-q",
                    "-B",
                    COPY_GOAL,
                    f"-Dartifact={artifact}",
                    f"-DoutputDirectory={place}",
                ],
                f"maven could not fetch {artifact}",
            )
        classes = place / "classes"
        for source in SOURCES:
            compiled = classes / f"{source.stem}.class"
            if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
                _run(["javac", "-cp", str(jar), "-d", str(classes), str(source)], "javac")
        return cls(version, jar, classes)

    def command(
        self, main: str, *arguments: str, settings: dict[str, str] | None = None
    ) -> list[str]:
        properties = [f"-D{name}={value}" for name, value in (settings or {}).items()]
        return [
            "java",
            *OPENS,
            *SMALL_VM,
            *properties,
            "-cp",
            f"{self.jar}:{self.classes}",
            main,
            *arguments,
        ]

    def tool(self, name: str, directory: str) -> str:
        """The output of one of Aeron's own tools for a driver directory."""
        arguments = ["watch=false"] if name == "AeronStat" else []
        command = self.command(
            f"io.aeron.samples.{name}", *arguments, settings={"aeron.dir": directory}
        )
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert result.returncode == 0, f"{name}: {result.stdout}{result.stderr}"
        return result.stdout

    @contextmanager
    def driver(self, settings: dict[str, str] | None = None) -> Iterator[str]:
        """The directory of a running Java media driver."""
        with tempfile.TemporaryDirectory(
            prefix="rstream-java-", dir="/dev/shm", ignore_cleanup_errors=True
        ) as place:
            command = self.command("Peer", "driver", "--dir", f"{place}/driver", settings=settings)
            with aeron_process(command) as process:
                assert process.stdout is not None
                word, directory, _ = process.stdout.readline().split()
                assert word == "ready"
                yield directory

    @contextmanager
    def peer(
        self,
        role: str,
        channel: str,
        count: int,
        *,
        directory: str | None = None,
        size_max: int = SIZE_MAX,
        settings: dict[str, str] | None = None,
    ) -> Iterator[Peer]:
        """A publishing or subscribing process, ready.

        It has a driver of its own unless a directory is named.
        """
        arguments = ["Peer", role, "--channel", channel]
        if directory is not None:
            arguments += ["--dir", directory]
        with self._process(arguments, count, size_max, settings) as peer:
            yield peer

    @contextmanager
    def responder(
        self, role: str, requests: str, responses: str, count: int, *, size_max: int = SIZE_MAX
    ) -> Iterator[Peer]:
        """``request`` or ``respond`` on response channels, on a driver of its own."""
        with self._process(
            ["Response", role, "--requests", requests, "--responses", responses],
            count,
            size_max,
            EXPERIMENTAL,
        ) as peer:
            yield peer

    @contextmanager
    def _process(
        self, arguments: list[str], count: int, size_max: int, settings: dict[str, str] | None
    ) -> Iterator[Peer]:
        with tempfile.TemporaryDirectory(
            prefix="rstream-java-", dir="/dev/shm", ignore_cleanup_errors=True
        ) as place:
            feed = Path(place) / "messages"
            messages = Messages(SEED, size_max)
            with feed.open("wb") as file:
                for _ in range(count):
                    message = messages.next()
                    file.write(len(message).to_bytes(4, "big") + message)
            more = ["--stream", str(STREAM), "--messages", str(feed)]
            with aeron_process(self.command(*arguments, *more, settings=settings)) as process:
                assert process.stdout is not None
                word, where, client_id = process.stdout.readline().split()
                assert word == "ready"
                yield Peer(process, where, int(client_id), count)
