"""The C laws of rate, tokens, fill and budget against their models, over random events.

Both sides must agree and keep their invariants. The C side is law_steps
(transport_ext/tests/flow/law_steps.c): it reads a line and prints the state. The events include
hostile numbers.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests import c_builds
from tests.models import budget as budgets
from tests.models import fill as fills
from tests.models import rates, tokens, truth
from tests.models.numbers import NS_PER_MS, NS_PER_S, RATE_MAX
from tests.models.rates import Params, Report

I64 = st.integers(-(1 << 63), (1 << 63) - 1)
REAL = st.floats(allow_nan=True, allow_infinity=True)
SLOW = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Laws:
    """The program law_steps, queried line by line."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, *words: object) -> list[float | int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(
            " ".join(str(int(word)) if isinstance(word, bool) else str(word) for word in words)
            + "\n"
        )
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        assert answer, f"law_steps ended at {words}"
        return [int(word) if word.lstrip("-").isdigit() else float(word) for word in answer]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(10) == 0


@pytest.fixture(scope="module")
def laws() -> Iterator[Laws]:
    started = Laws(c_builds.make("dev", "law_steps") / "tests" / "law_steps")
    yield started
    started.close()


def alike(actual: list[float | int], expected: list[float | int]) -> bool:
    """Equal up to the last bits of floating point."""
    return len(actual) == len(expected) and all(
        math.isclose(a, e, rel_tol=1e-9, abs_tol=1e-9)
        for a, e in zip(actual, expected, strict=True)
    )


# Time between events: mostly little, now and then seconds or a step back. FAR comes last: after it
# the clock no longer moves.
LITTLE = st.integers(0, 30 * NS_PER_MS)
PASSING = st.one_of(
    LITTLE,
    st.integers(0, NS_PER_MS),
    LITTLE,
    LITTLE,
    st.integers(0, 3 * NS_PER_S),
    st.integers(-5 * NS_PER_MS, 0),
)
FAR = st.one_of(st.just(1 << 62), st.just(-(1 << 62)), st.integers(-NS_PER_S, 20 * NS_PER_S))
SANE_REPORT = st.builds(
    Report,
    receiver_id=st.integers(0, 3),
    is_clear=st.sampled_from([False, False, True]),
    fill=st.floats(0, 1.2),
    drain=st.floats(1e5, 2e8),
    allowed=st.one_of(st.floats(0, 4e8), st.just(0.0)),
    buffer_bytes=st.sampled_from([65536, 1 << 20, 4 << 20]),
    rtt_ns=st.integers(0, 20 * NS_PER_MS),
)
HOSTILE_REPORT = st.builds(
    Report, receiver_id=I64, is_clear=st.booleans(), fill=REAL, drain=REAL, allowed=REAL,
    buffer_bytes=I64, rtt_ns=I64,
)  # fmt: skip


def events_after(
    passing: st.SearchStrategy[int], report: st.SearchStrategy[Report]
) -> st.SearchStrategy[tuple]:
    steady = st.tuples(
        st.just("cycle"), passing, st.just(1.0), st.just(NS_PER_MS), st.just(4 << 20)
    )
    return st.one_of(
        st.tuples(st.just("report"), passing, report),
        steady,
        steady,
        st.tuples(
            st.just("cycle"),
            passing,
            st.floats(0, 1.2),
            st.sampled_from([0, NS_PER_MS, 20 * NS_PER_MS]),
            st.sampled_from([0, 4 << 20]),
        ),
        st.tuples(
            st.just("change"),
            passing,
            st.one_of(st.floats(1e3, 1e9), REAL),
            st.sampled_from([0.0, 5000.0]),
        ),
    )


