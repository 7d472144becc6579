"""Demand: 0 <= delivered <= requested <= 2**63 - 1 for every request; the oracle is a plain sum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream.abc import UNBOUNDED
from rstream.flow.demand import Demand

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 1 << 64)),
        st.tuples(st.just("take"), st.integers(0, 1000)),
    )
)


@given(STEPS)
def test_spec_1_01_never_more_than_requested(steps):
    demand, requested, delivered = Demand(), 0, 0
    for what, n in steps:
        if what == "add":
            demand.add(n)
            requested += n
        elif n <= demand.pending:
            demand.take(n)
            delivered += n
        else:
            with pytest.raises(ValueError, match=r"§1\.1"):
                demand.take(n)
        assert delivered <= requested
        if requested < UNBOUNDED:
            assert demand.pending == requested - delivered
        assert 0 <= demand.pending <= UNBOUNDED


@pytest.mark.parametrize("n", [0, -1, -(2**70)])
def test_spec_3_09_non_positive_request_is_refused_and_changes_nothing(n):
    demand = Demand()
    demand.add(3)
    with pytest.raises(ValueError, match=r"§3\.9.*non-positive"):
        demand.add(n)
    assert demand.pending == 3


def test_spec_3_17_saturates_and_is_unbounded_from_then_on():
    demand = Demand()
    demand.add(UNBOUNDED - 1)
    assert not demand.is_unbounded
    demand.add(UNBOUNDED)
    assert demand.is_unbounded
    demand.take(10)
    assert demand.pending == UNBOUNDED
