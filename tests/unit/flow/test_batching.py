"""Replenisher: outstanding demand stays within the window and never reaches zero unnoticed."""

from hypothesis import given
from hypothesis import strategies as st

from rstream.flow.batching import Replenisher


@given(window=st.integers(1, 2000), steps=st.lists(st.integers(1, 50), max_size=300))
def test_outstanding_demand_stays_between_three_quarters_and_the_window(window, steps):
    replenisher, outstanding, calls, consumed = Replenisher(window), window, 0, 0
    for step in steps:
        step = min(step, outstanding)
        outstanding -= step
        consumed += step
        request = replenisher.consumed(step)
        calls += request > 0
        outstanding += request
        assert window - max(1, window // 4) < outstanding <= window
    assert calls <= consumed / max(1, window // 4)
