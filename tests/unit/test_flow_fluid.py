"""The adaptive law in a closed loop (tests/models/fluid.py): what it promises.

The models are the ones that test_flow_models.py compares with the C laws. Data are a fluid, time is
virtual, seeds are printed. The bounds are weaker than the results, so that no single seed decides.
"""

from __future__ import annotations

import pytest

from tests.models.fluid import (
    BUFFER,
    MB,
    Receiver,
    base_scenario,
    drain_fifo,
    drain_in_turn,
    group,
    jain,
    paused,
    share,
    steps,
)
from tests.models.rates import Adaptive, Aimd, Nak, Params, Rate

FLAT = steps((0, 100 * MB))


REACTION_S = 0.005  # RTT + P


def adaptive(now: int) -> Rate:
    """A given rate to begin with: a guess of its own would count in its floor for seconds."""
    return Adaptive(Params(initial=100 * MB), now)


def test_no_report_without_overload() -> None:
    receiver = Receiver(FLAT, noise=0.15)
    assert group(adaptive, [receiver], 5, demand=steps((0, 60 * MB))).report_count == 0


@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_a_fall_and_a_rise_of_capacity_are_found(noise: float) -> None:
    """Capacity goes 100, 40, 100 %: the rate follows within 20 T, with half of credit's queue."""

    def world() -> list[Receiver]:
        return [Receiver(steps((0, 100 * MB), (3, 40 * MB), (6, 100 * MB)), noise=noise)]

    found, credit = (
        group(adaptive, world(), 9, step_ns=500_000),
        group(None, world(), 9, step_ns=500_000),
    )
    assert found.utilisation >= 0.98
    assert found.overrun == 0
    assert found.queue_ms(0.99) <= credit.queue_ms(0.99) / 2
    assert found.reached_s(3, 36 * MB, 44 * MB) <= 20 * REACTION_S
    assert found.reached_s(6, 90 * MB, 110 * MB) <= 20 * REACTION_S


def test_one_report_per_period_also_at_equilibrium() -> None:
    outcome = group(adaptive, [Receiver(FLAT)], 4, step_ns=500_000)
    assert 0.95 * 1000 <= outcome.report_count <= 1000
    assert 0.95 * 8 <= outcome.queue_ms(0.5) <= 1.05 * 8  # the set point: 0.8 of the target delay


@pytest.mark.parametrize(("every_s", "stop_s"), [(0.15, 0.02), (0.4, 0.1), (0.05, 0.01)])
def test_a_consumer_that_stops_often_loses_nothing(every_s: float, stop_s: float) -> None:
    """Credit with the whole buffer is the best that can be; its queue is several times as long."""

    def world() -> list[Receiver]:
        stops = [(0.5 + i * every_s, stop_s) for i in range(int(4 / every_s))]
        return [Receiver(paused(FLAT, *stops), noise=0.15)]

    found, credit = group(adaptive, world(), 4.5), group(None, world(), 4.5)
    assert found.utilisation >= 0.98 * credit.utilisation
    assert found.queue_ms(0.5) <= credit.queue_ms(0.5) / 3
    assert found.overrun == 0


def test_the_base_scenario_is_better_than_credit_and_aimd() -> None:
    """One receiver dies, one pauses, one is slow for a while."""
    found, credit = (
        group(adaptive, base_scenario(), 10, step_ns=500_000),
        group(None, base_scenario(), 10, step_ns=500_000),
    )
    aimd = group(lambda now: Aimd(Params(initial=4e7), now), base_scenario(), 10, step_ns=500_000)
    assert found.utilisation > credit.utilisation
    assert found.utilisation > aimd.utilisation
    assert found.queue_ms(0.5) < credit.queue_ms(0.5) / 4
    assert found.queue_ms(0.99) < credit.queue_ms(0.99) / 2
    assert found.overrun == 0


def test_the_proposal_overruns_where_the_adaptive_law_does_not() -> None:
    nak = group(lambda now: Nak(Params(initial=2e8), now), base_scenario(), 10, step_ns=500_000)
    assert 0.8 < nak.utilisation < 0.95
    assert 0 < nak.overrun < 0.005


@pytest.mark.parametrize("buffer", [2 << 20, BUFFER, 16 << 20])
@pytest.mark.parametrize(("noise", "seed"), [(0.0, 1), (0.15, 1), (0.15, 2)])
def test_a_stop_of_ten_reactions_overruns_nothing(buffer: int, noise: float, seed: int) -> None:
    """X (the headroom) is at least 3: the floor goes on, and no window holds it in this model."""
    stopped = Receiver(paused(FLAT, (1.0, 10 * REACTION_S)), noise=noise)
    outcome = group(
        adaptive, [stopped], 1 + 12 * REACTION_S, buffer=buffer, seed=seed, step_ns=100_000
    )
    assert outcome.overrun == 0


def test_a_hung_receiver_holds_the_group_until_it_is_evicted() -> None:
    """Until then the rate stays above the floor; the others' rate is back within a second of it."""
    group_of_four = [Receiver(FLAT, noise=0.15) for _ in range(3)] + [
        Receiver(steps((0, 100 * MB), (2, 0.0)), evicted_s=3.0)
    ]
    outcome = group(adaptive, group_of_four, 5, step_ns=500_000)
    held = [rate for at, rate in zip(outcome.times_s, outcome.rates, strict=True) if 2 < at < 3]
    assert min(held) >= 0.05 * 90 * MB
    assert outcome.reached_s(3.0, 90 * MB, 125 * MB) < 1


def test_the_death_of_a_receiver_does_not_lower_the_rate() -> None:
    outcome = group(adaptive, [Receiver(FLAT), Receiver(FLAT, dies_s=2.0)], 4, step_ns=500_000)
    rates = [rate for at, rate in zip(outcome.times_s, outcome.rates, strict=True) if 2 <= at < 2.1]
    assert min(rates) > 80 * MB


@pytest.mark.parametrize("drain", [drain_fifo, drain_in_turn])
@pytest.mark.parametrize("count", [2, 5, 8])
def test_senders_of_one_receiver_come_to_equal_shares(count: int, drain) -> None:
    """They start at 90 % and 10 %, and share equally within the first second.

    FIFO is the hard case: there an unequal share tends to stay.
    """
    laws = [lambda now: Adaptive(Params(initial=9e7), now)] + [
        lambda now: Adaptive(Params(initial=1e7 / (count - 1)), now)
    ] * (count - 1)
    shared = share(laws, 4, drain=drain, step_ns=1_000_000)
    assert min(jain(rates) for rates in shared.rates[2:]) >= 0.98
    assert shared.utilisation > 0.95
    assert shared.overrun == 0


def test_an_application_that_sends_little_gets_no_larger_rate() -> None:
    outcome = group(adaptive, [Receiver(FLAT)], 3, demand=steps((0, 5 * MB), (2, 1000 * MB)))
    early = [rate for at, rate in zip(outcome.times_s, outcome.rates, strict=True) if at < 2]
    assert max(early) == 100 * MB
    assert outcome.overrun == 0


def test_a_first_guess_fills_at_most_half_a_buffer() -> None:
    """In a group a receiver that consumes almost nothing is heard before that."""
    slow = [Receiver(steps((0, MB))) for _ in range(2)]
    outcome = group(lambda now: Adaptive(Params(), now), slow, 0.015)
    assert outcome.rates[0] == BUFFER / 2 / REACTION_S
    assert outcome.rates[-1] < 0.01 * outcome.rates[0]  # the guess does not raise its floor
    assert max(outcome.queues) <= 0.55 * BUFFER
