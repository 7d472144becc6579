"""The C law of the path against its model, on links and over hostile items."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import c_builds
from tests.models import path as paths
from tests.models.numbers import NS_PER_MS, NS_PER_S
from tests.unit.test_flow_models import I64, SLOW, Laws, alike

DATAGRAM = 1000


@pytest.fixture(scope="module")
def laws() -> Iterator[Laws]:
    started = Laws(c_builds.make("dev", "law_steps") / "tests" / "law_steps")
    yield started
    started.close()


class Both:
    """The C law and the model, kept in step."""

    def __init__(self, laws: Laws, datagram: int, rtt: int) -> None:
        self.laws, self.model = laws, paths.Path(datagram, rtt)
        self.compare(laws.ask("path", datagram, rtt), is_news=False)

    def sent(self, position: int, amount: int, now: int) -> None:
        self.model.on_sent(position, amount, now)
        self.compare(self.laws.ask("gone", position, amount, now), is_news=False)

    def item(self, item: paths.Item, now: int) -> None:
        is_news = self.model.on_item(item, now)
        self.compare(self.laws.ask("item", now, *astuple(item)), is_news=is_news)

    def silence(self, now: int) -> None:
        self.model.on_silence(now)
        self.compare(self.laws.ask("silence", now), is_news=False)

    def compare(self, answer: list[float | int], *, is_news: bool) -> None:
        model, track = self.model, self.model.track
        assert alike(
            answer[:7],
            [
                int(is_news),
                int(model.state),
                model.window,
                model.least,
                model.queue,
                model.usual,
                model.shallow,
            ],
        ), answer
        for found, expected in zip(
            answer[7:10], (model.limit(track.now), model.pace(), model.run()), strict=True
        ):
            assert abs(found - expected) <= 1 + 1e-9 * expected, answer  # truncated to whole bytes
        assert answer[10:] == [track.under_way(), track.refused, track.old], answer
        self.check_bounds(limit=answer[7], pace=answer[8])

    def check_bounds(self, *, limit: float, pace: float) -> None:
        """After the start neither is far beyond the bandwidth seen, whatever the window is."""
        model, bandwidth = self.model, self.model.bandwidth()
        if model.state == paths.State.START or bandwidth == math.inf:
            return
        age = (model.track.now - model.track.heard) / 1e9
        usual = 1.05 * model.window / model.rtt()
        most = max(model.window + bandwidth * age, model.datagram)
        assert limit <= 1 + (1 + 1e-9) * most
        assert pace <= 1 + (1 + 1e-9) * max(usual, 1.25 * bandwidth)


#: A round on a link: the queueing delay of it, a loss, and what the application leaves unused.
ROUND = st.tuples(
    st.sampled_from([0, 0, 0, 1, 2, 4, 9, 30]),
    st.sampled_from([0, 0, 0, 0, 1, 3, 10, 100]),
    st.sampled_from([1.0, 1.0, 1.0, 0.5]),
    st.integers(1, 12),
)


@SLOW
@given(
    rtt=st.sampled_from([NS_PER_MS, 10 * NS_PER_MS, 100 * NS_PER_MS]),
    rounds=st.lists(ROUND, min_size=10, max_size=40),
)
def test_the_law_matches_the_model_on_a_link(
    laws: Laws, rtt: int, rounds: list[tuple[int, int, float, int]]
) -> None:
    both = Both(laws, DATAGRAM, rtt)
    now = position = received = missing = 0
    for queue, lost, used, times in rounds:
        for _ in range(times):
            amount = max(int(both.model.window * used), DATAGRAM) + DATAGRAM
            begins = position
            for part in range(1, 4):
                position = begins + amount * part // 3
                both.sent(position, position - begins - amount * (part - 1) // 3, now)
                now += rtt // 50
            now += rtt + queue * NS_PER_MS
            for part in range(1, 4):
                end = begins + amount * part // 3
                gone = min(lost * DATAGRAM, amount // 4) if part == 3 else 0
                received += end - (begins + amount * (part - 1) // 3) - gone
                missing += gone
                both.item(paths.Item(end, end, received, 0, missing, now), now)
                now += rtt // 50


WILD = st.one_of(st.integers(-3000, 3000), st.integers(0, 3000), I64)
STEP = st.tuples(
    st.sampled_from(["sent", "sent", "item", "item", "item", "silence"]),
    st.integers(0, 30 * NS_PER_MS),
    st.lists(WILD, min_size=8, max_size=8),
    st.lists(st.booleans(), min_size=8, max_size=8),
)


@SLOW
@given(
    datagram=st.one_of(st.just(DATAGRAM), st.integers(-(1 << 31), (1 << 31) - 1)),
    rtt=st.one_of(st.just(10 * NS_PER_MS), I64),
    steps=st.lists(STEP, max_size=80),
)
def test_no_item_makes_them_differ(
    laws: Laws,
    datagram: int,
    rtt: int,
    steps: list[tuple[str, int, list[int], list[bool]]],
) -> None:
    """Items near the truth and far from it: what is refused, what is old, what is believed."""
    both = Both(laws, datagram, rtt)
    now = 0
    for word, passing, wild, is_wild in steps:
        now += passing
        track = both.model.track
        if word == "sent":
            amount = abs(wild[0]) % 100_000
            both.sent(track.position + amount, amount, now)
        elif word == "silence":
            both.silence(now)
        else:
            near = replace(track.item)
            near.highest += (track.position - track.item.highest) // 2
            near.received += 1 + (track.position - track.item.highest) // 2
            near.clock += passing // 2
            values = [
                max(-(1 << 63), min(value + off, (1 << 63) - 1)) if is_off else value
                for value, off, is_off in zip(astuple(near), wild, is_wild, strict=True)
            ]
            both.item(paths.Item(*values), now)


@SLOW
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 30 * NS_PER_MS),
            st.integers(-5000, 20_000),
            st.integers(0, 3000),
            st.sampled_from([0, NS_PER_MS, 30 * NS_PER_MS, NS_PER_S]),
            st.booleans(),
        ),
        max_size=80,
    )
)
def test_the_receiver_matches_the_model(
    laws: Laws, steps: list[tuple[int, int, int, int, bool]]
) -> None:
    model, now = paths.Arrival(), 0
    laws.ask("arrival")
    for passing, ahead, length, rtt, tells in steps:
        now += passing
        first = max(0, model.highest + ahead // 4)
        model.on_data(first, first + length, now)
        assert laws.ask("came", first, first + length, now, rtt) == [model.due(rtt)]
        if tells:
            item = model.tell(model.highest - length, now)
            assert laws.ask("tell", model.highest - length, now) == [*astuple(item)]