def way_back(allowed: float, drain: float) -> list[tuple]:
    """An overload that ends with "clear" and little room, and then the steps to the rate before."""
    steady = ("cycle", NS_PER_MS, 1.0, NS_PER_MS, 4 << 20)
    return [
        ("cycle", 2 * NS_PER_S, 1.0, NS_PER_MS, 4 << 20),
        ("report", NS_PER_MS, Report(0, False, 0.5, drain, allowed, 1 << 20, NS_PER_MS)),
        ("report", NS_PER_MS, Report(0, True, 0.99, drain, 0.0, 1 << 20, NS_PER_MS)),
        *[steady] * 20,
    ]


def early_clear(used: float, drain: float) -> list[tuple]:
    """An overload before the first rate was more than a guess, and the way back from it."""
    steady = ("cycle", NS_PER_MS, 1.0, NS_PER_MS, 4 << 20)
    return [
        ("cycle", NS_PER_MS, 0.0, NS_PER_MS, 4 << 20),
        *[("cycle", 101 * NS_PER_MS, used, NS_PER_MS, 4 << 20)] * 2,
        ("report", NS_PER_MS, Report(0, False, 0.5, drain, 1e6, 1 << 20, NS_PER_MS)),
        ("report", NS_PER_MS, Report(0, True, 0.5, drain, 0.0, 1 << 20, NS_PER_MS)),
        *[steady] * 20,
    ]


# A first overload, a normal run, an overload and the way back, many sources at once, slow cycles,
# and at the end hostile events.
EVENTS = st.tuples(
    st.one_of(st.just([]), st.builds(early_clear, st.floats(0, 0.4), st.floats(1e6, 1e9))),
    st.lists(events_after(PASSING, SANE_REPORT), max_size=40),
    st.one_of(st.just([]), st.builds(way_back, st.floats(1e6, 1e7), st.floats(1e6, 1e7))),
    st.lists(
        st.tuples(
            st.just("report"),
            st.integers(0, NS_PER_MS),
            st.builds(Report, receiver_id=st.integers(0, 20), allowed=st.floats(1e5, 1e8)),
        ),
        max_size=30,
    ),
    st.lists(
        st.tuples(
            st.just("cycle"),
            st.integers(10 * NS_PER_MS, 200 * NS_PER_MS),
            st.sampled_from([1.0, 1.0, 0.3]),  # below half of the rate it counts for no history
            st.just(NS_PER_MS),
            st.just(4 << 20),
        ),
        max_size=60,
    ),
    st.lists(
        events_after(st.one_of(PASSING, FAR), st.one_of(SANE_REPORT, HOSTILE_REPORT)), max_size=10
    ),
).map(lambda parts: [event for part in parts for event in part])
PARAMS = st.builds(
    Params,
    initial=st.sampled_from([0.0, 1e6, 5e7, 1e9]),
    least=st.sampled_from([65536.0, 1e3]),
    most=st.sampled_from([RATE_MAX, 2e8]),
    is_group=st.booleans(),
    window_ns=st.sampled_from([50 * NS_PER_MS, 0]),
    datagrams_per_s=st.sampled_from([0.0, 5000.0]),
)


def state(rate: rates.Rate) -> list[float | int]:
    own = [0, 0, 0]
    if isinstance(rate, rates.Adaptive):
        own = [int(rate.is_episode), rate.back_to, rate.jump]
    return [
        rate.rate, rate.datagrams, rate.due, rate.margin, len(rate.sources), rate.highest(), *own,
    ]  # fmt: skip


def words_of(fields: Report | fills.Facts) -> tuple[object, ...]:
    """The fields in their order, as law_steps reads them."""
    return astuple(fields)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", rates.LAWS)
