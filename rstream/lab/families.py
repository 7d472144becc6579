"""Families of consumers, and the draw of a run from a family.

A family says how the capacity of a consumer changes, with random parameters. A run draws from it a
capacity for each receiver of a group of 1, 4 or 16 (by turns, so that few runs are balanced), the
round trip of the network path (0.1 to 20 ms, log-uniform) and the buffer of a receiver (0.25 to
16 MiB, log-uniform).

Parameters of laws are chosen on odd seeds (training) and judged on even ones (test). A seed and
the name of a family determine a draw. So no run that a law was tuned on is ever shown.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from rstream.errors import ConfigError
from rstream.lab.scenario import Consumer
from rstream.lab.trace import NOMINAL, Levels, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ("SECONDS", "Draw", "Family", "draw", "families", "recorded", "seeds")

#: The length of a run.
SECONDS: Final = 6.0
SIZES: Final = (1, 4, 16)
RTT_S: Final = (1e-4, 20e-3)
BUFFER_BYTES: Final = (0.25 * (1 << 20), 16.0 * (1 << 20))
TRACES: Final = Path(__file__).parent / "traces"

#: Endless pairs (seconds, share of the nominal capacity): the capacity of a receiver.
Pieces: TypeAlias = "Iterator[tuple[float, float]]"
#: The capacities of a group of a given size.
Group: TypeAlias = "Callable[[random.Random, int], list[Pieces]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of consumers.

    Attributes:
        name: its name.
        text: how the capacity changes.
        mean: the mean capacity as a share of 100 MB/s, over all draws.
        pieces: draws the capacities of a group.
        sizes: the sizes of groups.
    """

    name: str
    text: str
    mean: float
    pieces: Group
    sizes: tuple[int, ...] = SIZES


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """What a run draws from a family."""

    family: str
    seed: int
    rtt_s: float
    buffer_bytes: float
    consumers: tuple[Consumer, ...]


def seeds(count: int, *, is_training: bool) -> range:
    """The first ``count`` training seeds (1, 3, 5 ...) or test seeds (2, 4, 6 ...)."""
    first = 1 if is_training else 2
    return range(first, first + 2 * count, 2)


