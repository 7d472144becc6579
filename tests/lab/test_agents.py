"""Real agents in the laboratory: the invariants of a run, and how close the queue engine is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pytest

from rstream.errors import RStreamError
from rstream.lab.engine import Run, run
from rstream.lab.experiments import EXPERIMENTS, Plan, e05
from rstream.lab.experiments.e06 import ROUND_TRIPS_S, scenario
from rstream.lab.experiments.e09 import FROM_S, TO_S, attacks, look
from rstream.lab.measure import mean_rate, quantile, utilisation
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
from rstream.lab.world import QUEUES, VIRTUAL

FLAT = ((0.0, 100 * MB),)


def with_agents(world: Scenario) -> Scenario:
    return replace(world, agents=True)


def rates(found: Run) -> list[float]:
    """Bytes sent in MB/s, second by second from 0.5 s on."""
    return [mean_rate(found, "sent", at + 0.5, at + 1.0) / MB for at in range(3)]


@pytest.mark.parametrize("law", ["adaptive", "credit", "aimd", "cubic"])
def test_the_queue_engine_agrees_with_eight_real_receivers(law: str) -> None:
    """One of eight receivers runs at 100, 40 and 100 MB/s, a second each.

    Both agree on the bytes sent in each phase, utilisation and queue. They differ by what the
    engine leaves out: terms, measured round trips, passes of agents.
    """
    changing = Consumer(levels=((0.0, 100 * MB), (1.0, 40 * MB), (2.0, 100 * MB)), noise=0.15)
    world = group(
        "eight", 3, (changing, *(Consumer(levels=FLAT, noise=0.15) for _ in range(7)))
    ).under(Law(law))
    queues, real = run(world, 1), run(with_agents(world), 1)
    assert rates(real) == pytest.approx(rates(queues), rel=0.12)
    assert utilisation(real, 0) == pytest.approx(utilisation(queues, 0), abs=0.08)
    for share, within_ms in ((0.5, 4.0), (0.99, 6.0)):
        in_ms = [
            quantile(found.sender("queue_most"), share) / (100 * MB) * 1e3
            for found in (queues, real)
        ]
        assert in_ms[1] == pytest.approx(in_ms[0], abs=within_ms), f"{law}, p{share * 100:g}"
    assert real.results("overrun") == [0.0] * 8
    assert sum(real.results("reports")) == 0 or LAWS[law].reports


def test_a_buffer_of_half_a_term_loses_no_receiver() -> None:
    """Four receivers of 16 MB/s with windows of half a term, 20 ms away; one stops for 0.4 s.

    A receiver with a full buffer lies further behind than Aeron's status messages and repairs
    reach: without special care three of four were lost for good.
    """
    stopping = Consumer(levels=((0.0, 16 * MB),), noise=0.15, pauses=((1.0, 0.4),))
    others = tuple(Consumer(levels=((0.0, 16 * MB),), noise=0.15) for _ in range(3))
    world = group(
        "far",
        2,
        (stopping, *others),
        buffer_bytes=1 << 20,
        drain_s=1.0,
        sender=Sender(law=Law("adaptive"), rtt_s=0.020),
    )
    found = run(with_agents(world), 1)
    assert set(found.results("consumed")) == {found.sender("sent")[-1]}
    assert found.sender("sent")[-1] > 0.6 * 16 * MB * 1.6
    assert max(found.sender("queue_most")) <= 1 << 20


def test_one_seed_is_one_run() -> None:
    world = with_agents(
        group(
            "seeds",
            0.3,
            tuple(Consumer(noise=0.15) for _ in range(3)),
            sender=Sender(loss=0.01, control_loss=0.05),
            drain_s=0.2,
        )
    )
    first, again, other = run(world, 5), run(world, 5), run(world, 6)
    assert first.sender("queue_most") == again.sender("queue_most")
    assert first.results("consumed") == again.results("consumed")
    assert first.sender("queue_most") != other.sender("queue_most")


@pytest.mark.parametrize(("receivers", "loss"), [(1, 0.02), (3, 0.001)])
def test_all_data_arrive_despite_loss(receivers: int, loss: float) -> None:
    """When the application ends, every receiver has consumed all data.

    Unicast, and multicast, where a receiver asks for one gap after the other.
    """
    consumers = tuple(
        Consumer(levels=FLAT, noise=0.15, pauses=((0.2, 0.05),)) for _ in range(receivers)
    )
    world = group(
        "loss",
        0.5,
        consumers,
        sender=Sender(law=Law("credit"), loss=loss, control_loss=0.1),
        drain_s=2.0,
    )
    found = run(with_agents(world), 1)
    assert set(found.results("consumed")) == {found.sender("sent")[-1]}
    assert min(found.results("lost")) > 0.3 * loss * found.sender("sent")[-1]
    assert found.sender("resent")[-1] >= 0.9 * min(found.results("lost"))
    assert sum(found.results("given_up")) == 0
    assert max(found.sender("queue_most")) <= BUFFER


def test_the_link_limits_the_senders_interface() -> None:
    """30 MB/s to a receiver of 100 MB/s: no loss, no queue at the receiver."""
    world = group(
        "link",
        1,
        (Consumer(levels=FLAT),),
        sender=Sender(law=Law("credit"), link_rate=30 * MB),
        drain_s=0.0,
    )
    found = run(with_agents(world), 1)
    assert mean_rate(found, "sent", 0.2, 0.9) == pytest.approx(30 * MB, rel=0.02)
    assert found.result(0)["lost"] == found.result(0)["overrun"] == 0


def test_a_dead_or_hung_receiver_holds_the_others_for_a_bounded_time() -> None:
    """With fc=min a dead receiver holds until its timeout, a hung one until it is evicted.

    Then the other receiver goes on.
    """
    sender = Sender(law=Law("credit"), receiver_timeout_s=0.5)
    dead = run(
        with_agents(
            group(
                "death",
                2,
                (Consumer(levels=FLAT), Consumer(levels=FLAT, dies_s=0.5)),
                sender=sender,
            )
        ),
        1,
    )
    hung = run(
        with_agents(
            group(
                "hang",
                2,
                (Consumer(levels=FLAT), Consumer(levels=FLAT, hangs_s=0.5, evict_after_s=0.3)),
                sender=sender,
            )
        ),
        1,
    )
    assert mean_rate(dead, "delivered_least", 0.7, 0.9) == 0
    assert mean_rate(hung, "delivered_least", 0.65, 0.75) == 0
    for found in (dead, hung):
        assert mean_rate(found, "delivered_least", 1.5, 1.9) > 95 * MB
        assert found.results("is_gone") == [0.0, 1.0]


def test_the_reports_of_an_evicted_receiver_stay_counted() -> None:
    """Its image goes with its counters.

    The plotted rate of fill NAKs must not fall below zero there.
    """
    found = run(
        with_agents(
            group(
                "gone",
                1.5,
                (Consumer(levels=FLAT), Consumer(levels=FLAT, hangs_s=0.5, evict_after_s=0.3)),
            )
        ),
        1,
    )
    reports = found.sender("reports")
    assert found.results("is_gone") == [0.0, 1.0]
    assert found.results("reports")[1] > 0
    assert reports == sorted(reports)


def test_a_stalled_receiver_is_not_overrun() -> None:
    """It stalls 200 ms, in which the floor alone would fill the buffer; then the stream goes on."""
    stops = Consumer(levels=FLAT, noise=0.15, pauses=((0.5, 0.2),))
    found = run(
        with_agents(
            group(
                "stop",
                1.2,
                (stops, *(Consumer(levels=FLAT, noise=0.15) for _ in range(3))),
                buffer_bytes=2 << 20,
            )
        ),
        1,
    )
    assert found.results("overrun") == [0.0] * 4
    assert max(found.sender("queue_most")) <= 2 << 20
    assert mean_rate(found, "sent", 0.6, 0.7) <= 6 * MB  # the floor, or nothing
    assert mean_rate(found, "sent", 0.9, 1.2) > 60 * MB


def test_a_chain_forwards_what_it_reads() -> None:
    backlog = 256 << 10
    world = Scenario(
        name="chain", seconds=1.5,
        senders=tuple(Sender(law=Law("credit"), backlog_bytes=backlog) for _ in range(2)),
        consumers=(Consumer(forward_to=1), Consumer(levels=((0.0, 100 * MB), (0.5, 30 * MB)))),
        images=(LabImage(0, 0), LabImage(1, 1)), agents=True,
    )  # fmt: skip
    found = run(world, 1)
    assert mean_rate(found, "sent", 1.0, 1.45) == pytest.approx(30 * MB, rel=0.1)
    assert max(found.sender("backlog", 1)) <= backlog
    assert found.result(1)["consumed"] > 0.9 * 65 * MB


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (
            Scenario(
                name="elsewhere",
                seconds=1,
                senders=(Sender(), Sender()),
                consumers=(Consumer(),),
                images=(LabImage(0, 0), LabImage(1, 0)),
                forgers=(Forger(sender=0, kind="fresh", from_s=0, to_s=1, period_s=0.01, image=1),),
            ),
            "forger 0: image 1 is none of sender 0",
        ),
        (group("many", 1, tuple(Consumer() for _ in range(300))), "301 senders and consumers"),
        (
            group("jumbo", 1, (Consumer(),), sender=Sender(mtu=8992)),
            "datagrams of 1536 bytes at most; take queues",
        ),
        (
            group(
                "floor", 1, (Consumer(),), sender=Sender(law=Law("adaptive", {"floor_share": 0.1}))
            ),
            "cannot be said in a channel",
        ),
        (
            Scenario(
                name="alone",
                seconds=1,
                senders=(Sender(), Sender()),
                consumers=(Consumer(),),
                images=(LabImage(0, 0),),
            ),
            "sender 1 has no image",
        ),
    ],
)
def test_scenarios_beyond_real_agents_are_refused(
    monkeypatch: pytest.MonkeyPatch, world: Scenario, message: str
) -> None:
    made: list[str] = []

    def make(**options: str) -> str:
        made.append(mkdtemp(**options))
        return made[-1]

    monkeypatch.setattr("tempfile.mkdtemp", make)
    with pytest.raises(RStreamError, match=message):
        run(with_agents(world), 1)
    assert made
    assert not any(Path(path).exists() for path in made)


@pytest.mark.parametrize("receivers", [1, 4])
def test_receivers_learn_the_target_delay_from_their_sender(receivers: int) -> None:
    """A receiver's driver starts with 10 ms; the value of the publisher's law arrives by the wire.

    Shown for one receiver and for a group.
    """

    def queue_s(delay_s: float) -> float:
        law = Law("adaptive", {"target_delay_ns": delay_s * 1e9})
        consumers = tuple(Consumer(noise=0.05) for _ in range(receivers))
        world = group("delay", 4, consumers, buffer_bytes=8 << 20).under(law)
        found = run(VIRTUAL.place(world), 1)
        return quantile(found.sender("queue_most")[found.index(2) : found.index(3.5)], 0.5) / (
            100 * MB
        )

    short, usual, long = (queue_s(delay_s) for delay_s in (0.004, 0.010, 0.020))
    assert short < 0.65 * usual
    assert long > 1.35 * usual


def test_drivers_use_the_detection_time_of_the_law() -> None:
    """D, the detection time: the headroom X of a small buffer falls with it."""

    def margin(detect_ns: float) -> float:
        law = Law("adaptive", {"detect_ns": detect_ns})
        consumers = (Consumer(noise=0.15), Consumer(noise=0.15))
        world = group("detect", 3, consumers, buffer_bytes=1 << 20).under(law)
        found = run(VIRTUAL.place(world), 1)
        return quantile(found.sender("margin")[found.index(1) : found.index(2.9)], 0.5)

    assert margin(1.2e6) == pytest.approx(margin(0.2e6) * 5.2 / 6.2, rel=0.05)


def test_e6_in_short() -> None:
    """Every point of the grid is measured and judged."""
    assert scenario("link", 0.01, ROUND_TRIPS_S[0]).step_s == 5e-6
    report = EXPERIMENTS["E6"](Plan(seeds=1, baselines=(), time_scale=0.05))
    assert len(report.figures) == 24
    assert all(figure.least == 0.90 for figure in report.figures)
    assert all(
        0 < figure.values[0] < 1.1 for figure in report.figures if "rtt100" not in figure.name
    )


def attacked(name: str) -> Run:
    return run(with_agents(attacks()[name]), 1)


def rise(found: Run, column: str, from_s: float, to_s: float) -> float:
    """The growth of a count of the sender."""
    values = found.sender(column)
    return values[found.index(to_s)] - values[found.index(from_s)]


@pytest.mark.parametrize("kind", ["fresh", "stranger"])
def test_forged_receivers_bring_a_group_of_real_agents_to_its_floor_at_most(kind: str) -> None:
    """Three thousand forged reports in three seconds.

    A repeated name is found within a second; ever new names are not, and when they end the group
    goes on.
    """
    found = attacked(f"forged_{kind}")
    seen = look(found)
    assert rise(found, "reports", FROM_S, TO_S) >= 2990
    # The floor is a twentieth of the first guess, B / 2 in RTT + P, for up to four seconds.
    assert 0.05 <= seen["least_limit_share"] < 0.30
    assert seen["goodput_after_recognition_share"] > (0.05 if kind == "fresh" else 0.9)
    assert seen["goodput_after_attack_share"] > 0.9
    assert (seen["recognised_after_s"] < 1.0) == (kind == "stranger")
    assert found.results("unmasked_ns") == [-1.0] * 4


@pytest.mark.parametrize("kind", ["name", "replay"])
def test_a_stolen_name_and_a_replay_change_little(kind: str) -> None:
    """Both carry a position that their image has passed, so they change little.

    A stolen name is ignored by the law; a replay lies further behind than the driver reads. The
    bytes to the sender show that the reports arrived: each has a hundred and more.
    """
    found = attacked(f"forged_{kind}")
    seen = look(found)
    assert (
        rise(found, "control_bytes", FROM_S, TO_S) - rise(found, "control_bytes", 0, FROM_S)
        > 2990 * 100
    )
    assert seen["least_limit_share"] > 0.4
    assert seen["goodput_share"] > 0.95
    assert rise(found, "ignored", FROM_S, TO_S) == (3000 if kind == "name" else 0)
    assert found.results("unmasked_ns") == [-1.0] * 4


def test_a_lying_real_agent_is_recognised_named_and_ignored() -> None:
    """As with the queue engine, it holds the group at the floor for half a second."""
    found, by_queues = attacked("liar"), run(attacks()["liar"], 1)
    seen, expected = look(found), look(by_queues)
    # The driver does not know the round trip at its first guess, which counts in the floor.
    assert seen["least_limit_share"] == pytest.approx(expected["least_limit_share"], abs=0.08)
    assert seen["recognised_after_s"] == pytest.approx(expected["recognised_after_s"], abs=0.02)
    assert seen["goodput_after_recognition_share"] > 0.9
    unmasked_s = [at_ns / 1e9 for at_ns in found.results("unmasked_ns")]
    assert FROM_S < unmasked_s[0] <= FROM_S + 1
    assert max(unmasked_s[1:]) < 0
    assert found.result(0)["reports"] == pytest.approx(
        by_queues.result(0)["reports"], rel=0.2
    )  # one report in 10 ms


def test_a_liars_own_reports_are_suppressed() -> None:
    """It reads 40 MB/s of a link of 100 MB/s and reports once that all is well.

    So no report slows the sender, and the receiver is overrun.
    """
    consumers = (Consumer(levels=((0.0, 40 * MB),)), Consumer(levels=((0.0, 500 * MB),)))
    true = group("true", 1.0, consumers, sender=Sender(link_rate=100 * MB))
    silent = replace(
        true, liars=(Liar(image=0, from_s=0.0, to_s=0.5, period_s=10.0, allowed=1e12, fill=0.0),)
    )
    honest, lying = run(with_agents(true), 1), run(with_agents(silent), 1)
    assert honest.results("overrun") == [0.0, 0.0]
    assert lying.result(0)["overrun"] > 10 * MB
    assert lying.sender("reports")[lying.index(0.49)] == 1
    assert (
        mean_rate(lying, "sent", 0.2, 0.5) > 95 * MB > 60 * MB > mean_rate(honest, "sent", 0.2, 0.5)
    )


def test_one_seed_is_one_attack() -> None:
    forgers = tuple(
        Forger(sender=0, kind=kind, from_s=0.3, to_s=0.5, period_s=0.002, image=1)
        for kind in ("fresh", "replay")
    )
    world = group(
        "attack",
        0.6,
        (Consumer(noise=0.15),) * 3,
        sender=Sender(control_loss=0.05),
        forgers=forgers,
        drain_s=0.2,
    )
    world = with_agents(
        replace(world, liars=(Liar(image=0, from_s=0.1, to_s=0.5, period_s=0.005),))
    )
    first, again, other = run(world, 5), run(world, 5), run(world, 6)
    for column in ("limit", "sent", "reports", "ignored", "queue_most", "control_bytes"):
        assert first.sender(column) == again.sender(column), column
    assert first.results("reports") == again.results("reports")
    assert first.sender("limit") != other.sender("limit")


def test_the_engine_of_a_scenario_in_virtual_time() -> None:
    """Real agents up to sixteen receivers; queues above that."""
    placed = {size: VIRTUAL.place(group("size", 1, (Consumer(),) * size)) for size in (1, 16, 17)}
    assert {size: world.agents for size, world in placed.items()} == {1: True, 16: True, 17: False}
    assert not QUEUES.place(group("queues", 1, (Consumer(),))).agents


@pytest.mark.parametrize("in_turn", [False, True])
def test_two_senders_of_one_receiver_come_to_equal_shares(in_turn: bool) -> None:
    """The second sender starts at a tenth of the first.

    A consumer that reads by arrival reads from each queue in proportion to its length, and each
    sender must know the drain of all: so their streams share an endpoint. With one endpoint each
    they stayed at 85 and 15 %.
    """
    shares = e05.looker(8.0)(run(with_agents(e05.scenario(2, Law("adaptive"), in_turn, 8.0)), 1))
    assert shares["jain"] > 0.95
    assert shares["overrun_share"] == 0


def test_a_consumer_by_arrival_reads_in_proportion_to_the_queues() -> None:
    """Two unlimited senders with buffers of 3 to 1: both are full, so the shares are 3 to 1.

    Reading the longest queue first would make the shares equal.
    """
    world = Scenario(
        name="shares", seconds=1.0, senders=tuple(Sender(law=Law("credit")) for _ in range(2)),
        consumers=(Consumer(levels=FLAT),),
        images=(LabImage(0, 0, 3 << 20), LabImage(1, 0, 1 << 20)),
        agents=True,
    )  # fmt: skip
    found = run(world, 1)
    taken = [mean_rate(found, "delivered_sum", 0.3, 0.99, number) for number in (0, 1)]
    assert taken[0] / taken[1] == pytest.approx(3.0, rel=0.1)