@SLOW
@given(params=PARAMS, now=st.one_of(st.just(0), I64), events=EVENTS)
def test_rates_match_the_model(
    laws: Laws, name: str, params: Params, now: int, events: list[tuple]
) -> None:
    law = rates.LAWS[name]
    model = law(params, now)
    start = [
        params.initial,
        params.least,
        params.most,
        params.floor_share,
        params.target_delay_ns,
        params.detect_ns,
        params.is_group,
        params.window_ns,
    ]
    answer = laws.ask(
        "rate",
        name,
        now,
        *start,
        params.step_share,
        params.increase,
        params.decrease,
        params.datagrams_per_s,
    )
    assert alike(answer, state(model))
    sent = 0
    for event in events:
        word, passing, *rest = event
        now = max(-(1 << 63), min(now + passing, (1 << 63) - 1))
        before = model.now
        if word == "report":
            model.on_report(rest[0], now)
            answer = laws.ask("report", now, *words_of(rest[0]))
        elif word == "cycle":
            sent += int(min(model.rate, 1e9) * rest[0] * max(0, min(passing, NS_PER_S)) / 1e9)
            model.on_cycle(now, sent, rest[1], rest[2])
            answer = laws.ask("cycle", now, sent, rest[1], rest[2])
        else:
            model.change(rest[0], rest[1], now)
            answer = laws.ask("change", now, rest[0], rest[1])
        assert model.now >= before
        assert alike(answer, state(model)), (event, answer, state(model))
        check_limits(model)


def check_limits(model: rates.Rate) -> None:
    """The invariants of rate.h, for every report."""
    floor = max(model.params.floor_share * model.highest(), model.params.least)
    assert min(floor, model.params.most) * (1 - 1e-12) <= model.rate <= model.params.most
    assert len(model.sources) <= rates.SOURCES_MAX


@SLOW
@given(
    asked=st.lists(st.tuples(st.integers(0, 9), st.floats(1e7, 1e9)), min_size=1, max_size=12),
    order=st.randoms(use_true_random=False),
)
def test_order_and_duplicates_of_reports_change_nothing(
    asked: list[tuple[int, float]], order
) -> None:
    """The sender goes to the smallest rate that is asked for, and not below its floor."""
    last = dict(asked)

    def after(heard: list[tuple[int, float]]) -> float:
        rate = rates.Adaptive(Params(initial=1e8), 0)
        for i, (receiver_id, allowed) in enumerate(heard):
            report = Report(receiver_id, False, 0.5, 5e7, allowed, 4 << 20, NS_PER_MS)
            rate.on_report(report, i * 1000)
        return rate.rate

    shuffled = list(last.items()) + list(last.items())[::2]
    order.shuffle(shuffled)
    assert after(shuffled) == after(asked) == max(min(last.values()), 5e6)


FILL_EVENT = st.tuples(
    st.one_of(PASSING, PASSING, st.integers(40 * NS_PER_MS, 200 * NS_PER_MS)),
    st.one_of(st.integers(-1000, 1 << 20), st.just(0)),
    st.floats(0, 1.1),
    st.sampled_from(["", "", "sent", "heard"]),
    st.sampled_from([0, 0, 0, 65536, 1 << 20]),
    st.sampled_from([0, 0, 0, 100_000]),
)


