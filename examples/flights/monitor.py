"""Watches the run: results of the actors, their reports, and the driver's counters."""

from __future__ import annotations

import contextlib
import threading
import time
from datetime import datetime
from typing import Any

from examples.flights.picture import Track
from rstream.metrics import publications


def say(text: str) -> None:
    """Print a line of the demo."""
    print(f"demo: {text}", flush=True)


class Monitor:
    """Collects the actors' partial sums and reports, and the driver's counters."""

    def __init__(self, driver_dir: str, stream_ids: list[int]) -> None:
        self.driver_dir = driver_dir
        self.stream_ids = stream_ids
        self.sums: dict[tuple[str, int], list[int]] = {}
        self.tracks = [Track() for _ in stream_ids]
        self.started_s = 0.0  # monotonic time of the first delivered row; 0: none yet
        self.finished = threading.Event()
        self.error: BaseException | None = None

    def read_results(self, subscriber: Any) -> None:
        """Read until all actors have completed their streams; runs in a thread of its own."""
        try:
            for message in subscriber:
                if message["kind"] == "sums":
                    for key, values in message["sums"].items():
                        carrier, month = key.split("/")
                        total = self.sums.setdefault((carrier, int(month)), [0] * len(values))
                        for index, value in enumerate(values):
                            total[index] += value
                else:
                    self._add_report(message)
        except BaseException as error:
            self.error = error
        finally:
            self.finished.set()

    def _add_report(self, report: dict[str, Any]) -> None:
        if self.started_s == 0.0 and report["rows"]:
            self.started_s = report["at_s"]
        track = self.tracks[report["actor"]]
        track.fill_at_s.append(report["at_s"])
        track.rows.append(report["rows"])
        track.fill_bytes.append(report["fill_bytes"])
        track.window_bytes.append(report["window_bytes"])
        track.demand.append(report["demand"])

    def sample_counters(self) -> None:
        """Sample positions and limits every 100 ms; runs in a thread of its own."""
        while not self.finished.wait(0.1):
            with contextlib.suppress(Exception):
                now_s = time.monotonic()
                found = publications(self.driver_dir)
                for stream_id, track in zip(self.stream_ids, self.tracks, strict=True):
                    mine = [
                        entry for entry in found if entry.stream_id == stream_id and entry.is_ipc
                    ]
                    if mine:
                        track.at_s.append(now_s)
                        track.sent_bytes.append(sum(entry.position for entry in mine))
                        track.room_bytes.append(
                            max(0, min(entry.limit - entry.position for entry in mine))
                        )

    def rows_at(self, at_s: float) -> float:
        """Rows delivered to all actors until then, interpolated between reports."""
        return sum(_interpolate(track.fill_at_s, track.rows, at_s) for track in self.tracks)


def _interpolate(times: list[float], values: list[int], at: float) -> float:
    if not times or at <= times[0]:
        return 0.0
    for index in range(1, len(times)):
        if times[index] >= at:
            share = (at - times[index - 1]) / (times[index] - times[index - 1])
            return values[index - 1] + share * (values[index] - values[index - 1])
    return float(values[-1])


def spark_rows_at(progress: list[dict[str, Any]], at_epoch_s: float) -> float:
    """Rows that Spark processed until then, by its progress reports; interpolated in a batch."""
    rows = 0.0
    for report in progress:
        start = datetime.fromisoformat(report["timestamp"].replace("Z", "+00:00")).timestamp()
        seconds = report["durationMs"]["triggerExecution"] / 1000
        share = min(1.0, max(0.0, (at_epoch_s - start) / seconds)) if seconds else 1.0
        rows += share * report["numInputRows"]
    return rows
