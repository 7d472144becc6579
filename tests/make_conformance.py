"""Makes the tables of docs/conformance.md: ``python -m tests.make_conformance``.

It runs the whole matrix of tests/tck (about two minutes): each face over each medium, with and
without loss.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "conformance.md"
MATRIX = [
    f"tests/tck/test_{name}.py"
    for name in ("publishers", "subscribers", "processors", "rx_publisher", "stages")
]
NODE = re.compile(r"::(?P<face>\w+)::(?P<test>\w+)(?:\[(?P<medium>.+)\])?$")
UNTESTED = "untested: "
#: Test classes, the verification that they derive, and what a reader calls the subject.
FACES = {
    "TestSource": ("publisher", "`stream.source`"),
    "TestRxFromStream": ("publisher", "RxPY, `rx.from_stream`, `rx.to_publisher`"),
    "TestEmitsInItsThread": ("publisher", "RxPY, `rx.to_publisher`"),
    "TestThroughTwoConversions": ("publisher", "RxPY, both ways, twice"),
    "TestAsyncioSubscriber": ("publisher", "asyncio, `aio.subscriber`"),
    "TestTrioSubscriber": ("publisher", "trio, `aio.subscriber`"),
    "TestRayEndpoint": ("publisher", "Ray, `Endpoint`"),
    "TestFromIterable": ("publisher", "`stages.from_iterable`"),
    "TestBuffer": ("publisher", "`stages.buffer`"),
    "TestBatch": ("publisher", "`stages.batch`"),
    "TestBatchWeighted": ("publisher", "`stages.batch_weighted`"),
    "TestThrottle": ("publisher", "`stages.throttle`"),
    "TestCheckpoint": ("publisher", "`stages.checkpoint`"),
    "TestChain": ("publisher", "a chain of stages"),
    "TestSourceQueue": ("publisher", "`stages.source_queue`"),
    "TestMergeHub": ("publisher", "`stages.merge_hub`"),
    "TestBroadcastHub": ("publisher", "`stages.broadcast_hub`"),
    "TestPartitionHub": ("publisher", "`stages.partition_hub`"),
    "TestSink": ("subscriber, black box", "`stream.sink`"),
    "TestSinkInside": ("subscriber, white box", "`stream.sink`"),
    "TestRxToStream": ("subscriber, black box", "RxPY, `rx.to_stream`"),
    "TestRxFromPublisher": ("subscriber, black box", "RxPY, `rx.from_publisher`"),
    "TestAsyncioPublisher": ("subscriber, black box", "asyncio, `aio.publisher`"),
    "TestTrioPublisher": ("subscriber, black box", "trio, `aio.publisher`"),
    "TestMapProcessor": ("processor", "`stream.processor`"),
    "TestStream": ("processor", "a sink, a stream and a source"),
}
MEDIA = ("in process", "ipc", "udp", "udp 1% loss", "multicast", "multicast 1% loss")


class Place(NamedTuple):
    """One row of the matrix."""

    face: str
    medium: str

    @property
    def order(self) -> tuple[int, int]:
        return list(FACES).index(self.face), MEDIA.index(self.medium)


def place_of(node: str) -> tuple[Place, str]:
    """Row and name of a test."""
    match = NODE.search(node)
    assert match is not None, node
    return Place(match["face"], match["medium"] or "in process"), match["test"]


class Collector:
    """A pytest plugin: counts what passed, and why the rest was skipped or failed."""

    def __init__(self) -> None:
        self.passed: Counter[Place] = Counter()
        self.failed: Counter[Place] = Counter()
        self.skipped: Counter[tuple[Place, str]] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        place, _ = place_of(report.nodeid)
        if report.failed:
            self.failed[place] += 1
        elif report.skipped and isinstance(report.longrepr, tuple):
            self.skipped[place, report.longrepr[2].removeprefix("Skipped: ")] += 1
        elif report.when == "call":
            self.passed[place] += 1

    def places(self) -> list[Place]:
        found = {*self.passed, *self.failed, *(place for place, _ in self.skipped)}
        return sorted(found, key=lambda place: place.order)

    def skips(self, place: Place) -> tuple[int, int]:
        """(untested by anyone, not possible for this face)."""
        counts = [0, 0]
        for (where, why), count in self.skipped.items():
            if where == place:
                counts[not why.startswith(UNTESTED)] += count
        return counts[0], counts[1]


def matrix(seen: Collector) -> Iterator[str]:
    yield "| verification | face | medium | passed | skipped | untested | failed |"
    yield "|---|---|---|---|---|---|---|"
    for place in seen.places():
        verification, face = FACES[place.face]
        untested, skipped = seen.skips(place)
        yield (
            f"| {verification} | {face} | {place.medium} | {seen.passed[place]} | {skipped} |"
            f" {untested} | {seen.failed[place]} |"
        )


def reasons(seen: Collector) -> Iterator[str]:
    """Why tests are skipped, each reason once for each face, over all its media."""
    yield "| face | tests | media | why |"
    yield "|---|---|---|---|"
    media: dict[tuple[str, str], dict[str, int]] = {}
    for (place, why), count in seen.skipped.items():
        if not why.startswith(UNTESTED):
            text = " ".join(why.split(";")[0].split()).replace("|", "\\|")
            counts = media.setdefault((place.face, text), {})
            counts[place.medium] = counts.get(place.medium, 0) + count
    for (face, why), counts in sorted(
        media.items(), key=lambda item: list(FACES).index(item[0][0])
    ):
        verification, name = FACES[face]
        most = max(counts.values())
        yield f"| {name} ({verification}) | {most} | {len(counts)} | {why} |"


def page(text: str, seen: Collector) -> str:
    """The page with new tables."""
    for name, lines in (("matrix", matrix(seen)), ("reasons", reasons(seen))):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        head, found, rest = text.partition(begin)
        _, also, tail = rest.partition(end)
        assert found, f"{PAGE.name} has no place for the table {name!r}"
        assert also, f"{PAGE.name} has no end of the table {name!r}"
        text = head + begin + "\n".join(lines) + "\n" + end + tail
    return text


if __name__ == "__main__":
    collector = Collector()
    code = pytest.main(
        ["-q", "--no-header", "-m", "", "-p", "no:cacheprovider", *MATRIX], plugins=[collector]
    )
    PAGE.write_text(page(PAGE.read_text(), collector))
    sys.exit(code)