@SLOW
@given(
    first=st.integers(0, 1 << 40),
    events=st.lists(FILL_EVENT, min_size=10, max_size=80),
    buffer=st.one_of(
        st.sampled_from([0, 65536, 1 << 20, 4 << 20]), st.sampled_from([1 << 20, 4 << 20]), I64
    ),
    rtt=st.one_of(
        st.sampled_from([0, NS_PER_MS, 20 * NS_PER_MS]), st.sampled_from([0, NS_PER_MS]), I64
    ),
    largest=st.sampled_from([0, 0, 100_000, 1 << 40, -1]),
    delay=st.sampled_from([0, NS_PER_MS, 100 * NS_PER_MS, -5]),
    group=st.sampled_from([1.0, 4.0, 1000.0]),
)
def test_fill_matches_the_model(
    laws: Laws, first: int, events: list[tuple], buffer: int, rtt: int, largest: int, delay: int,
    group: float,
) -> None:  # fmt: skip
    model, suppress = fills.Fill(delay), fills.Suppress()
    laws.ask("fill", delay)
    laws.ask("suppress")
    now, received, consumed, highest = 0, first, first, first
    for passing, arriving, taken, then, window, behind in events:
        now = max(-(1 << 63), min(now + passing, (1 << 63) - 1))
        received += arriving
        consumed += int((received - consumed) * taken)
        highest = max(highest, received) + behind
        facts = fills.Facts(now, received, highest, consumed, buffer, rtt, 1408, largest, window)
        was_reporting = model.is_reporting
        due = model.update(facts)
        compare_fill(laws.ask("update", *words_of(facts)), model, due)
        assert due != fills.Due.CLEAR or (was_reporting and not model.is_reporting)
        assert due != fills.Due.REPORT or model.is_reporting
        is_due = due == fills.Due.REPORT
        sends = suppress.is_due(model, is_due, group, taken % 1)
        answer = laws.ask("due", is_due, group, taken % 1)
        assert alike(answer, [int(sends), int(suppress.due is not None), suppress.silenced])
        if sends or then == "sent":
            model.on_sent()
            compare_fill(laws.ask("sent"), model, fills.Due.QUIET)
        if then == "heard":
            heard = model.allowed * (0.5 + taken)
            suppress.on_heard(model, heard)
            answer = laws.ask("heard", heard)
            assert alike(answer, [0, int(suppress.due is not None), suppress.silenced])
        drain = taken * 1e8
        for is_clear in (False, True):
            expected = [model.told_drain(drain, is_clear), model.allowed_at(drain)]
            assert alike(laws.ask("part", drain, is_clear), expected)


def compare_fill(answer: list[float | int], model: fills.Fill, due: fills.Due) -> None:
    expected = [
        int(due), model.fill, model.drain, model.taking, model.allowed, model.standing,
        model.set_point, model.period, int(model.is_reporting), int(model.is_stalled), model.due(),
    ]  # fmt: skip
    assert alike(answer, expected), (answer, expected)


@SLOW
@given(
    st.lists(
        st.tuples(st.one_of(st.floats(0, 1e9), st.sampled_from([0.0, 1e6])), st.booleans()),
        max_size=64,
    )
)
def test_fair_shares_match_the_model(laws: Laws, senders: list[tuple[float, bool]]) -> None:
    words = [word for rate, is_limited in senders for word in (rate, is_limited)]
    share = fills.fair_share(senders)
    (answer,) = laws.ask("fair", *words)
    assert math.isclose(answer, share, rel_tol=1e-9, abs_tol=1e-3)
    if any(is_limited for _, is_limited in senders):
        given_away = sum(share if is_limited else min(rate, share) for rate, is_limited in senders)
        arriving = sum(rate for rate, _ in senders)
        assert math.isclose(given_away, arriving, rel_tol=1e-9, abs_tol=1e-3)


@SLOW
@given(
    group=st.one_of(REAL, st.floats(1, 2000)),
    longest=st.one_of(I64, st.integers(0, 50 * NS_PER_MS)),
    unit=st.one_of(REAL, st.floats(0, 1)),
)
def test_wait_matches_the_model(laws: Laws, group: float, longest: int, unit: float) -> None:
    (answer,) = laws.ask("wait", group, longest, unit)
    # the logarithms of C and Python may differ
    assert abs(answer - fills.wait_ns(group, longest, unit)) <= 1
    assert answer >= 0
    assert (answer > 0) == (group > 1)


