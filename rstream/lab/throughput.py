"""Throughput under several request patterns, side by side: a stream for each between the same two processes, in short turns.

The speed of a shared machine changes from second to second, and the placement of two processes by its scheduler often
matters more than the pattern. Patterns that take turns of a tenth of a second in the same processes share both.
"""

from __future__ import annotations

import itertools
import multiprocessing
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rstream.lab.elements import TIMEOUT_S, Asker, Maker, Timeout, publisher_from, sink_to

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

__all__ = ("RequestPattern", "elements_per_s")

_names: Final = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPattern:
    """A reader asks for ``first`` elements, and for ``then`` anew whenever as many were delivered (0: never again)."""

    channel: str | None
    first: int
    then: int = 0


class _Timed(Asker):
    """Tells when the last element of each turn was delivered."""

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
    link: Connection, there: str, streams: Sequence[tuple[str, RequestPattern]], turn: int
) -> None:
    """The readers' process; it ends when the other one hangs up."""
    askers = [_Timed(pattern, turn, link) for _, pattern in streams]
    for asker, (name, pattern) in zip(askers, streams, strict=True):
        publisher_from(name, there, pattern.channel).subscribe(asker)
    with suppress(EOFError):
        link.recv()
    for asker in askers:
        asker.cancel()


def _take(link: Connection, maker: Maker, turn: int, name: str) -> float:
    """One turn: elements per second, from the request to the maker to the last delivery (one clock for all processes)."""
    began_s = time.monotonic()
    maker.extend(turn)
    try:
        if not link.poll(TIMEOUT_S):
            raise Timeout(f"{name}: not within {TIMEOUT_S:g} s: {turn} elements")
        return turn / (float(link.recv()) - began_s)
    except EOFError as error:
        raise Timeout(f"{name}: the readers' process failed") from error


def elements_per_s(
    here: str,
    there: str,
    patterns: Sequence[RequestPattern],
    *,
    window: int,
    payload: bytes,
    turn: int,
    rounds: int,
) -> list[list[float]]:
    """The throughput of each pattern in its turns, from this process to one of its own.

    Args:
        turn: elements of a turn.
        rounds: turns of each pattern; the order changes from one to the next, and a first round is not counted.
    """
    streams = [(f"lab-turns-{next(_names)}", pattern) for pattern in patterns]
    spawn = multiprocessing.get_context("spawn")
    mine, theirs = spawn.Pipe()
    reader = spawn.Process(target=_read, args=(theirs, there, streams, turn), daemon=True)
    sinks = [sink_to(name, here, pattern.channel, window) for name, pattern in streams]
    makers = [Maker(sink, payload, 0, lambda: 0) for sink in sinks]
    reader.start()
    theirs.close()
    seen: list[list[float]] = [[] for _ in patterns]
    try:
        for number in range(rounds + 1):
            for i in range(len(patterns)) if number % 2 == 0 else reversed(range(len(patterns))):
                per_s = _take(mine, makers[i], turn, streams[i][0])
                if number > 0:
                    seen[i].append(per_s)
    finally:
        mine.close()
        for sink, maker in zip(sinks, makers, strict=True):
            sink.cancel()
            maker.join()
        reader.join(TIMEOUT_S)
    return seen
