"""The law of throttle: in any interval at most rate·d + burst elements go out, and no fewer than
that when there are enough of them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream.flow.spacing import Spacing

S = 1_000_000_000


def gone_at(spacing: Spacing, offers_ns: list[int]) -> list[int]:
    """When each element goes out, if elements are offered at these times and wait in order."""
    times, now_ns = [], 0
    for offer_ns in offers_ns:
        now_ns = max(now_ns, offer_ns, spacing.free_ns() or 0)
        spacing.spend(now_ns)
        times.append(now_ns)
    return times


def test_evenly_without_burst():
    assert gone_at(Spacing(10, 1), [0] * 4) == [0, S // 10, 2 * S // 10, 3 * S // 10]


def test_a_burst_after_a_pause():
    times = gone_at(Spacing(10, 3), [0] * 5 + [10 * S] * 4)
    assert times[:5] == [0, 0, 0, S // 10, 2 * S // 10]
    assert times[5:] == [10 * S] * 3 + [10 * S + S // 10]


@given(
    rate=st.floats(0.1, 1e6),
    burst=st.integers(1, 20),
    gaps_ns=st.lists(st.integers(0, 3 * S), min_size=1, max_size=40),
)
def test_never_more_than_the_law_allows(rate, burst, gaps_ns):
    offers_ns = [sum(gaps_ns[:n]) for n in range(len(gaps_ns))]
    times = gone_at(Spacing(rate, burst), offers_ns)
    for first in range(len(times)):
        for last in range(first, len(times)):
            seconds = (times[last] - times[first]) / S
            assert last - first + 1 <= rate * seconds + burst + 1e-6


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_refuses_what_it_cannot_use(rate, burst):
    with pytest.raises(ValueError):
        Spacing(rate, burst)