# Receivers that consume, report now and then, and stall at times; some of them lie. A true claim
# gives the unread bytes as a share of the window; a lie multiplies it.
TRUTH_EVENT = st.one_of(
    st.tuples(st.just("send"), st.integers(0, 2 * NS_PER_MS), st.just(0), st.integers(0, 400_000)),
    st.tuples(
        st.just("status"),
        st.integers(0, 20 * NS_PER_MS),
        st.integers(0, 3),
        st.sampled_from([0.0, 0.0, 0.5, 1.0]),
    ),
    st.tuples(
        st.just("claim"),
        st.integers(0, 60 * NS_PER_MS),
        st.integers(0, 3),
        st.sampled_from([1.0, 1.0, 1.0, 0.5, 3.0]),
    ),
    st.tuples(
        st.just("stand"), st.integers(0, 60 * NS_PER_MS), st.just(0), st.integers(0, 400_000)
    ),
)
HOSTILE_TRUTH_EVENT = st.one_of(
    st.tuples(st.just("raw_status"), PASSING, I64, I64, I64),
    st.tuples(
        st.just("raw_claim"), PASSING, HOSTILE_REPORT, I64, st.integers(-(1 << 31), (1 << 31) - 1)
    ),
    st.tuples(st.just("crowd"), PASSING, st.integers(0, 200)),
    st.tuples(st.just("stand"), FAR, st.just(0), st.integers(0, 1 << 62)),
)


class Told:
    """Truth and standstill of both sides."""

    def __init__(self, laws: Laws) -> None:
        self.laws, self.truth = laws, truth.Truth()
        self.standstill = truth.Standstill(self.truth, 0)
        laws.ask("truth", 0)

    def status(self, receiver_id: int, consumed: int, window: int, now: int) -> None:
        is_news = self.truth.on_status(receiver_id, consumed, window, now)
        self.compare(
            self.laws.ask("status", now, receiver_id, consumed, window), is_news, receiver_id
        )

    def claim(self, report: Report, sent: int, slack: int, now: int) -> None:
        is_believed = self.truth.is_believed(report, sent, slack, now)
        if is_believed:
            self.standstill.on_report(report, now)
        answer = self.laws.ask("claim", now, sent, slack, *words_of(report))
        self.compare(answer, is_believed, report.receiver_id)

    def compare(self, answer: list[float | int], is_good: bool, receiver_id: int) -> None:
        known = self.truth
        assert answer == [
            int(is_good),
            int(known.is_liar(receiver_id)),
            len(known.sources),
            known.ignored,
            self.standstill.until,
        ]

    def stand(self, position: int, limit: int, now: int) -> int:
        stood = self.standstill.limit(position, limit, 1408, now)
        assert self.laws.ask("stand", now, position, 1408, limit) == [
            stood,
            int(self.standstill.is_holding),
            self.standstill.left,
            self.standstill.due(),
        ]
        return stood


@SLOW
@given(
    events=st.lists(TRUTH_EVENT, min_size=20, max_size=120),
    hostile=st.lists(HOSTILE_TRUTH_EVENT, max_size=8),
)
def test_truth_and_standstill_match_the_models(
    laws: Laws, events: list[tuple], hostile: list[tuple]
) -> None:
    told, now, sent, window = Told(laws), 0, 0, 1 << 20
    consumed = dict.fromkeys(range(4), 0)
    for word, passing, who, how in events:
        now += passing
        if word == "send":
            sent += how
        elif word == "status":
            consumed[who] += int((sent - consumed[who]) * how)
            told.status(who, consumed[who], window, now)
        elif word == "claim":
            told.status(who, consumed[who], window, now)
            fill = min((sent - consumed[who]) / window * how, 2.0)
            allowed = 0.0 if passing % 2 else 5e7
            report = Report(who, how == 0.5, fill, 5e7, allowed, window, NS_PER_MS)
            told.claim(report, sent, 1408, now)
        else:
            limit = sent + how
            stood = told.stand(sent, limit, now)
            assert sent <= stood <= limit
    for word, passing, *rest in hostile:
        now = max(-(1 << 63), min(now + passing, (1 << 63) - 1))
        if word == "raw_status":
            told.status(*rest, now)
        elif word == "raw_claim":
            told.claim(*rest, now)
        elif word == "crowd":
            for receiver_id in range(1000, 1000 + rest[0]):
                told.status(receiver_id, receiver_id, window, now)
        else:
            told.stand(sent, sent + rest[1], now)


