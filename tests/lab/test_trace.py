"""Traces: recording a consumer, and the recordings of the laboratory."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rstream.errors import ConfigError
from rstream.lab.trace import Levels, read, record, write
from tests.make_traces import FOLDER


def mean(levels: Levels) -> float:
    """Bytes per second from the first to the last time."""
    pairs = itertools.pairwise(levels)
    return sum(rate * (end_s - at_s) for (at_s, rate), (end_s, _) in pairs) / levels[-1][0]


def test_recordings_are_circles_of_ten_seconds() -> None:
    paths = sorted(FOLDER.glob("*.trace"))
    assert [path.stem for path in paths] == ["arrow", "flights", "json"]
    for path in paths:
        levels = read(path)
        assert levels[-1] == (10.0, levels[0][1])
        assert mean(levels) == pytest.approx(100e6, rel=0.01)
        assert path.stat().st_size < 8000
        assert f"Recorded by: python -m tests.make_traces {path.stem}" in path.read_text()


def test_a_recording_is_the_capacity_of_a_consumer(tmp_path: Path) -> None:
    """By a clock of its own: takes of 4 and 2 ms, then 4 ms of other work. The mean: 100 MB/s."""
    now_s = 0.0

    def consumer() -> Iterator[int]:
        nonlocal now_s
        while True:
            for taken, length_s in ((1000, 0.004), (1000, 0.002), (0, 0.004)):
                now_s += length_s
                yield taken

    levels = record(consumer(), 0.020, lambda: now_s)
    expected = [(0, 250), (2, 0), (6, 125), (10, 250), (12, 0), (16, 125), (20, 250)]
    write(tmp_path / "own.trace", levels, ["a test"])
    for found in (levels, read(tmp_path / "own.trace")):
        assert [(round(at_s * 1e3), round(rate / 1e6)) for at_s, rate in found] == expected


def test_a_long_recording_keeps_what_changes_most() -> None:
    """Much noise and one stop: there are at most 500 levels, and the stop is one of them."""
    dice, now_s = random.Random(1), 0.0

    def consumer() -> Iterator[int]:
        nonlocal now_s
        while True:
            now_s += 0.0005
            yield dice.randrange(800, 1200)
            if 6.0 < now_s < 6.0005:
                now_s += 0.020
                yield 0

    levels = record(consumer(), 10.0, lambda: now_s)
    assert len(levels) <= 501
    assert any(
        rate < 5e6 and end_s - at_s > 0.018
        for (at_s, rate), (end_s, _) in itertools.pairwise(levels)
    )
    assert mean(levels) == pytest.approx(100e6, rel=1e-3)


def test_a_consumer_that_cannot_be_recorded_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"ended before 0.1 s; give it more messages"):
        record([100, 100], 0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 100\n3 x", "line 2: '3 x'; a line is: second MB/s"),
        ("0 100 5", "line 1"),
        ("1 100\n0 100", "line 2: '0 100'; times must not go back"),
        ("0 -1", "numbers must not be negative"),
        ("# nothing", "no line with a capacity"),
    ],
)
def test_an_error_in_a_trace_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.trace"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
