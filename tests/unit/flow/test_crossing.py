"""flow.CrossedDemand against its law, with readers that are modelled element by element."""

from __future__ import annotations

import random

import pytest

from rstream.abc import UNBOUNDED
from rstream.flow import crossing
from rstream.flow.crossing import CrossedDemand


def test_without_a_reader_nothing_is_requested():
    demand = CrossedDemand(8)
    assert demand.take() == 0
    demand.wanted_behind(0, 3)
    assert demand.take() == 3
    demand.nobody()
    for position in (10, 20, 30):
        demand.sent(position)
    assert demand.take() == 0


def test_a_small_demand_is_requested_in_full():
    demand = CrossedDemand(256)
    demand.wanted_behind(0, 1)
    assert demand.take() == 1
    assert demand.take() == 0
    demand.wanted_behind(0, 2)
    assert demand.take() == 1


def test_the_window_is_requested_in_quarters():
    demand = CrossedDemand(8)
    demand.wanted_behind(0, UNBOUNDED)
    assert demand.take() == 8
    demand.sent(64)
    assert not demand.is_due()
    assert demand.take() == 0
    demand.sent(128)
    assert demand.is_due()
    assert demand.take() == 2


def test_the_sender_checks_demand_more_often_as_it_runs_out():
    demand = CrossedDemand(64)
    demand.wanted_behind(0, 40)
    assert demand.take() == 40
    looked_at: list[int] = []
    for position in range(1, 41):
        demand.sent(position)
        if demand.is_due():
            looked_at.append(demand.left)
    assert looked_at == [39, 30, 23, 18, 14, 10, 6, 2, 0]
    assert demand.is_due()  # no demand is left
    assert demand.is_due()


def test_an_older_position_changes_nothing():
    demand = CrossedDemand(100)
    demand.wanted_behind(0, 4)
    assert demand.take() == 4
    for position in (10, 20, 30, 40):
        demand.sent(position)
    demand.wanted_behind(40, 2)
    demand.wanted_behind(10, 1000)
    assert demand.allowed == 6


def test_a_position_inside_an_element_counts_as_the_one_before():
    demand = CrossedDemand(100)
    demand.wanted_behind(0, 4)
    demand.take()
    demand.sent(1000)
    demand.sent(2000)
    demand.wanted_behind(1500, 1)
    assert demand.allowed == 2


def test_readers_without_demand_are_limited_by_the_window():
    demand = CrossedDemand(4)
    demand.unlimited()
    assert demand.take() == 4
    for position in range(1, 5):
        demand.sent(position)
    assert demand.take() == 4
    demand.wanted_behind(4, 1)  # a reader that reports demand took its place
    assert demand.allowed == 5


def test_another_stream_has_other_positions():
    demand = CrossedDemand(100)
    demand.wanted_behind(0, 3)
    demand.take()
    for position in (100, 200, 300):
        demand.sent(position)
    demand.restarted()
    assert demand.take() == 0
    demand.wanted_behind(0, 2)
    assert demand.take() == 2


def test_positions_are_bounded(monkeypatch):
    monkeypatch.setattr(crossing, "POSITIONS_MAX", 16)
    demand = CrossedDemand(1000)
    demand.wanted_behind(0, 1000)
    demand.take()
    for position in range(1, 1001):
        demand.sent(position * 32)
    demand.wanted_behind(999 * 32, 10)
    assert demand.allowed <= 999 + 10  # never more than the true demand
    demand.wanted_behind(1000 * 32, 10)
    assert demand.allowed == 1010


@pytest.mark.parametrize("seed", range(40))
def test_the_demand_is_served_and_never_exceeded(seed):
    print(f"seed {seed}")
    rng = random.Random(seed)
    window = rng.choice([1, 2, 7, 64])
    demand = CrossedDemand(window)
    positions = [0]  # after each element sent
    asked = made = 0
    wanted = consumed = 0  # what the reader requested and received
    told: list[tuple[int, int]] = []
    for _ in range(3000):
        choice = rng.random()
        if choice < 0.2:
            wanted += rng.randint(1, 5)
        elif choice < 0.5 and consumed < min(made, wanted):
            consumed += rng.randint(1, min(made, wanted) - consumed)
        elif choice < 0.8 and made < asked:
            made += 1
            positions.append(positions[-1] + rng.randint(1, 9) * 32)
            demand.sent(positions[-1])
        else:
            told.append((positions[consumed], wanted - consumed))
        if told and rng.random() < 0.5:
            # Some reports are lost, some late, some duplicated.
            pair = told.pop(rng.randrange(len(told)))
            if rng.random() < 0.7:
                demand.wanted_behind(*pair)
            if rng.random() < 0.2:
                told.append(pair)
        asked += demand.take()
        assert asked <= wanted
        assert asked - made <= window
    demand.wanted_behind(positions[consumed], wanted - consumed)
    while made < wanted:
        asked += demand.take()
        assert made < asked, "the reader has demand that is not served"
        while made < asked:
            made += 1
            positions.append(positions[-1] + 32)
            demand.sent(positions[-1])
    assert asked == wanted


def test_a_window_of_zero_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        CrossedDemand(0)
