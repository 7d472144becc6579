"""Families of consumers: what a run draws, and what the comparison makes of it."""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from rstream.cli import main
from rstream.errors import ConfigError
from rstream.lab.comparison import (
    LAW_NAMES,
    TARGETS_S,
    DrawResult,
    LabRow,
    compare,
    headroom,
    mean_utilisation,
    row_of,
    scenario_of,
    verdict,
)
from rstream.lab.engine import run
from rstream.lab.families import SECONDS, draw, families, recorded, seeds
from rstream.lab.families_report import as_html, as_markdown, passed
from rstream.lab.scenario import Law
from rstream.lab.trace import Levels
from tests.lab.test_trace import mean as trace_mean
from tests.models.credit import utilisations

FAMILIES = families()
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "lab.md"


def mean_share(levels: Levels) -> float:
    """The mean of a capacity over a run, as a share of 100 MB/s."""
    return trace_mean((*levels, (SECONDS, 0.0))) / 100e6


def test_training_and_test_seeds_are_disjoint() -> None:
    training, test = seeds(1000, is_training=True), seeds(1000, is_training=False)
    assert len(training) == len(test) == 1000
    assert not set(training) & set(test)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_seed_is_a_draw(name: str) -> None:
    """The same seed draws the same run, another one a different run, both within the ranges."""
    assert draw(FAMILIES[name], 7) == draw(FAMILIES[name], 7)
    assert draw(FAMILIES[name], 7) != draw(FAMILIES[name], 8)
    for seed in range(1, 50):
        drawn = draw(FAMILIES[name], seed)
        assert len(drawn.consumers) in FAMILIES[name].sizes
        assert 1e-4 <= drawn.rtt_s <= 20e-3
        assert 2**18 <= drawn.buffer_bytes <= 2**24
        assert all(consumer.levels[0][0] == 0.0 for consumer in drawn.consumers)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "steady"])
def test_every_receiver_draws_its_own_capacity(name: str) -> None:
    drawn = draw(FAMILIES[name], 2)
    assert len({consumer.levels for consumer in drawn.consumers}) > 1


@pytest.mark.parametrize("name", FAMILIES)
def test_the_mean_capacity_is_the_one_that_is_stated(name: str) -> None:
    means = [
        fmean(mean_share(consumer.levels) for consumer in draw(FAMILIES[name], seed).consumers)
        for seed in range(1, 1001)
    ]
    assert fmean(means) == pytest.approx(FAMILIES[name].mean, abs=0.02)


def test_the_page_lists_the_families() -> None:
    text = PAGE.read_text()
    assert [name for name in FAMILIES if f"| {name} |" not in text] == []


@pytest.mark.parametrize("is_training", [True, False])
def test_six_draws_have_each_size_of_group_twice(is_training: bool) -> None:
    drawn = [draw(FAMILIES["walk"], seed) for seed in seeds(6, is_training=is_training)]
    assert sorted(len(one.consumers) for one in drawn) == [1, 1, 4, 4, 16, 16]


def level_at(levels: Levels) -> Callable[[float], float]:
    times = [at_s for at_s, _ in levels]
    return lambda now_s: levels[bisect.bisect_right(times, now_s) - 1][1]


@pytest.mark.parametrize("name", FAMILIES)
def test_credit_delivers_what_a_fluid_delivers(name: str) -> None:
    """The yardstick "full window", by the engine and by a model in a few lines."""
    for seed in (1, 2):
        drawn = draw(FAMILIES[name], seed)
        drawn = replace(drawn, consumers=drawn.consumers[:4])
        found = mean_utilisation(run(scenario_of(drawn).under(Law("credit")), seed))
        model = utilisations(
            [level_at(consumer.levels) for consumer in drawn.consumers],
            SECONDS,
            rtt_s=drawn.rtt_s,
            window=drawn.buffer_bytes,
        )
        assert found == pytest.approx(fmean(model), rel=0.03), f"seed {seed}"


def test_headroom() -> None:
    """X by hand: a buffer of 4 MiB, a round trip of 1 ms, a target of 10 ms."""
    arrives = 100e6 * (1e-3 + 4e-3 + 0.5e-3)
    assert headroom(4 << 20, 1e-3, 0.010) == pytest.approx(((4 << 20) - 0.8e6) / arrives)
    small = 0.75 * (256 << 10) / (100e6 * 0.050)
    assert headroom(256 << 10, 20e-3, 0.010) == pytest.approx(small)


def seen(ours: float = 0.9, **changes: float) -> DrawResult:
    return replace(
        DrawResult(
            draw=draw(FAMILIES["steady"], 2),
            by_agents=False,
            headroom=2.0,
            utilisation=dict(zip(LAW_NAMES, (ours, 0.9, 1.0, 0.5), strict=True)),
            queue_ms=(5.0, 12.0),
            overrun_bytes=0.0,
            report_bytes=1e5,
            sent_bytes=5e8,
        ),
        **changes,
    )


def rows(one: DrawResult) -> list[LabRow]:
    return [
        row_of(FAMILIES[name], target_s, [one])
        for target_s in TARGETS_S
        for name in ("step", "walk")
    ]


