"""A capacity over time, in a text file: how to record one from a real consumer, and to read it.

A file has one line "second MB/s" for each change, in order. A # begins a comment. To record a
consumer, write it as a generator that yields the bytes of each take, and 0 after other work::

    def consumer():
        for message in messages:
            handle(message)
            yield len(message)

    write(Path("mine.trace"), record(consumer(), seconds=10), ["what it does"])

``rstream lab mine.trace`` then judges a law on it, as on any family (``families.py``).
"""

from __future__ import annotations

import itertools
import math
import time
from typing import TYPE_CHECKING, Final

from rstream.errors import ConfigError
from rstream.lab.scenario import MB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

__all__ = ("Levels", "read", "record", "write")

#: Pairs (from second, bytes per second), in the order of time.
Levels = tuple[tuple[float, float], ...]

NOMINAL: Final = 100 * MB
BIN_S: Final = 1e-3
WARM_UP_S: Final = 1.0
#: Most levels of a recording: a file then has a few KiB.
LEVELS_MOST: Final = 500
#: Squared error of the first merges, in bins at 100 MB/s, and how it grows.
_ERROR: Final = 1e-3
_COARSER: Final = 1.1


def read(path: Path) -> Levels:
    """Read a trace.

    Raises:
        ConfigError: the file cannot be read or has a wrong line; the text names it.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"trace {path}: {error}") from None
    levels: list[tuple[float, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            at_s, rate = (float(word) for word in words)
        except ValueError:
            raise ConfigError(
                f"trace {path}, line {number}: {line!r}; a line is: second MB/s"
            ) from None
        if not (0 <= at_s < math.inf and 0 <= rate < math.inf) or (levels and at_s < levels[-1][0]):
            raise ConfigError(
                f"trace {path}, line {number}: {line!r}; "
                "times must not go back, numbers must not be negative"
            )
        levels.append((at_s, rate * MB))
    if not levels:
        raise ConfigError(f"trace {path}: no line with a capacity in it")
    return tuple(levels)


def record(
    consumer: Iterable[int], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Levels:
    """Run a consumer that always has data, and return its capacity, scaled to 100 MB/s.

    The bytes of a take are spread evenly over the time since the take before, in bins of 1 ms.
    Neighbours that differ least are merged until there are at most 500 levels. The last level
    repeats the first one and marks the end: a recording can be run through in a circle.

    Args:
        consumer: yields the bytes of each take, and 0 after work without one.
        seconds: how long to record. The recording starts a second after the first take.
        clock: returns the time in seconds.
    Raises:
        ConfigError: the consumer ended too early or took nothing.
    """
    bins = [0.0] * round(seconds / BIN_S)
    begin_s = last_s = math.inf
    for taken in consumer:
        now_s = clock()
        begin_s = min(begin_s, now_s + WARM_UP_S)
        _spread(bins, last_s - begin_s, now_s - begin_s, taken)
        last_s = now_s
        if now_s - begin_s >= seconds:
            break
    else:
        raise ConfigError(f"the consumer ended before {seconds:g} s; give it more messages")
    if not any(bins):
        raise ConfigError("the consumer took no bytes; it must yield the bytes of each take")
    return _levels(bins)


def _spread(bins: list[float], from_s: float, to_s: float, taken: int) -> None:
    """Add bytes to the bins of a span; the part of it before and after all bins is left out."""
    if to_s <= from_s or taken == 0:
        return
    for i in range(max(0, int(from_s / BIN_S)), min(len(bins), int(to_s / BIN_S) + 1)):
        overlap_s = min(to_s, (i + 1) * BIN_S) - max(from_s, i * BIN_S)
        bins[i] += taken * max(0.0, overlap_s) / (to_s - from_s)


def _levels(bins: Sequence[float]) -> Levels:
    mean = sum(bins) / len(bins)
    error = _ERROR
    runs = _merged([(1, taken / mean) for taken in bins], error)
    while len(runs) > LEVELS_MOST:
        error *= _COARSER
        runs = _merged(runs, error)
    ends_s = (end * BIN_S for end in itertools.accumulate(length for length, _ in runs))
    rates = [share * NOMINAL for _, share in runs]
    return tuple(zip((0.0, *ends_s), (*rates, rates[0]), strict=True))


def _merged(runs: Sequence[tuple[int, float]], error: float) -> list[tuple[int, float]]:
    """Runs (length, mean) with neighbours merged whose squared error grows by at most ``error``."""
    merged = [runs[0]]
    for length, mean in runs[1:]:
        last_length, last_mean = merged[-1]
        whole = last_length + length
        if last_length * length / whole * (last_mean - mean) ** 2 > error:
            merged.append((length, mean))
        else:
            merged[-1] = (whole, (last_length * last_mean + length * mean) / whole)
    return merged


def write(path: Path, levels: Levels, notes: Iterable[str]) -> None:
    """Write a trace with notes at its top."""
    lines = [*(f"# {note}" for note in notes), "# second MB/s"]
    lines += [f"{at_s:.3f} {rate / MB:.4g}" for at_s, rate in levels]
    path.write_text("\n".join(lines) + "\n")
