"""rstream lab as a program: exit codes, JSON, reports and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rstream.cli import main
from rstream.lab import plot
from rstream.lab.engine import run
from rstream.lab.experiments import EXPERIMENTS, Plan, Sketch
from rstream.lab.report import Figure, LabReport, interval
from rstream.lab.scenario import Consumer, Law, Sender, group


@pytest.mark.parametrize(
    ("arguments", "beside"),
    [
        ([], {"credit", "static", "aimd", "nak", "cubic"}),
        (["--baselines", ""], {"credit"}),
        (["--baselines", "aimd"], {"credit", "aimd"}),
        (["--real"], {"credit"}),
        (["--real", "--baselines", "aimd"], {"credit", "aimd"}),
    ],
)
def test_laws_to_compare_with_can_be_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], beside: set[str]
) -> None:
    def see(plan: Plan) -> LabReport:
        return LabReport("E1", [], {}, {law: [] for law in plan.laws if law != "adaptive"}, {}, [])

    monkeypatch.setitem(EXPERIMENTS, "E1", see)
    main(["lab", "E1", "--json", str(tmp_path / "e1.json"), *arguments])
    assert set(json.loads((tmp_path / "e1.json").read_text())["baselines"]) == beside


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["E11"], "no experiment or family 'E11'"),
        (["E5", "--real"], "E5 --real: only E1, E2, E3, E4 run in real time"),
        (["E10", "--real"], "E10 --real: only E1, E2, E3, E4 run in real time"),
        (["E1", "--queues", "--real"], "--queues: cannot go with --real"),
        (["E6", "--queues"], "--queues: E6 always uses real agents; leave it out"),
        (["E1", "--seeds", "0"], "at least 1"),
        (
            ["E1", "--baselines", "aimd,vegas"],
            "--baselines: no law 'vegas'; there are credit, static, aimd, nak, cubic",
        ),
        (["E1", "--plot", "x.gif"], ".png or .html"),
    ],
)
def test_an_impossible_plan_exits_with_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert main(["lab", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_without_the_laboratory_the_command_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("rstream.cli._lab")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rstream.lab.comparison", None)  # as where it is missing
    assert main(["lab", "E1"]) == 2
    assert "make setup" in capsys.readouterr().err


def test_an_experiment_in_short() -> None:
    """E10 with two seeds: figures exist, also for credit."""
    report = EXPERIMENTS["E10"](Plan(seeds=2, baselines=("credit",)))
    said = report.as_json()
    assert set(said) == {"experiment", "passed", "figures", "baselines"}
    assert set(said["baselines"]) == {"credit"}
    assert said["figures"]["overrun_bytes"]["mean"] == 0
    assert 0.85 < said["figures"]["last_utilisation"]["mean"] <= 1.05
    assert said["passed"] == all(figure.passed for figure in report.figures)


def test_elements_with_real_agents_in_short() -> None:
    """E7: no element beyond the demand. Its throughput on a busy machine does not matter."""
    report = EXPERIMENTS["E7"](Plan(seeds=1, time_scale=0.05))
    seen = {figure.name: figure for figure in report.figures}
    for medium in ("ipc", "udp"):
        for pattern in ("request_1", "request_7", "bursts"):
            assert seen[f"{medium}_{pattern}_made_beyond_demand"].values == (0.0,)
            assert seen[f"{medium}_{pattern}_delivered_beyond_demand"].values == (0.0,)
            assert seen[f"{medium}_{pattern}_made_share"].values == (1.0,)
        assert seen[f"{medium}_request_256_share"].least == 0.95
        assert seen[f"{medium}_unbounded_elements_per_s"].values > (0.0,)
    assert seen["group_delivered_beyond_demand"].values == (0.0,)
    assert seen["group_delivered_beyond_demand"].is_judged


def test_a_limit_holds_for_the_whole_interval_or_for_every_run() -> None:
    values = (1.0, 1.1, 0.9, 1.0)
    mean, low, high = interval(values)
    assert mean == pytest.approx(1.0)
    assert high - mean == pytest.approx(
        3.182 * 0.0816497 / 2, rel=1e-3
    )  # Student's t with three degrees of freedom
    assert low < 0.9 < high or low >= 0.87
    assert Figure("x", values, most=1.2).passed
    assert not Figure("x", values, most=1.05).passed
    assert Figure("x", values, least=0.9, of_every=True).passed
    assert not Figure("x", values, least=0.91, of_every=True).passed
    assert not Figure("x", (1.0, float("inf")), most=5).passed
    assert [
        Figure("x", found, least=0.9, most=1.2).worst
        for found in ((0.9, 1.0, 1.3), (0.7, 1.0, 1.3), (0.95, 1.1))
    ] == [1.3, 0.7, 0.95]
    assert Figure("x", (1.0, float("inf")), most=5).worst == float("inf")
    assert not LabReport("E0", [Figure("x", values)], {}).passed  # nothing was judged


def test_the_axis_of_rates_has_room_for_every_run() -> None:
    """All columns share it: the last column, of a slow law, must not cut off the others."""
    runs = [
        run(
            group(
                f"at {rate:g}",
                0.5,
                (Consumer(),),
                sender=Sender(law=Law("credit"), app_rate=rate * 1e6),
            ),
            1,
        )
        for rate in (90, 10)
    ]
    sketches = [Sketch(found.scenario.name, found) for found in runs]
    assert 90 < plot._top_mb_s(sketches) < 400  # pyright: ignore[reportPrivateUsage]
    assert plot._top_mb_s(sketches[1:]) < 30  # pyright: ignore[reportPrivateUsage]


def test_a_picture_needs_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sketch = Sketch("credit", run(group("x", 0.5, (Consumer(),)).under(Law("credit")), 1))
    for suffix, head in ((".png", b"\x89PNG"), (".html", b"<!doctype html>")):
        path = tmp_path / f"picture{suffix}"
        plot.draw(path, "x", [sketch], "figures")
        assert path.read_bytes().startswith(head)
    text = (tmp_path / "picture.html").read_text()
    assert "data:image/png;base64" in text
    assert "http" not in text.replace("data:image", "")