@pytest.mark.parametrize(
    ("one", "missed"),
    [
        (seen(), []),
        (seen(0.8), ["10 ms: ratio to same delay, mean", "20 ms: ratio to same delay, mean"]),
        (seen(queue_ms=(5.0, 16.0)), ["10 ms: p99 queue over target, mean"]),
        (seen(overrun_bytes=1.0, headroom=1.1), []),
        (seen(report_bytes=6e5, sent_bytes=5e7), []),
        (seen(report_bytes=6e5), [f"{ms} ms: fill NAKs in % of data" for ms in (10, 20)]),
        (seen(overrun_bytes=1.0), [f"{ms} ms: runs that overran at X >= 1.2" for ms in (10, 20)]),
    ],
)
def test_the_verdict_names_what_was_missed(one: DrawResult, missed: list[str]) -> None:
    assert [figure.name for figure, _ in verdict(rows(one)) if not figure.passed] == missed
    text = as_markdown(rows(one), "adaptive", is_training=False)
    assert text.count("**MISSED**") == len(missed)
    assert passed(rows(one)) == (not missed)


def test_the_worst_family_is_named() -> None:
    found = [row_of(FAMILIES["step"], target_s, [seen()]) for target_s in TARGETS_S]
    found += [row_of(FAMILIES["walk"], target_s, [seen(0.5)]) for target_s in TARGETS_S]
    text = as_markdown(found, "adaptive", is_training=False)
    assert "ratio to same delay, each family: 0.556 (walk), limit >= 0.88" in text


def test_the_last_row_has_means_and_the_sum_of_the_faults() -> None:
    text = as_markdown(rows(seen(overrun_bytes=3e6)), "adaptive", is_training=False)
    (cells, _) = (line.split(" | ") for line in text.splitlines() if line.startswith("| all |"))
    assert cells[1:3] == ["0.90", "0.90"]
    assert cells[-3:-1] == ["6.00", "2"]


def test_one_run_of_each_engine() -> None:
    """A share of one half: the second draw is run by media drivers, at a power of two."""
    found, pictures = compare([FAMILIES["step"]], (2, 6), agents_share=0.5)
    assert [row.target_s for row in found] == list(TARGETS_S)
    for row in found:
        assert [one.by_agents for one in row.seen] == [False, True]
        assert math.log2(row.seen[1].draw.buffer_bytes) % 1 == 0
        assert all(0 < share <= 1.001 for one in row.seen for share in one.utilisation.values())
    assert pictures["step"].seed == 2


def test_a_family_as_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, result = tmp_path / "table.md", tmp_path / "result.json"
    code = main(["lab", "steady", "--runs", "1", "--markdown", str(table), "--json", str(result)])
    text = capsys.readouterr().out
    assert text == table.read_text()
    assert text.count("| steady |") == 2
    assert "Test seeds (even): 2 to 2" in text
    assert ("MISSED" in text) == (code == 1)
    said = json.loads(result.read_text())
    assert said["passed"] == (code == 0)
    assert [row["target_s"] for row in said["rows"]] == list(TARGETS_S)
    assert "<td>steady" in as_html(text)


def test_a_recording_of_the_users_own_and_another_law(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.trace"
    path.write_text("# second MB/s\n0 1\n\n0.5 3 # faster\n1 1\n")
    levels = {rate for _, rate in draw(recorded(path, ""), 1).consumers[0].levels}
    assert levels == {50e6, 150e6}
    main(["lab", str(path), "--runs", "1", "--law", "credit"])
    text = capsys.readouterr().out
    assert text.count("| mine | ") == 2
    assert "* Law: credit." in text


@pytest.mark.parametrize("text", ["0 100", "0 0\n1 0", "0 5\n0 5"])
def test_a_trace_without_time_or_capacity_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.trace").write_text(text)
    with pytest.raises(ConfigError, match="needs a capacity above 0"):
        recorded(tmp_path / "bad.trace", "")


def test_training_seeds_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lab", "steady", "--runs", "1", "--train"])
    assert "Training seeds (odd), not for results: 1 to 1" in capsys.readouterr().out


def test_a_page_with_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "walk.html"
    main(["lab", "walk", "--runs", "1", "--plot", str(path)])
    text = path.read_text()
    assert "data:image/png;base64" in text
    assert text.count("<td>walk<td>") == 2


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["familys"], "no experiment or family 'familys'; there are E1,"),
        (["steady", "--real"], "--real: families have it not"),
        (["steady", "--agents-share", "2"], "--agents-share 2: 0 to 1"),
        (["steady", "--law", "vegas"], "--law: no law 'vegas'; there are adaptive,"),
        (["nowhere.trace"], "trace nowhere.trace: [Errno 2]"),
        (["E1", "--train"], "--train: only for families"),
        (["E1", "--agents-share", "0.5"], "--agents-share: only for families"),
    ],
)
def test_impossible_options_exit_with_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert main(["lab", *arguments]) == 2
    assert text in capsys.readouterr().err
