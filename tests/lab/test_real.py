"""The laboratory in real time, on sockets.

The invariants of a run on any machine, and how an experiment is scaled to this machine.
"""

from __future__ import annotations

import math
import threading
from array import array
from dataclasses import replace

import pytest

from rstream.errors import ConfigError, RStreamError
from rstream.lab import _lab
from rstream.lab import world as worlds
from rstream.lab.engine import Run, run
from rstream.lab.experiments import EXPERIMENTS, REAL, Plan, _plan, seeds_of
from rstream.lab.experiments._plan import Steady
from rstream.lab.experiments.e02 import goodput
from rstream.lab.experiments.e03 import late_stops, looker, standstills
from rstream.lab.reaction import buffer_for_margin, margin, period_s, reaction_s
from rstream.lab.scenario import BUFFER, MB, Consumer, Forger, Law, Liar, Scenario, Sender, group
from rstream.lab.world import QUEUES, VIRTUAL, World, fitting

#: Small enough for any machine and for any limit of a socket's buffer.
SMALL = World(engine="sockets", full=2 * MB, carried=6 * MB)


def world(**changes: object) -> Scenario:
    made = group(
        "real", 0.3, (Consumer(levels=((0.0, 5 * MB),)),) * 2, buffer_bytes=131072, drain_s=0.2
    ).under(Law("credit"))
    return replace(made, real=True, **changes)  # type: ignore[arg-type]


def test_a_run_has_its_rows_at_their_times_and_delivers_what_was_sent() -> None:
    found = run(world(), 1)
    assert found.times == pytest.approx([i * 1e-3 for i in range(500)])
    assert found.steps > 0
    assert 0 < found.gap_s < 0.5
    sent = found.sender("sent")[-1]
    assert sent > 0
    assert all(0 < consumed <= sent for consumed in found.results("consumed"))
    assert found.sender("control_bytes")[-1] > 0
    assert found.sender("delivered_sum") == sorted(found.sender("delivered_sum"))
    for image in (0, 1):  # capacity follows the clock, whatever the steps were
        assert found.image("capacity", image)[-1] == pytest.approx(
            5 * MB * 0.5, rel=0.02 + 2 * found.gap_s
        )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            world(senders=(Sender(law=Law("credit"), loss=0.01),)),
            "on real sockets nothing is lost on purpose",
        ),
        (
            world(liars=(Liar(image=0, from_s=0, to_s=1, period_s=0.01),)),
            "record liar: on real sockets nobody stands between",
        ),
        (
            world(forgers=(Forger(sender=0, kind="fresh", from_s=0, to_s=1, period_s=0.01),)),
            "record forger: on real sockets nobody stands between",
        ),
        (
            replace(group("large", 1, (Consumer(),), buffer_bytes=4e8), real=True),
            "raise net.core.rmem_max or take a smaller one",
        ),
    ],
)
def test_scenarios_beyond_the_loopback_are_refused(wrong: Scenario, message: str) -> None:
    with pytest.raises(RStreamError, match=message):
        run(wrong, 1)


def test_a_world_keeps_its_times() -> None:
    """The rate is at most a third of the carried rate and fits a socket's buffer.

    Bytes scale with it, times do not.
    """
    found = fitting(115 * MB, BUFFER, BUFFER)
    assert (found.full, found.is_real, found.carried) == (25 * MB, True, 115 * MB)
    assert fitting(900 * MB, BUFFER, BUFFER).full == 100 * MB
    assert fitting(900 * MB, 2 * BUFFER, BUFFER).full == 50 * MB
    assert fitting(900 * MB, BUFFER, 212992).full == 3.125 * MB
    assert fitting(1000, BUFFER, BUFFER).full == 100 * MB / 64
    assert found.buffer() == BUFFER / 4
    assert found.buffer(1000) == 65536
    where, exact = found.exact(1.5 * (1 << 20))
    assert (where.full, exact) == (pytest.approx(25 * MB / 1.5), 1 << 20)
    assert found.exact(58e3)[1] == 32768
    assert found.exact(26e3) == (found, 26e3)
    assert [found.holds(size) for size in (26e3, 27e3, 32768)] == [False, True, True]
    where, exact = found.exact(30e3)
    assert (where.full, exact) == (pytest.approx(25 * MB * 32768 / 30e3), 32768)
    assert QUEUES.holds(1000.0)
    assert not VIRTUAL.holds(1000.0)
    assert replace(found, later_s=2e-4).found_rtt_s == pytest.approx(1.2e-3)
    assert VIRTUAL.found_rtt_s == VIRTUAL.rtt_s
    assert QUEUES.exact(1.5 * (1 << 20)) == (QUEUES, 1.5 * (1 << 20))
    assert VIRTUAL.exact(1.5 * (1 << 20)) == (replace(VIRTUAL, full=100 * MB / 1.5), 1 << 20)
    assert found.law(
        Law("aimd", {"increase": 1e6, "decrease": 0.5, "window_ns": 1e7})
    ).parameters == {"increase": 25e4, "decrease": 0.5, "window_ns": 1e7}
    assert (VIRTUAL.buffer(), VIRTUAL.law(Law("aimd", {"increase": 1.5})).parameters) == (
        BUFFER,
        {"increase": 1.5},
    )
    before, after = (margin(w.buffer(), w.full, w.rtt_s) for w in (VIRTUAL, found))
    assert after == pytest.approx(before, rel=1e-3)


