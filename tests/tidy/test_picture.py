"""The include picture: arrows, circles and order of four files, and the limits of the driver's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tidy import picture

HOUSE = {
    "low/a.h": "int rsti_a(void);\n",
    "low/a.c": '#include "low/a.h"\n\nint rsti_a(void)\n{\n    return 1;\n}\n',
    "mid/b.c": '#include "low/a.h"\n\nint rsti_b(int x)\n{\n    return x + rsti_c(x);\n}\n',
    # A declaration is no use, nor is a word in a comment or a string.
    "mid/c.c": (
        "int rsti_b(int x);\n\n/* rsti_d */\n"
        'int rsti_c(int x)\n{\n    return rsti_b("rsti_d");\n}\n'
    ),
    "top/d.c": (
        "static int rsti_a2(void)\n{\n    return 0;\n}\n\n"
        "int rsti_d(void)\n{\n    return rsti_c(rsti_a2());\n}\n"
    ),
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in HOUSE.items():
        path = tmp_path / "transport_ext" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_arrows_follow_includes_and_calls(house: Path) -> None:
    arrows = picture.find_arrows(picture.read_units(house / "transport_ext"))
    assert arrows == {
        "low/a": set(),
        "mid/b": {"low/a", "mid/c"},
        "mid/c": {"mid/b"},
        "top/d": {"mid/c"},
    }


def test_circle_is_found_and_one_of_its_arrows_points_upward(house: Path) -> None:
    arrows = picture.find_arrows(picture.read_units(house / "transport_ext"))
    assert picture.find_circles(arrows) == [["low/a"], ["mid/b", "mid/c"], ["top/d"]]
    assert len(picture.upward(arrows)) == 1


def test_a_ring_of_many_costs_one_upward_arrow() -> None:
    arrows = {str(i): {str((i + 1) % 9)} for i in range(9)}
    assert len(picture.find_circles(arrows)) == 1
    assert len(picture.upward(arrows)) == 1


def test_lines_are_printed_per_room(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert picture.main(["--repo", str(house), "mid"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["mid", "2", "2", "1", "2"]
    assert picture.main(["--repo", str(house), "cellar"]) == 2


def test_agents_of_the_driver_stand_apart() -> None:
    units = picture.read_units(picture.ROOT / "transport_ext")
    arrows = picture.find_arrows(units)
    driver = picture.within(arrows, (name for name in units if name.startswith("driver/")))
    assert not picture.circles_across_agents(driver)
    assert len(picture.upward(driver)) < 20
