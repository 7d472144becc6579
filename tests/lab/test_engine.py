"""The queue engine against the fluid model, and the invariants of a run for every seed."""

from __future__ import annotations

import pytest

from rstream.lab.engine import pack, run
from rstream.lab.measure import mean_rate, overrun_share, quantile, slowest, utilisation
from rstream.lab.scenario import (
    BUFFER,
    LAWS,
    MB,
    Consumer,
    Forger,
    LabImage,
    Law,
    Liar,
    Scenario,
    Sender,
    group,
)
from tests.models import fluid
from tests.models.rates import Adaptive, Params

FLAT = ((0.0, 100 * MB),)


def base(noise: float) -> Scenario:
    """The base scenario of tests/models/fluid.py."""
    return group(
        "base",
        10,
        (
            Consumer(levels=FLAT, noise=noise),
            Consumer(levels=FLAT, noise=noise, dies_s=2.0),
            Consumer(levels=FLAT, noise=noise, pauses=((3.0, 0.2), (8.0, 0.2))),
            Consumer(levels=((0.0, 100 * MB), (4.0, 40 * MB), (6.0, 100 * MB)), noise=noise),
        ),
    )


def test_engine_and_fluid_model_agree() -> None:
    """Without noise both run the same world: C laws over datagrams, Python laws over a fluid.

    They define use differently, so the others' rates differ in the pauses; the rate of the slowest
    receiver is compared. The first rate is given, because only the engine has a window that holds
    a guess.
    """
    found = run(base(0.0).under(Law("adaptive", {"initial": 100 * MB})), 1)
    params = Params(initial=100 * MB)
    model = fluid.group(
        lambda now: Adaptive(params, now), fluid.base_scenario(noise=0.0), 10, step_ns=250_000
    )
    delivered = min(found.image("consumed", i)[found.index(10)] for i in (0, 2, 3))
    integral = (
        sum(
            min(level)
            for level in zip(*[_levels(c) for c in fluid.base_scenario(0.0)], strict=True)
        )
        * 0.001
    )
    assert delivered / integral == pytest.approx(model.utilisation, abs=0.03)
    queues = [queue / (100 * MB) * 1000 for queue in found.sender("queue_most")[: found.index(10)]]
    assert quantile(queues, 0.5) == pytest.approx(model.queue_ms(0.5), abs=3.0)
    assert quantile(queues, 0.99) == pytest.approx(model.queue_ms(0.99), abs=8.0)
    assert overrun_share(found) == model.overrun == 0


def _levels(receiver: fluid.Receiver) -> list[float]:
    return [
        receiver.capacity(ms / 1000) if receiver.is_there(ms / 1000) else 1e12
        for ms in range(10_000)
    ]


@pytest.mark.parametrize("law", [law for law in LAWS if law != "fixed"])
def test_one_seed_is_one_run(law: str) -> None:
    world = group(
        "seeds",
        1,
        tuple(Consumer(noise=0.15) for _ in range(3)),
        sender=Sender(loss=0.01, control_loss=0.05),
    ).under(Law(law))
    first, again, other = run(world, 5), run(world, 5), run(world, 6)
    assert first.sender("queue_most") == again.sender("queue_most")
    assert first.results("consumed") == again.results("consumed")
    assert first.sender("queue_most") != other.sender("queue_most")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_all_data_arrive_despite_loss(seed: int) -> None:
    """In order and whole: when the application ends, every receiver has consumed all data."""
    world = group(
        "loss",
        2,
        (Consumer(noise=0.15), Consumer(noise=0.15, pauses=((0.5, 0.1),))),
        sender=Sender(loss=0.02, control_loss=0.1),
        drain_s=2.0,
    )
    found = run(world.under(Law("adaptive")), seed)
    assert set(found.results("consumed")) == {found.sender("sent")[-1]}, f"seed {seed}"
    assert found.sender("resent")[-1] > 0.01 * found.sender("sent")[-1]
    assert max(found.sender("queue_most")) <= BUFFER


def test_credit_waits_for_its_timeout_and_ours_does_not() -> None:
    world = group(
        "death",
        4,
        (Consumer(levels=FLAT), Consumer(levels=FLAT, dies_s=2.0)),
        sender=Sender(receiver_timeout_s=1.0),
    )

    def delivered(law: str, from_s: float, to_s: float) -> float:
        found = run(world.under(Law(law)), 1)
        consumed = found.image("consumed", 0)
        return (consumed[found.index(to_s)] - consumed[found.index(from_s)]) / (to_s - from_s)

    assert delivered("credit", 2.2, 2.9) == 0
    assert delivered("credit", 3.3, 3.9) > 95 * MB
    assert delivered("adaptive", 2.0, 2.9) > 90 * MB