def test_the_round_trip_of_drivers_is_found_from_a_short_buffer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In virtual time, where the round trip is known, drivers find its excess over 1 ms."""

    def virtually(scenario: Scenario, seed: int) -> Run:
        return run(replace(scenario, real=False, agents=True), seed)

    monkeypatch.setattr(worlds, "run", virtually)
    for rtt_s in (1e-3, 1.2e-3, 1.5e-3):
        assert worlds._later_s(
            World(engine="sockets", full=12.5 * MB, rtt_s=rtt_s), 4
        ) == pytest.approx(rtt_s - 1e-3, abs=3e-5)  # pyright: ignore[reportPrivateUsage]


def test_an_experiment_in_real_time_in_short() -> None:
    """E1: figures exist; the capacity and the lateness of the run are reported."""
    report = EXPERIMENTS["E1"](Plan(seeds=1, baselines=(), time_scale=0.05, world=SMALL))
    said = report.as_json()
    assert (said["real"], said["capacity_bytes_per_s"]) == (True, 2 * MB)
    assert 0 < said["figures"]["utilisation"]["mean"] <= 1.1
    assert set(said["baselines"]) == {"credit"}
    notes = " ".join(report.notes)
    assert "longest time between two steps" in notes
    assert "capacity 2 MB/s a receiver; unlimited each got 6.0 MB/s" in notes


def test_runs_in_real_time_are_one_after_the_other_and_in_the_main_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[threading.Thread, int]] = []

    def watch(scenario: Scenario, seed: int) -> Run:
        assert scenario.real
        seen.append((threading.current_thread(), seed))
        return Run(scenario, seed, b"", b"", gap_s=0.03 if seed == 2 else 0.001)  # again and again

    monkeypatch.setattr(_plan, "run", watch)
    plan = Plan(seeds=3, world=SMALL)
    assert plan.runs(replace(world(), real=False), Law("credit"), lambda found: found.seed) == [
        1,
        2,
        3,
    ]
    assert seen == [(threading.main_thread(), seed) for seed in (1, 2, 2, 2, 2, 3)]
    notes = _plan._notes_of(plan)
    assert (
        "30.0 ms, median of the runs 1.0 ms; above 20 ms in 1 of 3 runs: the machine was busy"
        in notes[0]
    )
    assert _plan._notes_of(Plan()) == [
        "virtual time, real agents on a network in memory; "
        "queues without payload above 16 receivers"
    ]


def test_a_run_is_repeated_when_the_machine_stalled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until one run kept up, four repeats at most; the number is reported.

    In virtual time the machine cannot stall.
    """
    gaps_s = iter([0.03, 0.03, 0.001, 0.03, 0.03, 0.03, 0.03, 0.5])

    def stumble(scenario: Scenario, seed: int) -> Run:
        return Run(scenario, seed, b"", b"", gap_s=next(gaps_s))

    monkeypatch.setattr(_plan, "run", stumble)
    plan = Plan(seeds=2, world=SMALL)
    assert plan.runs(replace(world(), real=False), Law("credit"), lambda found: found.gap_s) == [
        0.001,
        0.03,
    ]
    assert plan.repeated == 5
    assert plan.unsteady == 1
    assert any(
        "5 times a run was repeated" in note and note.endswith("each time: 1")
        for note in _plan._notes_of(plan)
    )
    assert Plan(seeds=1).runs(
        replace(world(), real=False), Law("credit"), lambda found: found.gap_s
    ) == [0.5]


def test_only_lateness_near_a_stop_discards_a_run() -> None:
    """Each row holds how long the thread stalled. The given spans are checked, or the whole run."""
    found = run(world(sample_s=1e-2), 1)
    assert max(found.gap_within_s(at_s, at_s) for at_s in found.times) <= found.gap_s
    assert found.gap_within_s(0.0, found.times[-1]) == pytest.approx(found.gap_s, abs=0.02)
    width = 2 + len(_lab.columns()[0]) + 2 * len(_lab.columns()[1])  # two images
    rows = array("d", [0.0] * (4 * width))
    rows[0::width], rows[1::width] = (
        array("d", [0.0, 0.01, 0.02, 0.03]),
        array("d", [0.0, 0.002, 0.0001, 0.009]),
    )
    made = Run(found.scenario, 1, rows.tobytes(), b"", gap_s=0.009)
    assert made.gap_within_s(0.011, 0.02) == 0.0001
    assert made.gap_within_s(0.005, 0.02) == 0.002
    assert Steady(0.001, ((0.011, 0.02),)).holds(made)
    assert not Steady(0.001, ((0.011, 0.02), (0.03, 0.03))).holds(made)
    assert not Steady(0.001).holds(made)


