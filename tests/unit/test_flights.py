"""What ``make demo`` says of its passes follows from what it recorded."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from examples.flights import picture, verdict
from examples.flights.monitor import Monitor
from examples.flights.passes import COMMITTED, LAW, SLOWED, WINDOW, Outcome, Plan, is_steady
from examples.flights.tracks import Track, quantile, speed


def track(delay_s: float, rate: int | None = 1_000_000, medium: str = "UDP") -> Track:
    """Samples of thirty seconds; every message waits as long."""
    times = [float(second) for second in range(31)]
    return Track(
        medium=medium,
        at_s=times,
        sent_bytes=[1000 * second for second in range(31)],
        rate_bytes_per_s=[rate] * 31,
        reports=[10 * second for second in range(31)],
        fill_at_s=times,
        fill_bytes=[50] * 31,
        window_bytes=[100] * 31,
        demand=[4] * 31,
        rows=[100 * second for second in range(31)],
        taken_at_s=times,
        delay_s=[delay_s] * 31,
    )


def outcome(plan: Plan, folder: Path, delay_s: float, sums: verdict.Sums) -> Outcome:
    monitor = Monitor(str(folder / "no driver"), [1, 2, 3])
    monitor.stop()
    monitor.tracks = [track(delay_s, None if plan is WINDOW else 70_000) for _ in range(3)]
    monitor.sums = {key: list(values) for key, values in sums.items()}
    counts = [{"error": "", "repeated": 0, "repeated_epochs": 0}] * 3
    return Outcome(plan, monitor, counts, [], slow_begin=5.0, slow_end=21.0, last=30.0)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([7], 0.5, 7),
        ([1, 2], 0.5, 1),
        ([1, 2, 3], 0.5, 2),
        (list(range(1, 101)), 0.99, 99),
        (list(range(1, 101)), 1.0, 100),
    ],
)
def test_quantile(values: list[float], share: float, expected: float) -> None:
    assert quantile(values, share) == expected


def test_no_messages_have_no_quantile() -> None:
    assert math.isnan(quantile([], 0.5))


def test_delays_are_those_of_the_span() -> None:
    some = Track(taken_at_s=[1.0, 2.0, 3.0, 4.0], delay_s=[0.1, 0.4, 0.3, 0.2])
    assert some.delays(2.0, 3.0) == [0.3, 0.4]
    assert some.delays(5.0, 6.0) == []


def test_rows_are_interpolated_between_reports() -> None:
    some = track(0.0)
    assert [some.rows_at(at) for at in (-1.0, 2.5, 99.0)] == [0.0, 250.0, 3000.0]
    assert Track().rows_at(1.0) == 0.0


def test_speed_is_over_the_last_second() -> None:
    times, counts = [0.0, 0.5, 1.0, 1.5], [0, 10, 20, 20]
    assert speed(times, counts) == ([0.5, 1.0, 1.5], [20.0, 20.0, 10.0])


def test_steady_is_when_two_spans_have_the_same_rate() -> None:
    assert is_steady(lambda at: 100 * at, 20.0)
    assert not is_steady(lambda at: max(0.0, at - 14.0), 20.0)
    assert not is_steady(lambda _: 5.0, 20.0), "nothing flows"


def test_the_table_tells_medium_rows_and_delays(capsys: pytest.CaptureFixture[str]) -> None:
    tracks = [track(0.0, medium="shared memory"), track(0.0), track(0.0)]
    delays = [[[0.018], [0.171, 0.171, 0.461], [0.259]], [[0.051], [1.662], [1.182]]]
    lines = verdict.table(tracks, delays, 10.0)
    assert lines[2].split() == ["0", "shared", "memory", "3000", "18", "(18)", "51", "(51)"]
    assert lines[3].split() == [
        "1,",
        "10",
        "times",
        "slower",
        "UDP",
        "3000",
        "171",
        "(461)",
        "1662",
        "(1662)",
    ]
    assert all(len(line) <= 94 for line in lines), "it fits a terminal, behind 'demo: '"
    assert len({len(line) for line in lines[1:]}) == 1, "the columns are flush"


def test_a_slowed_actor_must_wait_half_as_long_with_the_law() -> None:
    window = [[0.05], [1.6], [1.2]]
    assert verdict.judge_delays([[9.0], [0.8], [0.6]], window) == []
    (problem,) = verdict.judge_delays([[0.01], [0.81], [0.6]], window)
    assert problem.startswith("actor 1: ")
    assert "810 ms" in problem
    assert "800 ms" in problem
    assert len(verdict.judge_delays([[], [], []], window)) == len(SLOWED), "nothing was measured"


def test_a_part_of_the_flights_is_compared_with_its_own_months(tmp_path: Path) -> None:
    answer = {("UA", 1): (10, 2), ("UA", 7): (20, 3)}
    assert set(LAW.months) == set(range(1, 13)) > set(WINDOW.months)
    part = outcome(WINDOW, tmp_path, 1.0, {("UA", 1): (10, 2)})
    assert verdict.judge_sums(answer, part) == []
    wrong = outcome(WINDOW, tmp_path, 1.0, {("UA", 1): (10, 3)})
    (problem,) = verdict.judge_sums(answer, wrong)
    assert "window alone" in problem
    assert "('UA', 1)" in problem
    assert verdict.judge_sums(answer, outcome(LAW, tmp_path, 1.0, {("UA", 1): (10, 2)})) != []


def test_a_pass_without_a_slow_phase_is_no_proof(tmp_path: Path) -> None:
    law, window = (outcome(plan, tmp_path, 1.0, {}) for plan in (LAW, WINDOW))
    short = Outcome(WINDOW, window.monitor, window.counts, [], 0.0, 0.0, 30.0)
    with pytest.raises(SystemExit, match="window alone ended before"):
        verdict.judge(tmp_path, {}, law, short, law, factor=10.0)


def test_a_pass_of_committed_rows_must_have_seen_a_replay(tmp_path: Path) -> None:
    committed = outcome(COMMITTED, tmp_path, 1.0, {})
    assert len(verdict.judge_replay(committed)) == 1
    committed.counts[0]["repeated_epochs"] = 1
    assert verdict.judge_replay(committed) == []


def test_the_picture_is_small(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    law, window = (outcome(plan, tmp_path, 1.0, {}) for plan in (LAW, WINDOW))
    verdict.draw(tmp_path / "flow.png", law, window, 10.0)
    assert 20_000 < (tmp_path / "flow.png").stat().st_size < 300 * 1024


def test_the_picture_of_a_pass_that_recorded_little(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    columns = [picture.Column("empty", [Track(), Track(), Track()], (0.0, 1.0))]
    picture.draw(tmp_path / "empty.png", columns, ["0", "1", "2"], "slow")
    assert (tmp_path / "empty.png").exists()
