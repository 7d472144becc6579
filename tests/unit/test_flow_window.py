"""The window for an Aeron sender (flow/fill_window.h) against its model.

A closed loop shows that no stream stalls.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.models import fill as fills
from tests.models.numbers import NS_PER_MS
from tests.unit import test_flow_models
from tests.unit.test_flow_models import I64, SLOW, Laws, words_of

laws = test_flow_models.laws
BYTES = st.integers(0, (1 << 31) - 1)
POSITION = st.one_of(st.integers(0, 1 << 24), st.integers(0, 1 << 61))


@SLOW
@given(
    consumed=POSITION,
    behind=st.one_of(st.integers(-(1 << 20), 1 << 22), st.just(0)),
    window=st.one_of(BYTES, st.sampled_from([1408, 1 << 20])),
    last=st.one_of(BYTES, st.sampled_from([1408, 1 << 20])),
    whole=st.one_of(BYTES, st.just(1 << 20)),
)
def test_the_due_time_matches_the_model(
    laws: Laws, consumed: int, behind: int, window: int, last: int, whole: int
) -> None:
    position = max(0, consumed - behind)
    expected = fills.aeron_window_is_due(consumed, window, position, last, whole)
    assert laws.ask("window_due", consumed, window, position, last, whole) == [int(expected)]


@SLOW
@given(
    events=st.lists(
        st.tuples(
            st.integers(0, 20 * NS_PER_MS),
            st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]),
            st.floats(0, 1),
        ),
        min_size=1,
        max_size=60,
    ),
    window=st.one_of(st.sampled_from([1408, 32768, 131072, 1 << 20]), st.integers(1, 1 << 22)),
    buffer=st.one_of(st.none(), st.none(), I64),
    asked_for=st.sampled_from([1, 1, 100]),
    mtu=st.sampled_from([1408, 64, 65504]),
    rtt=st.sampled_from([0, 200_000, NS_PER_MS, 10 * NS_PER_MS, 200 * NS_PER_MS]),
)
def test_the_window_matches_the_model_and_no_stream_stalls(
    laws: Laws,
    events: list[tuple[int, float, float]],
    window: int,
    buffer: int | None,
    asked_for: int,
    mtu: int,
    rtt: int,
) -> None:
    """The sender sends up to its limit, which never falls; the reader reads a part of the data.

    ``asked_for`` divides the buffer on which fill NAKs are based.
    """
    model = fills.Fill()
    laws.ask("fill", 0)
    now = consumed = position = 0
    told = window
    limit = received = window
    memory = window if buffer is None else buffer
    for passing, taken, arrives in events:
        now += passing
        received += int((limit - received) * arrives)
        consumed += int((received - consumed) * taken)
        facts = fills.Facts(now, received, received, consumed, window // asked_for, rtt, mtu)
        model.update(facts)
        laws.ask("update", *words_of(facts))
        cut = fills.aeron_window(model, memory, window, mtu)
        assert laws.ask("window", memory, window, mtu) == [cut]
        assert min(mtu, window) <= cut <= window
        if consumed == received:
            assert cut == window
        if consumed > position + window // 4 or fills.aeron_window_is_due(
            consumed, cut, position, told, window
        ):
            position, told = consumed, cut
            limit = max(limit, position + told)
        if consumed == received:
            assert limit >= consumed + window * 3 // 4
