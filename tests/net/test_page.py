"""The network's page and its limits, from made-up results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.net import cells, page, picture, verdict
from tests.net.__main__ import complete, lacking
from tests.net.cells import Cell

TABLE = cells.table()


def good_runs(cell: Cell) -> dict[str, list[dict[str, Any]]]:
    """Figures of a cell that keep every limit."""
    return {
        case.name: [
            {
                "ratio": [0.96 / len(case.flows)] * len(case.flows),
                "share": [0.45] * len(case.flows),
                "dropped": 0.001, "start_dropped": 0.01, "wait_p95_ms": 5.0, "late_turns": 0,
                "device_drops": 0, "half_after_round_trips": 12.0, "jain": 0.95, "bed_loss": 0.0,
                "late_ratio": 0.7, "slow_dropped": 0.0, "back_ratio": 0.95,
            }
        ] * case.times
        for case in cell.cases
    }  # fmt: skip


def good() -> dict[str, dict[str, list[dict[str, Any]]]]:
    return {cell.name: good_runs(cell) for cell in TABLE}


def missed(results: dict[str, Any]) -> list[str]:
    return [check.text for check in verdict.checks(TABLE, results) if not check.holds]


def spoil(results: dict[str, Any], group: str, **figures: Any) -> str:
    """Give every case but the control of the group's last cell these figures."""
    name = [cell.name for cell in TABLE if cell.group == group][-1]
    for case, runs in results[name].items():
        if case != "control":
            results[name][case] = [{**one, **figures} for one in runs]
    return name


def test_good_figures_keep_every_limit() -> None:
    assert not missed(good())
    assert len(verdict.checks(TABLE, good())) >= 20


@pytest.mark.parametrize(
    ("group", "figures", "text"),
    [
        ("alone", {"ratio": [0.5]}, "alone: of the ceiling, least"),
        ("alone", {"dropped": 0.05}, "alone: drops beyond what is allowed, most"),
        ("alone", {"wait_p95_ms": 25.0}, "alone: standing queue over its limit, most"),
        ("alone", {"start_dropped": 0.06}, "start: drops, most"),
        (
            "alone",
            {"half_after_round_trips": 16},
            "start: round trips to half of the ceiling, most",
        ),
        ("lossy", {"ratio": [0.7]}, "2% lost: of the ceiling, least"),
        ("beside", {"share": [0.1, 0.8]}, "beside cubic: own share, least"),
        ("streams", {"jain": 0.7}, "streams: Jain's index, least"),
        ("streams", {"dropped": 0.03}, "streams: drops beyond the control's + 2 %, most"),
        ("streams", {"late_ratio": 0.4}, "latecomers with half of their share"),
        ("changing", {"slow_dropped": 0.02}, "slower link: drops in the second second"),
        ("changing", {"back_ratio": 0.8}, "faster link: of the ceiling after 3 s"),
    ],
)
def test_a_bad_figure_is_missed(group: str, figures: dict[str, Any], text: str) -> None:
    results = good()
    name = spoil(results, group, **figures)
    assert text in missed(results)
    kept = results[name]["control"]
    results[name]["control"] = [{**kept[0], "bed_loss": 0.004}]
    assert text not in missed(results)  # virtual time decides
    results[name]["control"] = [{**kept[0], "ratio": [0.8]}]
    assert text not in missed(results)  # the machine was too busy
    results[name]["control"] = kept
    assert text in missed(results)


def test_without_results_nothing_is_judged() -> None:
    assert verdict.checks(TABLE, {}) == []
    assert verdict.checks(TABLE, {TABLE[-1].name: good_runs(TABLE[-1])})


def test_the_page_has_every_cell() -> None:
    results = good()
    results[TABLE[0].name]["control"][0]["bed_loss"] = 0.01
    written = page.text(TABLE, results, {"arrays.md": "| a table |\n"})
    rows = [line for line in written.splitlines() if line[:3] in ("| 1", "| 2", "| 3", "| 4")]
    assert len(rows) == len(TABLE) + 2 * 2  # a changing link has a row for each flow
    assert written.count("1.0: virtual time decides") == 1
    assert "## Arrays without a bottleneck" in written
    assert "| a table |" in written
    assert "median of 3 runs" in written
    assert "## Verdict: 0 of" in written
    assert max(len(line) for line in written.splitlines() if not line.startswith("|")) <= 100


def test_a_page_of_some_cells_can_be_written() -> None:
    some = {cell.name: good_runs(cell) for cell in TABLE[7:9]}
    written = page.text(TABLE, some, {})
    assert "## Beside TCP" not in written
    assert f"2 of {len(TABLE)} cells have results." in written


def test_a_table_is_run_in_rounds_and_continued() -> None:
    """First one run of each case, so that a table that was cut is whole as far as it can be."""
    cell, other = [cell for cell in TABLE if cell.group == "alone"][:2]
    results: dict[str, Any] = {}
    wanted = lacking([cell, other], results, None)
    once = len(cell.cases) + len(other.cases)
    assert [one for one, _ in wanted[:once]] == [cell] * len(cell.cases) + [other] * len(
        other.cases
    )
    assert len(wanted) == sum(case.times for one in (cell, other) for case in one.cases)
    for one, case in wanted[:7]:
        results.setdefault(one.name, {}).setdefault(case.name, []).append({})
    assert lacking([cell, other], results, None) == wanted[7:]
    assert lacking([cell], results, 1) == []
    assert list(complete(results)) == [cell.name]


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    flow = {"at_s": [0.1, 0.2], "mbit": [50.0, 90.0], "drops": [0.0, 100.0]}
    columns = [
        {
            "title": title,
            "flows": [{"kind": one.kind, **flow} for one in flows],
            "wait_at_s": [0.0, 0.1],
            "wait_ms": [0.0, 4.0],
        }
        for title, flows in picture.COLUMNS
    ]
    picture.draw(tmp_path / "network.png", columns)
    assert (tmp_path / "network.png").read_bytes().startswith(b"\x89PNG")
