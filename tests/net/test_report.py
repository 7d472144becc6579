"""The pure parts of the network's bed: reports, goodput, the table's arithmetic."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import pytest

from tests.net import bed as beds
from tests.net import cells
from tests.net.__main__ import flow_of, load, save
from tests.net.bed import Link
from tests.net.cells import ceiling
from tests.net.figures import figures, jain, middle
from tests.net.report import Counts, Report, quantile
from tests.net.run import Flow, Outcome, Run

FLOW = "udp 20100"
S = 1_000_000_000


def line(at_ns: int, waits_us: list[int], came: int, dropped: int) -> str:
    counts = [came, 1000 * came, came - dropped, 1000 * (came - dropped), dropped, 0]
    return json.dumps({"at_ns": at_ns, "waits_us": waits_us, "forward": {FLOW: counts}, "back": {}})


def report(*lines: str) -> Report:
    end = {"late_turns": 2, "late_most_us": 1500, "refused": 1, "strangers": 3}
    return Report.of([*lines, json.dumps(end)], device_drops=4)


def test_a_report_is_read() -> None:
    """A line is of its last sample; the last line of the link's end."""
    read = report(line(10 * S, [0] * 20, 100, 0), line(10 * S + 57_000_000, [2000, 4000], 150, 5))
    assert [at_ns for at_ns, _ in read.waits[18:]] == [
        10 * S - 5_000_000, 10 * S, 10 * S + 5_000_000, 10 * S + 10_000_000,
    ]  # fmt: skip
    assert read.waits_between(10 * S, 11 * S) == [0.0, 2.0, 4.0]
    assert read.forward(FLOW, 10 * S, 11 * S) == Counts(50, 50_000, 45, 45_000, 5)
    assert read.forward(FLOW, 0, 10 * S) == Counts(100, 100_000, 100, 100_000)
    assert read.forward("tcp 1", 0, 11 * S) == Counts()
    assert read.forward(FLOW, 10 * S, 11 * S).dropped_share == 0.1
    assert Counts().dropped_share == 0
    assert (read.late_turns, read.late_most_ms, read.device_drops, read.strangers) == (2, 1.5, 5, 3)


def test_quantiles() -> None:
    assert quantile([], 0.95) == 0
    assert quantile([3, 1, 2], 0.5) == 2
    assert quantile(list(range(100)), 0.95) == 95
    assert quantile([1], 1.0) == 1


def outcome(at_s: list[float], had: list[int], flow: Flow) -> Outcome:
    return Outcome(flow, FLOW, [round(at * S) for at in at_s], had, sent=0, came=0)


def test_goodput_goes_from_progress_to_progress() -> None:
    """A message of 1 MB each 0.8 s is 10 Mbit/s, wherever the time begins."""
    long = outcome([0.8 * n for n in range(1, 10)], [10**6 * n for n in range(1, 10)], Flow("udp"))
    for from_s in (0.0, 0.5, 1.0, 1.3):
        assert long.goodput(round(from_s * S), round((from_s + 3) * S)) == pytest.approx(10e6)
    assert long.goodput(0, S) == 0  # one message says nothing of a rate
    assert long.goodput(9 * S, 20 * S) == 0


