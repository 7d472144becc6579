"""Draws a link over time: goodput, drops and queueing delay, rstream beside TCP."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from tests.net.bed import Link
from tests.net.report import Report
from tests.net.run import Flow, Run, run

LINK = Link(100.0, 10.0, 62.0)
SECONDS = 10.0
COLUMNS = (
    ("rstream alone", (Flow("rstream"),)),
    ("TCP (cubic) alone", (Flow("cubic"),)),
    ("both", (Flow("rstream"), Flow("cubic"))),
)
ROWS = ("passed\nMbit/s", "dropped\ndatagrams/s", "queueing delay\nms")
COLOURS = {"rstream": "tab:blue", "window": "tab:green", "cubic": "tab:orange"}
#: Of the file, so that it stays small.
COLOURS_MAX = 64


def tracks() -> list[dict[str, Any]]:
    """Run each column, and keep what is drawn of it."""
    return [track(title, run(LINK, flows, SECONDS)) for title, flows in COLUMNS]


def track(title: str, done: Run) -> dict[str, Any]:
    begin_ns, report = done.began_ns, done.report
    return {
        "title": title,
        "flows": [
            {"kind": one.flow.kind, **_rates(report, one.name, begin_ns)} for one in done.outcomes
        ],
        "wait_at_s": [(at_ns - begin_ns) / 1e9 for at_ns, _ in report.waits],
        "wait_ms": [wait for _, wait in report.waits],
    }


def _rates(report: Report, flow: str, begin_ns: int) -> dict[str, Any]:
    """What passed and what was dropped per second, between the lines of a report."""
    at_s, mbit, drops = [], [], []
    for before, line in zip(report.lines, report.lines[1:], strict=False):
        second = (line.at_ns - before.at_ns) / 1e9
        counts = report.forward(flow, before.at_ns, line.at_ns)
        at_s.append((line.at_ns - begin_ns) / 1e9)
        mbit.append(8 * counts.passed_bytes / second / 1e6)
        drops.append(counts.dropped / second)
    return {"at_s": at_s, "mbit": mbit, "drops": drops}


def draw(path: Path, columns: list[dict[str, Any]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image  # Matplotlib needs it too

    figure, axes = plt.subplots(
        len(ROWS), len(columns), figsize=(10, 6.5), sharex=True, sharey="row", squeeze=False,
        constrained_layout=True,
    )  # fmt: skip
    for number, column in enumerate(columns):
        axes[0, number].set_title(column["title"], fontweight="bold")
        for flow in column["flows"]:
            look = {"color": COLOURS[flow["kind"]], "linewidth": 1.2, "label": flow["kind"]}
            axes[0, number].plot(flow["at_s"], flow["mbit"], **look)
            axes[1, number].plot(flow["at_s"], flow["drops"], **look)
        axes[2, number].plot(
            column["wait_at_s"], column["wait_ms"], color="tab:gray", linewidth=0.6
        )
        for axis in axes[:, number]:
            axis.grid(alpha=0.3)
    axes[0, 0].set_xlim(0, SECONDS)
    for row, name in enumerate(ROWS):  # a row has one scale, so when all of it is there
        axes[row, 0].set_ylim(bottom=0)
        axes[row, 0].set_ylabel(name)
    lines = [plt.Line2D([], [], color=colour, linewidth=3) for colour in COLOURS.values()]
    figure.legend(lines, COLOURS, loc="outside upper center", ncols=2, frameon=False)
    figure.supxlabel("seconds since the first flow began")
    path.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as file:
        figure.savefig(file, dpi=100)
        Image.open(file).quantize(COLOURS_MAX).save(path, optimize=True)
    plt.close(figure)
