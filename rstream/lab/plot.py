"""Plots of runs over time. The result is a PNG file, or one HTML file that contains the picture.

* ``draw``: runs side by side: rate and limit, delivered rate, fill, fill NAKs.
* ``draw_families``: a run of each family: capacity and rate, and the queue beside them.
"""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING, Any, Final

from rstream._extras import how_to_install
from rstream.errors import ConfigError
from rstream.lab.comparison import TARGETS_S
from rstream.lab.trace import NOMINAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rstream.lab.engine import Run
    from rstream.lab.experiments import Sketch

__all__ = ("COLUMNS_MAX", "draw", "draw_families")

COLUMNS_MAX: Final = 6  # runs side by side; the HTML file names the runs left out
BIN_S: Final = 0.02
RATE_MOST_MB_S: Final = 400.0
_TITLES: Final = (
    "sent and limit, MB/s",
    "delivered to the slowest, MB/s",
    "longest queue, % of its buffer",
    "fill NAKs per second",
)


def _rates(run: Run, column: str, sender: int, scale: float) -> tuple[list[float], list[float]]:
    """Times, and growth per second of a column that counts, in bins."""
    return _growth(run, run.sender(column, sender), scale)


def _growth(run: Run, values: list[float], scale: float) -> tuple[list[float], list[float]]:
    width = max(1, round(BIN_S / run.scenario.sample_s))
    firsts = range(0, len(values) - width, width)
    return [run.times[i] for i in firsts], [
        (values[i + width] - values[i]) / (run.times[i + width] - run.times[i]) / scale
        for i in firsts
    ]


def _thin(run: Run, values: list[float], scale: float) -> tuple[list[float], list[float]]:
    width = max(1, round(BIN_S / run.scenario.sample_s))
    return run.times[::width], [value / scale for value in values[::width]]


def _draw_run(axes: Any, run: Run) -> None:
    last = len(run.scenario.senders) - 1
    for number in range(last + 1):
        label = f"sender {number}" if last else "sent"
        axes[0].plot(*_rates(run, "sent", number, 1e6), label=label, linewidth=0.9)
        limit = run.sender("limit", number)
        if min(limit) < 1e11:  # a higher value means: no limit
            axes[0].plot(
                *_thin(run, limit, 1e6),
                linestyle="--",
                linewidth=0.8,
                color="black",
                alpha=0.5,
                label="limit" if number == 0 else None,
            )
        axes[2].plot(*_thin(run, run.sender("fill_most", number), 0.01), linewidth=0.9)
        axes[3].plot(*_rates(run, "reports", number, 1.0), linewidth=0.9)
    axes[1].plot(*_rates(run, "delivered_least", last, 1e6), linewidth=0.9)


def _top_mb_s(sketches: Sequence[Sketch]) -> float:
    """The top of the rate axis that all columns share, in MB/s.

    It lies above the highest rate of all runs, but a peak at a start does not raise it further.
    """
    rates = (
        _rates(sketch.run, "sent", number, 1e6)[1]
        for sketch in sketches
        for number in range(len(sketch.run.scenario.senders))
    )
    return min(
        1.3 * max((max(values, default=1.0) for values in rates), default=1.0), RATE_MOST_MB_S
    )


def _pyplot() -> Any:
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ConfigError(f"--plot needs matplotlib: {how_to_install('cli')}") from error
    return plt


def _png(plots: Any, figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=90)
    plots.close(figure)
    return out.getvalue()


def _figure(sketches: Sequence[Sketch]) -> bytes:
    shown = sketches[:COLUMNS_MAX]
    plots = _pyplot()
    figure, axes = plots.subplots(
        4,
        len(shown),
        figsize=(4.5 * len(shown) + 1, 11),
        sharex="col",
        sharey="row",
        squeeze=False,
        constrained_layout=True,
    )
    for column, sketch in enumerate(shown):
        _draw_run([axes[row][column] for row in range(4)], sketch.run)
        axes[0][column].set_title(f"{sketch.title}, seed {sketch.run.seed}", fontsize=10)
        axes[3][column].set_xlabel("seconds")
    axes[0][0].set_ylim(0, _top_mb_s(shown))
    for row, title in enumerate(_TITLES):
        axes[row][0].set_ylabel(title, fontsize=9)
        for axis in axes[row]:
            axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8)
    return _png(plots, figure)