def test_a_chain_holds_no_more_than_it_is_allowed() -> None:
    backlog = 256 << 10
    world = Scenario(
        name="chain", seconds=3, senders=tuple(Sender(backlog_bytes=backlog) for _ in range(3)),
        consumers=(
            Consumer(forward_to=1), Consumer(forward_to=2),
            Consumer(levels=((0.0, 100 * MB), (1.0, 30 * MB))),
        ),
        images=(LabImage(0, 0), LabImage(1, 1), LabImage(2, 2)),
    )  # fmt: skip
    found = run(world, 1)
    for hop in range(3):
        assert max(found.sender("queue_most", hop)) <= BUFFER
    assert max(found.sender("backlog", 1) + found.sender("backlog", 2)) <= backlog
    first = found.sender("sent", 0)
    assert (first[-1] - first[found.index(2)]) / (found.times[-1] - 2) == pytest.approx(
        30 * MB, rel=0.15
    )


def test_a_liar_is_found_and_a_replay_changes_nothing() -> None:
    receivers = tuple(Consumer(noise=0.15) for _ in range(2))
    lying = run(
        group("liar", 4, receivers, liars=(Liar(image=1, from_s=2.0, to_s=4.0, period_s=0.01),)), 1
    )
    assert 2.5 < lying.result(1)["unmasked_ns"] / 1e9 <= 3.0
    assert lying.result(0)["unmasked_ns"] == -1
    replay = Forger(sender=0, kind="replay", from_s=2.0, to_s=4.0, period_s=0.001)
    replayed = run(group("replay", 4, receivers, forgers=(replay,)), 1)
    limits = replayed.sender("limit")[replayed.index(2.1) : replayed.index(4)]
    assert min(limits) > 25 * MB  # a replay that counted would bring the rate to the floor of 5


def pausing(buffer_bytes: float, pause_s: float) -> Scenario:
    """Four receivers; from 1 s on one of them stalls every second and a half."""
    stops = Consumer(
        levels=FLAT, noise=0.15, pauses=tuple((at_s, pause_s) for at_s in (1.0, 2.5, 4.0))
    )
    return group(
        "pauses",
        5,
        (stops, *(Consumer(levels=FLAT, noise=0.15) for _ in range(3))),
        buffer_bytes=buffer_bytes,
    )


@pytest.mark.parametrize("mib", [1.5, 2, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_stall_of_a_fifth_of_a_second_overruns_nothing(mib: float, seed: int) -> None:
    """X is at least 1.2. The floor alone sends 1 MB meanwhile, so the window must count."""
    assert run(pausing(mib * (1 << 20), 0.2), seed).results("overrun") == [0.0] * 4


def test_a_longer_stall_returns_to_the_floor() -> None:
    """A stall of a second: nothing is sent for 250 ms, then a twentieth of the rate."""
    found = run(pausing(1.5 * (1 << 20), 1.0), 1)
    assert mean_rate(found, "sent", 1.1, 1.2) < 2 * MB
    assert 2 * MB < mean_rate(found, "sent", 1.5, 1.9) < 10 * MB
    assert found.result(0)["overrun"] > 0


def test_slowest_and_utilisation_are_of_the_living() -> None:
    world = group(
        "living",
        2,
        (
            Consumer(levels=((0.0, 90 * MB),)),
            Consumer(levels=((0.0, 20 * MB),), dies_s=0.5),
            Consumer(levels=FLAT),
        ),
    )
    found = run(world.under(Law("credit", {})), 1)
    assert slowest(found) == 0
    assert utilisation(found, 0) <= 1.0 + 1e-9


def test_a_scenario_packs_into_the_engines_records() -> None:
    """Bytes of float64; the same scenario and seed pack alike, another seed changes one number."""
    world = base(0.1)
    first, other = pack(world, 1), pack(world, 2)
    assert len(first) % 8 == 0
    assert first == pack(world, 1)
    assert sum(first[i : i + 8] != other[i : i + 8] for i in range(0, len(first), 8)) == 1