@SLOW
@given(steps=st.lists(st.tuples(st.integers(0, 40 * NS_PER_MS), st.booleans()), max_size=200))
def test_a_stalled_receiver_holds_a_stream_for_a_bounded_share(
    laws: Laws, steps: list[tuple[int, bool]]
) -> None:
    """Whatever receivers report, at most MOST_NS plus a sixth of the time is held."""
    told, now, held = Told(laws), 0, 0
    told.status(1, 0, 1 << 20, now)
    told.status(1, 1000, 1 << 20, now)
    for passing, moves in steps:
        held += passing if told.standstill.is_holding else 0
        now += passing
        told.status(1, told.truth.sources[1].consumed + moves, 1 << 20, now)
        told.claim(Report(1, False, 1.0, 5e7, 0.0, 1 << 20, NS_PER_MS), 3 << 20, 1408, now)
        stood = told.stand(3 << 20, 4 << 20, now)
        assert not (told.standstill.left <= 0 and stood < 4 << 20)
    assert held <= truth.MOST_NS + now / 6 + 40 * NS_PER_MS  # one late check


# Near the limits: bursts of 200 KB and of 5 632 bytes, and the times in which they refill.
SOON = st.one_of(
    st.integers(0, 2 * NS_PER_MS),
    st.integers(0, 2 * NS_PER_MS),
    st.integers(0, NS_PER_MS // 10),
    PASSING,
)
TOKEN_EVENT = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, 200_000), st.integers(0, 3), SOON),
    st.tuples(st.just("ask"), st.integers(0, 3000), st.integers(0, 100), SOON),
    st.tuples(st.just("spend"), st.integers(0, 200_000), st.integers(0, 3), SOON),
    st.tuples(st.just("spend"), st.integers(0, 3000), st.integers(0, 3), SOON),
    st.tuples(st.just("set"), st.floats(1e4, 1e9), st.sampled_from([100.0, 1e5, RATE_MAX]), SOON),
)
HOSTILE_TOKEN_EVENT = st.one_of(
    st.tuples(st.sampled_from(["ask", "spend"]), I64, I64, st.one_of(PASSING, FAR)),
    st.tuples(st.just("set"), REAL, REAL, st.one_of(PASSING, FAR)),
)
TOKEN_EVENTS = st.tuples(
    st.lists(TOKEN_EVENT, min_size=10, max_size=60), st.lists(HOSTILE_TOKEN_EVENT, max_size=5)
).map(lambda parts: parts[0] + parts[1])


@SLOW
@given(
    rate=st.sampled_from([1e5, 1e8, RATE_MAX]),
    datagrams=st.sampled_from([1000.0, RATE_MAX]),
    events=TOKEN_EVENTS,
)
def test_tokens_match_the_model(
    laws: Laws, rate: float, datagrams: float, events: list[tuple]
) -> None:
    now = 0
    model = tokens.Tokens(rate, datagrams, 1408, now)
    laws.ask("tokens", rate, datagrams, 1408, now)
    for word, *rest, passing in events:
        now = max(-(1 << 63), min(now + passing, (1 << 63) - 1))
        seen = (-1, 0)
        if word == "ask":
            seen = model.ask(*rest, now)
            if (
                seen[0] == tokens.REFUSED and seen[1] < 1 << 60
            ):  # at the time it names, it must accept
                ahead = laws.ask("ask", *rest, seen[1])
                model.fill(seen[1])
                assert ahead[0] != tokens.REFUSED
                now = max(now, seen[1])
                seen = model.ask(*rest, now)
        elif word == "spend":
            model.spend(*rest, now)
        else:
            model.set(*rest, now)
        answer = laws.ask(word, *rest, now)
        assert alike(answer, [*seen, model.bytes.level, model.datagrams.level]), (
            word,
            rest,
            answer,
        )