@pytest.mark.parametrize(
    ("name", "full", "message"),
    [
        ("E3", 1.5625, "the buffer of X = 1.2 has"),
        ("E4", 3.125, "the buffer of X = 0.8 has"),
        ("E4", 0.5, "the buffer of X = 0.8 has"),
    ],
)
def test_experiments_without_a_meaning_are_refused(name: str, full: float, message: str) -> None:
    """A driver needs more than the buffers of the verdict."""
    with pytest.raises(
        ConfigError,
        match=f"at {full:g} MB/s a receiver {message} .* kB, and a driver takes 33 at least",
    ):
        EXPERIMENTS[name](
            Plan(
                seeds=1,
                baselines=(),
                world=World(engine="sockets", full=full * MB, carried=20 * MB),
            )
        )


def test_too_few_counted_stops_give_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """E3 on a thread that is late at every stop: no overrun, and yet it does not pass."""

    def late(scenario: Scenario, seed: int) -> Run:
        width = 2 + len(_lab.columns()[0]) + 4 * len(_lab.columns()[1])
        rows = array("d", [0.0] * (1000 * width))
        rows[0::width], rows[1::width] = (
            array("d", [number / 100 for number in range(1000)]),
            array("d", [0.001] * 1000),
        )
        return Run(
            scenario,
            seed,
            rows.tobytes(),
            array("d", [1.0] * 4 * len(_lab.columns()[2])).tobytes(),
            gap_s=0.001,
        )

    monkeypatch.setattr(_plan, "run", late)
    report = EXPERIMENTS["E3"](
        Plan(
            seeds=2,
            baselines=(),
            time_scale=0.5,
            world=World(engine="sockets", full=25 * MB, carried=75 * MB),
        )
    )
    by_name = {figure.name: figure for figure in report.figures}
    assert by_name["b0.5mib_overrun_bytes"].passed
    assert not report.passed
    assert all(
        figure.values == (0.0, 0.0) and not figure.passed
        for name, figure in by_name.items()
        if name.endswith("stops_counted")
    )


def test_overrun_while_the_thread_was_late_is_counted_apart() -> None:
    """E3: a stop at which the thread was late does not count, nor does overrun after a long stall.

    All other overrun counts.
    """
    made = group("late", 4.0, (Consumer(),), sample_s=1e-2)
    sender_columns, image_columns, result_columns = _lab.columns()
    width, overrun_at = (
        2 + len(sender_columns) + len(image_columns),
        2 + sender_columns.index("overrun"),
    )
    rows = array("d", [0.0] * (400 * width))
    rows[0::width] = array("d", [number / 100 for number in range(400)])
    for at_s, gap_s, overran in (
        (1.0, 0.0006, 0),
        (1.2, 0, 5),
        (2.5, 0.0004, 0),
        (2.6, 0, 7),
        (3.5, 0.004, 0),
        (3.51, 0, 11),
        (3.6, 0, 13),
    ):
        row = round(at_s * 100)
        rows[row * width + 1] = gap_s
        for later in range(row, 400):
            rows[later * width + overrun_at] += overran
    found = Run(made, 1, rows.tobytes(), array("d", [1.0] * len(result_columns)).tobytes())
    assert late_stops(found, [1.0, 2.5]) == [(pytest.approx(0.998), pytest.approx(2.498))]
    assert standstills(found, 0.003) == [(pytest.approx(3.496), pytest.approx(3.52))]
    seen = looker(4.0, SMALL, 0.003)(found)
    assert (seen["overrun_bytes"], seen["late_overrun_bytes"], seen["stops_counted"]) == (20, 16, 1)
    assert looker(4.0, VIRTUAL, 0.003)(found)["overrun_bytes"] == 36


@pytest.mark.parametrize("rtt_s", [0.0, 1e-3, 4e-3, 40e-3])
def test_a_reaction_is_a_round_trip_and_a_period(rtt_s: float) -> None:
    """And a buffer for a headroom has it, to a KiB."""
    assert period_s(rtt_s) == max(rtt_s, 0.004)
    assert reaction_s(rtt_s) == rtt_s + period_s(rtt_s)
    for x in (0.2, 1.0, 4.0):
        size = buffer_for_margin(x, 100 * MB, rtt_s)
        assert margin(size - 1024, 100 * MB, rtt_s) < x <= margin(size, 100 * MB, rtt_s)


def test_the_experiments_in_real_time() -> None:
    assert set(REAL) == {"E1", "E2", "E3", "E4"}
    assert max(terms.receivers for terms in REAL.values()) == 8
    assert (seeds_of("E4"), seeds_of("E4", is_real=True)) == (
        60,
        20,
    )  # three seconds each, and seven buffers for two laws
    assert seeds_of("E3", is_real=True) == 10


def test_a_share_of_zero_is_not_a_number() -> None:
    """Under a static window one reader may be lost before the other: no verdict, no crash."""
    made = group("nothing", 0.3, (Consumer(levels=((0.0, 0.0),)),) * 2, drain_s=0.1)
    assert math.isnan(goodput(run(made, 1), 0.2, 0.0, 0.1))
