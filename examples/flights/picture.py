"""Draws build/demo/flow.png: flow control over time, a column for each pass."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.flights.tracks import Track, speed

#: Seconds that are drawn before the slow phase and after it.
BEFORE_S, AFTER_S = 5.0, 8.0
ROWS = (
    "queueing delay\nms",
    "receiver's buffer\n% full",
    "rate limit\nKB/s",
    "send rate\nKB/s",
    "fill reports\nper second",
    "demand told\nmessages",
)
HEIGHTS = (3, 3, 3, 3, 3, 1.5)
#: Rows with a logarithmic scale, and its bounds.
LOG = {0: (1, 6000), 2: (2, 20_000)}
#: Of the file, so that it stays small.
COLOURS_MAX = 128
COLOURS = ("tab:blue", "tab:orange", "tab:green")


@dataclass(frozen=True)
class Column:
    """One pass; times in monotonic seconds."""

    title: str
    tracks: Sequence[Track]
    slow: tuple[float, float]


def draw(path: Path, columns: Sequence[Column], labels: Sequence[str], slow_label: str) -> None:
    """Draw the passes side by side, each over the seconds since its slow phase began.

    Args:
        labels: one for each track of a column.
        slow_label: what happens in the slow phase.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image  # Matplotlib needs it too

    figure, axes = plt.subplots(
        len(ROWS), len(columns), figsize=(10, 12), sharex=True, sharey="row", squeeze=False,
        height_ratios=HEIGHTS, constrained_layout=True,
    )  # fmt: skip
    for number, column in enumerate(columns):
        _draw_column(axes[:, number], column, slow_label)
    for row, name in enumerate(ROWS):
        axes[row, 0].set_ylabel(name, fontsize=11)
        if row in LOG:
            axes[row, 0].set_yscale("log")
            axes[row, 0].set_ylim(*LOG[row])
        else:
            axes[row, 0].set_ylim(bottom=0)
    axes[1, 0].set_ylim(0, 105)
    slow_s = max(end - begin for begin, end in (column.slow for column in columns))
    axes[0, 0].set_xlim(-BEFORE_S, slow_s + AFTER_S)
    lines = [plt.Line2D([], [], color=colour, linewidth=3) for colour in COLOURS]
    figure.legend(lines, labels, loc="outside upper center", ncols=3, fontsize=11, frameon=False)
    figure.supxlabel("seconds since the slow phase began", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as file:
        figure.savefig(file, dpi=100)
        Image.open(file).quantize(COLOURS_MAX).save(path, optimize=True)
    plt.close(figure)


def _draw_column(axes: Sequence[Any], column: Column, slow_label: str) -> None:
    begin, end = column.slow
    for axis in axes:
        axis.axvspan(0, end - begin, color="tab:red", alpha=0.10, linewidth=0)
        axis.grid(alpha=0.3)
    axes[0].set_title(column.title, fontsize=13, fontweight="bold", pad=22)
    axes[0].text(
        (end - begin) / 2, 1.02, slow_label, transform=axes[0].get_xaxis_transform(),
        ha="center", va="bottom", color="tab:red", fontsize=11,
    )  # fmt: skip
    for track, colour in zip(column.tracks, COLOURS, strict=True):
        _draw_track(axes, track, column.slow, colour)
    if not any(rate for track in column.tracks for rate in track.rate_bytes_per_s):
        axes[2].text(0.5, 0.5, "no limit", transform=axes[2].transAxes, ha="center", fontsize=11)


def _draw_track(axes: Sequence[Any], track: Track, slow: tuple[float, float], colour: str) -> None:
    def plot(row: int, times: Sequence[float], values: Sequence[float], **more: Any) -> None:
        """Plot what is in the drawn span, so that the scale fits it."""
        span = (slow[0] - BEFORE_S, slow[1] + AFTER_S)
        drawn = [index for index, at in enumerate(times) if span[0] <= at <= span[1]]
        axes[row].plot(
            [times[index] - slow[0] for index in drawn],
            [values[index] for index in drawn],
            color=colour, linewidth=1.2, **more,
        )  # fmt: skip

    dots = {"linestyle": "", "marker": ".", "markersize": 4, "markeredgewidth": 0}
    plot(0, track.taken_at_s, [1000 * delay for delay in track.delay_s], **dots)
    fill = [
        100 * used / window if window else 0.0
        for used, window in zip(track.fill_bytes, track.window_bytes, strict=True)
    ]
    plot(1, track.fill_at_s, fill)
    rates = [float("nan") if rate is None else rate / 1000 for rate in track.rate_bytes_per_s]
    plot(2, track.at_s, rates, drawstyle="steps-post")
    times, speeds = speed(track.at_s, track.sent_bytes)
    plot(3, times, [value / 1000 for value in speeds])
    plot(4, *speed(track.at_s, track.reports))
    plot(5, track.fill_at_s, track.demand)