@SLOW
@given(
    rate=st.floats(1e5, 1e9),
    steps=st.lists(
        st.tuples(st.integers(0, 5 * NS_PER_MS), st.integers(1, 100_000), st.floats(1e5, 1e9)),
        max_size=80,
    ),
)
def test_no_interval_gets_more_than_its_rate_and_a_burst(
    rate: float, steps: list[tuple[int, int, float]]
) -> None:
    """The law of tokens.h over every interval of a run with changing rates."""
    bucket = tokens.Tokens(rate, RATE_MAX, 1408, 0)
    now, earned, burst = 0, 0.0, bucket.bytes.burst
    sent: list[tuple[float, int]] = []  # bytes earned before, and bytes sent
    for passing, amount, change in steps:
        earned += bucket.bytes.rate * passing / 1e9
        now += passing
        amount = min(amount, int(bucket.bytes.burst))
        if bucket.ask(amount, 1, now)[0] != tokens.REFUSED:
            bucket.spend(amount, 1, now)
            sent.append((earned, amount))
        if amount % 3 == 0:
            bucket.set(change, RATE_MAX, now)
            burst = max(burst, bucket.bytes.burst)
    for i in range(len(sent)):
        total = 0.0
        for j in range(i, len(sent)):
            total += sent[j][1]
            assert total <= (sent[j][0] - sent[i][0] + burst) * (1 + 1e-9)


BYTES = st.one_of(st.integers(0, 1 << 20), st.integers(0, 1 << 40), st.integers(0, (1 << 62)))
SHARE = st.floats(0, 1)


@SLOW
@given(
    st.builds(
        budgets.Policy,
        kind=st.sampled_from(budgets.Kind),
        fixed=BYTES,
        memory=BYTES,
        least=BYTES,
        most=BYTES,
        new_share=SHARE,
        threshold=SHARE,
        all_share=SHARE,
    ),
    st.integers(0, 100_000),
    BYTES,
)
def test_a_grant_matches_the_model(
    laws: Laws, policy: budgets.Policy, connections: int, granted: int
) -> None:
    numbers = (
        policy.fixed,
        policy.memory,
        policy.least,
        policy.most,
        policy.new_share,
        policy.threshold,
        policy.all_share,
    )
    grant, is_shared = laws.ask("grant", int(policy.kind), *numbers, connections, granted)
    assert grant == policy.grant(connections, granted)
    assert is_shared == (policy.kind == budgets.Kind.AGGRESSIVE)
    if policy.kind in (budgets.Kind.DYNAMIC, budgets.Kind.AGGRESSIVE):
        assert policy.least <= grant <= max(policy.least, policy.most)


@SLOW
@given(st.one_of(BYTES, I64), BYTES, BYTES, st.integers(0, 1000))
@example(budgets.NO_LIMIT, 0, 0, 2)
@example(budgets.NO_LIMIT - 1, 0, 0, 2)
def test_the_room_matches_the_model_and_never_exceeds_the_grant(
    laws: Laws, granted: int, unacknowledged: int, own: int, streams: int
) -> None:
    own = min(own, unacknowledged)
    (room,) = laws.ask("room", granted, unacknowledged)
    assert room == budgets.room(granted, unacknowledged)
    (share,) = laws.ask("share", room, own, streams)
    assert share == budgets.room_of_stream(int(room), own, streams)
    assert 0 <= share <= room
    if granted > 0 and room > 0 and own == 0:
        assert share > 0  # a stream with nothing unacknowledged is never shut out
    if streams > 1 and room < budgets.NO_LIMIT and share > 1:
        assert own + share <= room - share + 1


@SLOW
@given(st.one_of(BYTES, I64), st.one_of(BYTES, I64))
def test_an_acknowledgement_is_due_as_in_the_model(
    laws: Laws, connection: int, stream: int
) -> None:
    (step,) = laws.ask("step", connection, stream)
    assert step == budgets.ack_step(connection, stream)
    assert step > 0