def test_when_a_goodput_was_reached() -> None:
    """1 Mbit/s for a second, then 10: half of 10 is reached half a window later."""
    slow = [(n / 100, n * 1250) for n in range(1, 101)]
    fast = [(1 + n / 100, 125_000 + n * 12_500) for n in range(1, 101)]
    at_s, had = zip(*slow, *fast, strict=True)
    flow = outcome(list(at_s), list(had), Flow("cubic"))
    assert flow.reached_ns(5e6, S // 10) == pytest.approx(1.045 * S, abs=S / 100)
    assert flow.reached_ns(0.5e6, S // 10) <= 0.06 * S
    assert flow.reached_ns(11.1e6, S // 10) == math.inf


def a_run(link: Link, flows: list[Flow], read: Report, seconds: float = 8.0) -> Run:
    at_s = [n / 10 for n in range(100)]
    outcomes = tuple(
        outcome(at_s, [round(at * link.bits_per_s / 8 / len(flows)) for at in at_s], flow)
        for flow in flows
    )
    return Run(link, 0, round(seconds * S), outcomes, read)


def test_the_figures_of_a_run() -> None:
    link = Link(100, 10, 125)
    case = cells.Case("rstream 1 kB", (Flow("rstream"),))
    read = report(
        line(S // 2, [500] * 20, 100, 10), line(5 * S, [0] * 20, 1000, 10),
        line(8 * S, [4000] * 20, 2000, 30),
    )  # fmt: skip
    found = figures(case, a_run(link, list(case.flows), read))
    assert found["share"] == [pytest.approx(1.0)]
    assert found["ratio"] == [pytest.approx(1084 / 1000)]
    assert found["dropped"] == 0.02
    assert found["start_dropped"] == 0.1
    assert found["wait_p95_ms"] == 4.0
    assert found["half_after_round_trips"] == 10  # the first note


def test_a_latecomer_has_its_fair_share() -> None:
    case = cells.Case("latecomer", (Flow("rstream"), Flow("rstream", start_s=5.0)))
    found = figures(case, a_run(Link(100, 10, 125), list(case.flows), report(line(S, [0], 1, 0))))
    assert found["late_ratio"] == pytest.approx(1.084, rel=0.01)


def test_ceilings_of_the_issue() -> None:
    assert ceiling("rstream", 1000) == pytest.approx(0.9225, abs=1e-4)
    assert ceiling("rstream", 1_000_000) == pytest.approx(0.958, abs=1e-3)
    assert ceiling("rstream", 1376) == pytest.approx(0.958, abs=1e-3)
    assert ceiling("rstream", 70) == pytest.approx(11 * 70 / (11 * 128 + 28))
    assert ceiling("cubic", 1000) == pytest.approx(0.965, abs=1e-3)
    assert ceiling("udp", 1372) == pytest.approx(0.98)


def test_shares_of_fairness() -> None:
    assert jain([5, 5, 5]) == 1
    assert jain([9, 0, 0]) == pytest.approx(1 / 3)
    assert jain([0, 0]) == 0
    runs: list[dict[str, Any]] = [{"a": [1, 5], "b": 3}, {"a": [2, 7], "b": 1}, {"a": [9, 6]}]
    assert middle(runs, "a", 1) == 6
    assert middle(runs, "b") == 2


def test_each_cell_is_named_once_and_has_a_control() -> None:
    table = cells.table()
    assert len({cell.name for cell in table}) == len(table)
    assert all(cell.cases[0].name == "control" for cell in table)
    for cell in table:
        assert len({case.name for case in cell.cases}) == len(cell.cases)
        assert cell.group == "bare" or cell.link.queue_kb >= cells.QUEUE_LEAST_KB
        for at_s, _ in cell.link.steps:
            assert cell.cases[0].seconds < at_s


def test_the_link_is_told_what_it_is() -> None:
    link = Link(12.5, 10, 64, loss=0.01, reorder=0.5, hold_ms=3, extra_rtt_ms=(0, 20), seed=7)
    assert link.arguments() == [
        "--forward",
        "rate=12500000,delay=5000000ns,queue=64000,loss=0.010000,reorder=0.500000,hold=3000000ns",
        "--back", "delay=5000000ns", "--seed", "7", "--extra", "0ns,10000000ns",
    ]  # fmt: skip


def test_without_root_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root" in beds.why_not()


def test_without_a_tool_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(beds.shutil, "which", lambda _: None)
    assert "iproute2" in beds.why_not()


def test_flows_are_named_on_the_command_line() -> None:
    assert flow_of("rstream:5") == Flow("rstream", 5)
    assert flow_of("cubic") == Flow("cubic", 1000)
    assert flow_of("udp") == Flow("udp", 1372)
    with pytest.raises(ValueError, match="vegas"):
        flow_of("vegas")


def test_results_are_kept(tmp_path: Any) -> None:
    path = tmp_path / "net" / "results.json"
    assert load(path) == {}
    save(path, {"a": {"b": [{"c": 1.5}]}})
    assert load(path) == {"a": {"b": [{"c": 1.5}]}}
