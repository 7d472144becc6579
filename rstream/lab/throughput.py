"""Throughput of request patterns side by side: one stream per pattern, in short turns.

All streams run between the same two processes. The speed of a shared machine changes from second
to second, and the scheduler's placement of two processes often matters more than the pattern. Turns
of a tenth of a second in the same processes expose all patterns to the same conditions.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rstream.lab.elements import (
    TIMEOUT_S,
    CountingUpstream,
    PatternReader,
    Timeout,
    open_sink,
    open_source,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

__all__ = ("RequestPattern", "elements_per_s")

_names: Final = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPattern:
    """A reader requests ``first`` elements, then ``then`` more each time ``then`` were delivered.

    ``then`` 0: it never requests more.
    """

    channel: str | None
    first: int
    then: int = 0


class _TimedReader(PatternReader):
    """Sends the time at which the last element of each turn was delivered."""

    def __init__(self, pattern: RequestPattern, turn: int, link: Connection) -> None:
        super().__init__(
            itertools.chain((pattern.first,), itertools.repeat(pattern.then)),
            pattern.first - pattern.then if pattern.then else 0,
        )
        self._turn, self._link = turn, link

    def on_next(self, item: object) -> None:
        super().on_next(item)
        if self.delivered % self._turn == 0:
            self._link.send(time.monotonic())


def _read(
    link: Connection, source_dir: str, streams: Sequence[tuple[str, RequestPattern]], turn: int
) -> None:
    """The main function of the readers' process; it ends when the other end closes the pipe."""
    readers = [_TimedReader(pattern, turn, link) for _, pattern in streams]
    for reader, (name, pattern) in zip(readers, streams, strict=True):
        open_source(name, source_dir, pattern.channel).subscribe(reader)
    with suppress(EOFError):
        link.recv()
    for reader in readers:
        reader.cancel()


def _run_turn(link: Connection, upstream: CountingUpstream, turn: int, name: str) -> float:
    """Run one turn; returns elements per second, from the request to the last delivery.

    All processes read the same clock.
    """
    began_s = time.monotonic()
    upstream.extend(turn)
    try:
        if not link.poll(TIMEOUT_S):
            raise Timeout(f"{name}: not within {TIMEOUT_S:g} s: {turn} elements")
        return turn / (float(link.recv()) - began_s)
    except EOFError as error:
        raise Timeout(f"{name}: the readers' process failed") from error


def elements_per_s(
    sink_dir: str,
    source_dir: str,
    patterns: Sequence[RequestPattern],
    *,
    window: int,
    payload: bytes,
    turn: int,
    rounds: int,
) -> list[list[float]]:
    """Measure the throughput of each pattern, from this process to a new one.

    Args:
        sink_dir: directory of the driver of this process.
        source_dir: directory of the driver of the readers' process.
        window: most elements that a sink requests ahead.
        payload: the bytes of each element.
        turn: elements of a turn.
        rounds: turns of each pattern. Their order alternates; one more round before them is not
            counted.
    Returns:
        Elements per second of each turn, by pattern.
    Raises:
        Timeout: a turn made no progress, or the readers' process failed.
    """
    streams = [(f"lab-turns-{next(_names)}", pattern) for pattern in patterns]
    spawn = multiprocessing.get_context("spawn")
    mine, theirs = spawn.Pipe()
    reader = spawn.Process(target=_read, args=(theirs, source_dir, streams, turn), daemon=True)
    sinks = [open_sink(name, sink_dir, pattern.channel, window) for name, pattern in streams]
    upstreams = [CountingUpstream(sink, payload, 0, lambda: 0) for sink in sinks]
    reader.start()
    theirs.close()
    seen: list[list[float]] = [[] for _ in patterns]
    try:
        for number in range(rounds + 1):
            for i in range(len(patterns)) if number % 2 == 0 else reversed(range(len(patterns))):
                per_s = _run_turn(mine, upstreams[i], turn, streams[i][0])
                if number > 0:
                    seen[i].append(per_s)
    finally:
        mine.close()
        for sink, upstream in zip(sinks, upstreams, strict=True):
            sink.cancel()
            upstream.join()
        reader.join(TIMEOUT_S)
    return seen