def draw(family: Family, seed: int) -> Draw:
    """Draw a run from a family. The same name and seed give the same run."""
    dice = random.Random(f"{family.name} {seed}")
    size = family.sizes[seed // 2 % len(family.sizes)]
    rtt_s, buffer_bytes = _log_uniform(dice, *RTT_S), _log_uniform(dice, *BUFFER_BYTES)
    return Draw(
        family=family.name,
        seed=seed,
        rtt_s=rtt_s,
        buffer_bytes=float(round(buffer_bytes)),
        consumers=tuple(Consumer(levels=_levels(pieces)) for pieces in family.pieces(dice, size)),
    )


def _log_uniform(dice: random.Random, least: float, most: float) -> float:
    return math.exp(dice.uniform(math.log(least), math.log(most)))


def _levels(pieces: Pieces) -> Levels:
    levels: list[tuple[float, float]] = []
    at_s = 0.0
    for length_s, share in pieces:
        levels.append((at_s, share * NOMINAL))
        at_s += length_s
        if at_s >= SECONDS:
            break
    return tuple(levels)


def _each(pieces: Callable[[random.Random], Pieces]) -> Group:
    """Every receiver draws its own capacity."""

    def group(dice: random.Random, size: int) -> list[Pieces]:
        # Own random numbers for each receiver, because the pieces are drawn one group at a time.
        return [pieces(random.Random(dice.random())) for _ in range(size)]

    return group


def _steady(_: random.Random) -> Pieces:
    yield math.inf, 1.0


def _step(dice: random.Random) -> Pieces:
    fall_s, rise_s = dice.uniform(0.2, 0.5) * SECONDS, dice.uniform(0.6, 0.9) * SECONDS
    yield fall_s, 1.0
    yield rise_s - fall_s, dice.uniform(0.2, 0.8)
    yield math.inf, 1.0


def _bursts(dice: random.Random) -> Pieces:
    while True:
        yield dice.expovariate(1 / 0.3), 1.0
        yield min(1.0, dice.lognormvariate(math.log(0.06), 0.6)), 0.15


def _pauses(dice: random.Random) -> Pieces:
    while True:
        yield dice.expovariate(1 / 0.4), 1.0
        yield min(1.0, 0.005 * dice.paretovariate(1.5)), 0.0


def _markov(dice: random.Random) -> Pieces:
    shares = (1.0, 0.2) if dice.random() < 0.5 else (0.2, 1.0)
    for share in itertools.cycle(shares):
        yield dice.expovariate(1 / 1.5), share


def _walk(dice: random.Random) -> Pieces:
    share = dice.uniform(0.5, 1.0)
    while True:
        yield 0.05, share
        share = min(1.5, max(0.1, share + dice.gauss(0, 0.05)))


def _microbatch(dice: random.Random) -> Pieces:
    half_s = dice.uniform(0.02, 0.1) / 2
    yield dice.uniform(0, 0.1), 1.0
    while True:
        yield half_s, 2.0
        yield half_s, 0.0


def _python(dice: random.Random) -> Pieces:
    while True:
        kind = dice.random()
        if kind < 0.02:
            yield dice.uniform(0.02, 0.15), 0.1  # a burst of other work
        elif kind < 0.2:
            yield dice.uniform(0.002, 0.02), 0.0  # garbage collection, another thread
        else:
            yield dice.uniform(0.005, 0.05), dice.uniform(0.7, 1.2)


def _one_of_many(dice: random.Random, size: int) -> list[Pieces]:
    slow: list[tuple[float, int, float]] = []
    while sum(length_s for length_s, _, _ in slow) < SECONDS:
        slow.append((dice.expovariate(1.0), dice.randrange(size), dice.uniform(0.2, 0.6)))
    return [
        iter([(length_s, share if at == number else 1.0) for length_s, at, share in slow])
        for number in range(size)
    ]


def recorded(path: Path, text: str) -> Family:
    """A recording, scaled to a mean of 100 MB/s; each receiver starts at a random point of it.

    The last line of the file marks the end, where the first one follows.

    Raises:
        ConfigError: the file is no trace, or has no time or capacity in it.
    """
    levels = read(path)
    spans = [(to_s - at_s, rate) for (at_s, rate), (to_s, _) in itertools.pairwise(levels)]
    taken = sum(length_s * rate for length_s, rate in spans)
    if taken <= 0:
        raise ConfigError(f"trace {path}: needs a capacity above 0, and a last line for its end")
    mean = taken / (levels[-1][0] - levels[0][0])
    circle = [(length_s, rate / mean) for length_s, rate in spans]

    def pieces(dice: random.Random) -> Pieces:
        lengths = [length_s for length_s, _ in circle]
        first = dice.choices(range(len(lengths)), weights=lengths)[0]
        yield lengths[first] * dice.random(), circle[first][1]
        yield from itertools.islice(itertools.cycle(circle), first + 1, None)

    return Family(name=path.stem, text=f"recorded: {text}", mean=1.0, pieces=_each(pieces))


_DRAWN: Final = (
    Family(name="steady", text="100 MB/s", mean=1.0, pieces=_each(_steady)),
    Family(name="step", text="once to 20 to 80 % and back", mean=0.8, pieces=_each(_step)),
    Family(
        name="bursts",
        text="every 300 ms (exponential) at 15 % for 60 ms (log-normal)",
        mean=0.837,
        pieces=_each(_bursts),
    ),
    Family(
        name="pauses",
        text="every 400 ms (exponential) nothing for 5 ms or more (Pareto 1.5)",
        mean=0.966,
        pieces=_each(_pauses),
    ),
    Family(
        name="markov",
        text="100 or 20 MB/s, for 1.5 s each (exponential)",
        mean=0.6,
        pieces=_each(_markov),
    ),
    Family(
        name="walk", text="a random walk between 10 and 150 MB/s", mean=0.754, pieces=_each(_walk)
    ),
    Family(
        name="microbatch",
        text="all in the first half of each period of 20 to 100 ms",
        mean=1.0,
        pieces=_each(_microbatch),
    ),
    Family(
        name="python",
        text="70 to 120 MB/s, with short stops and bursts of other work",
        mean=0.821,
        pieces=_each(_python),
    ),
    Family(
        name="one-of-many",
        text="one receiver of 4 or 16 at 20 to 60 %, another one each second (exponential)",
        mean=0.906,
        pieces=_one_of_many,
        sizes=(4, 16),
    ),
)
_RECORDED: Final[Mapping[str, str]] = {
    "json": "parses JSON, with garbage collection and sorting",
    "flights": "an actor of the demo",
    "arrow": "a partition reader, which reads Arrow batches and works on them in turn",
}


@cache
def families() -> Mapping[str, Family]:
    """All families by name."""
    found = [recorded(TRACES / f"{name}.trace", text) for name, text in _RECORDED.items()]
    return {family.name: family for family in (*_DRAWN, *found)}