def draw(path: Path, title: str, sketches: Sequence[Sketch], text: str) -> None:
    """Write runs side by side to a PNG or HTML file, by the suffix of ``path``.

    Raises:
        ConfigError: another suffix, nothing to draw, or matplotlib is missing.
    """
    if not sketches:
        raise ConfigError(f"--plot {path}: this experiment keeps no run to draw")
    left_out = [sketch.title for sketch in sketches[COLUMNS_MAX:]]
    note = f"<p>Not drawn: {html.escape(', '.join(left_out))}</p>" if left_out else ""
    _write(path, title, _figure(sketches), f"{note}<pre>{html.escape(text)}</pre>")


def _write(path: Path, title: str, image: bytes, body: str) -> None:
    if path.suffix not in (".png", ".html"):
        raise ConfigError(f"--plot {path}: the name must end in .png or .html")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        path.write_bytes(image)
        return
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<body style="font-family:sans-serif"><h1>{html.escape(title)}</h1>'
        '<img style="max-width:100%" alt="rates and queues over time" '
        f'src="data:image/png;base64,{base64.b64encode(image).decode()}">'
        f"{body}</body>\n"
    )


def draw_families(path: Path, title: str, runs: Mapping[str, Run], body: str) -> None:
    """Write a run of each family to a PNG file, or to an HTML file above ``body``, by the suffix.

    Raises:
        ConfigError: another suffix, or matplotlib is missing.
    """
    plots = _pyplot()
    figure, axes = plots.subplots(
        len(runs),
        2,
        figsize=(11, 2.2 * len(runs) + 0.6),
        squeeze=False,
        constrained_layout=True,
    )
    for (left, right), (family, run) in zip(axes, runs.items(), strict=True):
        _draw_family(left, right, run)
        sender = run.scenario.senders[0]
        count, buffer_bytes = len(run.scenario.images), run.scenario.images[0].buffer_bytes
        left.set_title(
            f"{family}, seed {run.seed}: {count} receiver{'s' * (count > 1)}, "
            f"round trip {sender.rtt_s * 1e3:.1f} ms",
            fontsize=9,
            loc="left",
        )
        right.set_title(f"buffer {buffer_bytes / NOMINAL * 1e3:.0f} ms", fontsize=9, loc="left")
    for axis in axes[-1]:
        axis.set_xlabel("seconds")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    figure.legend(*axes[0][1].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    _write(path, title, _png(plots, figure), body)


def _draw_family(left: Any, right: Any, run: Run) -> None:
    capacities = [
        _growth(run, run.image("capacity", image), 1e6) for image in range(run.scenario.traced)
    ]
    least = [min(values) for values in zip(*(rates for _, rates in capacities), strict=True)]
    left.plot(capacities[0][0], least, color="silver", label="least capacity of a receiver")
    left.plot(*_rates(run, "sent", 0, 1e6), linewidth=0.9, label="sent")
    left.set_ylabel("MB/s", fontsize=9)
    left.set_ylim(0, 1.5 * max(least))
    queues = _thin(run, run.sender("queue_most"), NOMINAL / 1e3)
    right.plot(*queues, linewidth=0.9, color="tab:red", label="fullest queue")
    right.axhline(TARGETS_S[0] * 1e3, linestyle="--", color="black", linewidth=0.8, label="target")
    right.set_ylabel("ms", fontsize=9)
    right.set_ylim(bottom=0)
    for axis in (left, right):
        axis.grid(alpha=0.3)
