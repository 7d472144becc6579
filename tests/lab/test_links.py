"""Families of links: what a run draws, what is measured, and what the law of the path must show.

The law is judged here on training seeds only, and few of them: `rstream lab links --runs 30` judges
it on test seeds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rstream.cli import main
from rstream.errors import RStreamError
from rstream.lab.families import families
from rstream.lab.links import (
    DATAGRAMS_EACH,
    LINK_FAMILIES,
    TEST_SEEDS_SPENT,
    LinkDraw,
    draw_link,
    link_seeds,
)
from rstream.lab.links_measure import measure, shares
from rstream.lab.links_report import (
    KINDS,
    LinkRow,
    compare_links,
    links_json,
    links_markdown,
    links_verdict,
)
from rstream.lab.traffic import CUBIC, DATAGRAM, FIXED, PATH, Flow, LabLink, LinkWorld, run

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "lab.md"
FEW = link_seeds(20, is_training=True)


def fixed(rate: float, **changes: float) -> LinkWorld:
    """A sender at a constant rate on a link of 1 MB/s and 10 ms."""
    flow = Flow(kind=FIXED, rtt_s=0.01, window_bytes=1e6, app_rate=rate)
    link = LabLink(rate=1e6, queue_bytes=20_000, **changes)
    return LinkWorld(link=link, flows=(flow,), seconds=4.0, sample_s=0.01)


def test_a_constant_rate_by_hand() -> None:
    below, above = run(fixed(0.5e6), 1), run(fixed(2e6), 1)
    assert shares(below, 1.0, 3.0) == pytest.approx([0.5], rel=0.01)
    assert max(below.queue) <= DATAGRAM
    assert shares(above, 1.0, 3.0) == pytest.approx([1.0], rel=0.01)
    sent, dropped = (above.between(name, 0, 1.0, 3.0) for name in ("sent", "dropped"))
    assert dropped / sent == pytest.approx(0.5, rel=0.01)
    lossy = run(fixed(0.5e6, loss=0.1), 1)
    assert shares(lossy, 1.0, 3.0) == pytest.approx([0.45], rel=0.05)


def test_a_wrong_number_is_named() -> None:
    with pytest.raises(RStreamError, match=r"link 0: loss is 0\.9, must lie in 0 \.\.\. 0\.5"):
        run(fixed(1e6, loss=0.9), 1)


@pytest.mark.parametrize("name", LINK_FAMILIES)
def test_a_seed_is_a_draw_within_the_ranges(name: str) -> None:
    family = LINK_FAMILIES[name]
    assert draw_link(family, 7) == draw_link(family, 7)
    assert draw_link(family, 7) != draw_link(family, 8)
    for seed in range(1, 60):
        drawn = draw_link(family, seed)
        product = drawn.link.rate * drawn.rtt_s
        assert 10e6 / 8 <= drawn.link.rate <= 10e9 / 8
        assert 1e-4 <= drawn.rtt_s <= 0.17
        if name == "shallow":
            assert 3 <= drawn.link.queue_bytes / DATAGRAM <= 40
        elif drawn.link.queue_bytes != 64e3:
            assert 0.1 <= drawn.link.queue_bytes / product <= 4.001
        assert any(flow.kind == PATH for flow in drawn.flows)
        assert all(flow.stall_every_s >= 0.5 for flow in drawn.flows)
        assert drawn.seconds > drawn.from_s


def test_results_come_from_test_seeds_that_are_not_spent() -> None:
    training, test = (link_seeds(30, is_training=is_training) for is_training in (True, False))
    assert (len(training), len(test)) == (30, 30)
    assert all(seed % 2 == 1 for seed in training)
    assert all(seed % 2 == 0 and seed > 2 * TEST_SEEDS_SPENT for seed in test)
    assert test[0] == 2 * TEST_SEEDS_SPENT + 2


def test_streams_have_room_for_some_datagrams_each() -> None:
    for seed in range(1, 60):
        drawn = draw_link(LINK_FAMILIES["streams-8"], seed)
        room = drawn.link.rate * drawn.rtt_s + drawn.link.queue_bytes
        assert len(drawn.flows) == 8
        assert room >= 8 * DATAGRAMS_EACH * DATAGRAM


def test_no_family_of_links_has_the_name_of_one_of_consumers() -> None:
    assert not LINK_FAMILIES.keys() & families().keys()


def test_the_page_lists_the_families() -> None:
    text = PAGE.read_text()
    assert [name for name in LINK_FAMILIES if f"| {name} |" not in text] == []


def test_only_the_judged_flows_change_their_kind() -> None:
    drawn = draw_link(LINK_FAMILIES["beside-bbr"], 1)
    assert [flow.kind for flow in drawn.under(CUBIC).flows] == [CUBIC, drawn.flows[1].kind]


def row(name: str, ours: Mapping[str, float], cubic: Mapping[str, float]) -> LinkRow:
    seen = {"rstream": (ours,), "cubic": (cubic,), "BBR": (cubic,)}
    return LinkRow(family=LINK_FAMILIES[name], seeds=(2,), seen=seen)


@pytest.mark.parametrize(
    ("name", "ours", "cubic", "missed"),
    [
        ("alone", {"goodput": 0.93}, {"goodput": 1.0}, []),
        ("alone", {"goodput": 0.92}, {"goodput": 1.0}, ["alone: goodput, mean"]),
        (
            "alone",
            {"goodput": 0.79},
            {"goodput": 1.0},
            ["alone: goodput, mean", "alone: goodput, each"],
        ),
        (
            "beside-cubic",
            {"own share": 0.51},
            {"own share": 0.5},
            ["beside-cubic: own share, mean"],
        ),
        (
            "beside-cubic",
            {"both in 0.25 to 0.75": 0.95},
            {"both in 0.25 to 0.75": 0.96},
            ["beside-cubic: both in 0.25 to 0.75, mean"],
        ),
        ("incast", {"shallow drops": 0.03}, {"shallow drops": 0.02}, []),
        (
            "incast",
            {"shallow drops": 0.031},
            {"shallow drops": 0.02},
            ["incast: shallow drops, mean"],
        ),
        ("round-trips", {"jain": 0.1}, {"jain": 1.0}, []),
    ],
)
def test_the_verdict_names_what_was_missed(
    name: str, ours: dict[str, float], cubic: dict[str, float], missed: list[str]
) -> None:
    found = [row(name, {"goodput": 1.0, **ours}, {"goodput": 1.0, **cubic})]
    assert [one.name for one, _, _ in links_verdict(found) if not one.passed] == missed
    text = links_markdown(found, is_training=False)
    assert text.count("**MISSED**") == len(missed)
    assert json.loads(links_json(found))["passed"] == (not missed)


def test_the_worst_draw_is_named() -> None:
    seen: Any = {kind: ({"goodput": 0.9}, {"goodput": 0.7}) for kind in KINDS}
    text = links_markdown(
        [LinkRow(family=LINK_FAMILIES["alone"], seeds=(2, 4), seen=seen)], is_training=True
    )
    assert "alone: goodput, each: 0.7 (seed 4), limit >= 0.8 (cubic 0.7, BBR 0.7)" in text
    assert "Training seeds (odd), not for results: 2 to 4" in text


@pytest.mark.parametrize("name", [name for name in LINK_FAMILIES if name != "fast"])
def test_the_law_holds_its_limits_on_a_few_links(name: str) -> None:
    """`fast` takes a minute, and its shallowest queues overflow (docs/results/links.md)."""
    found = compare_links([LINK_FAMILIES[name]], FEW)
    assert [one.name for one, _, _ in links_verdict(found) if not one.passed] == []


def test_no_honest_item_is_refused() -> None:
    draws = [draw_link(family, 1) for family in LINK_FAMILIES.values() if family.name != "fast"]

    def refused(drawn: LinkDraw) -> float:
        return measure(drawn, PATH)["refused"]

    assert [refused(drawn) for drawn in draws] == [0.0] * len(draws)


def test_a_family_as_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, result = tmp_path / "table.md", tmp_path / "result.json"
    options = ["--runs", "2", "--train", "--markdown", str(table), "--json", str(result)]
    assert main(["lab", "start", *options]) == 0
    text = capsys.readouterr().out
    assert text == table.read_text()
    assert "| start | rstream |" in text
    assert "Training seeds (odd), not for results: 1 to 3" in text
    said = json.loads(result.read_text())
    assert said["passed"]
    assert [len(draws) for draws in said["rows"][0]["draws"].values()] == [2, 2, 2]


@pytest.mark.parametrize("option", [["--law", "nak"], ["--plot", "x.png"], ["--real"]])
def test_impossible_options_exit_with_2(
    capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    assert main(["lab", "links", *option]) == 2
    assert f"{option[0]}: families of links have it not" in capsys.readouterr().err
