"""Watches a pass: results of the actors, their reports, and the driver's counters."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from examples.flights.tracks import Track
from rstream.metrics import PublicationState, publications

SAMPLE_S = 0.1


def say(text: str) -> None:
    """Print a line of the demo."""
    print(f"demo: {text}", flush=True)


class Monitor:
    """Collects the actors' partial sums and reports, and the counters of Spark's driver.

    Spark's driver has the counters of all three streams: their publications are Spark's. It
    also knows the reports of the far reader's buffer, which cross the network to it.
    """

    def __init__(self, driver_dir: str, stream_ids: Sequence[int]) -> None:
        self.driver_dir = driver_dir
        self.stream_ids = stream_ids
        self.sums: dict[tuple[str, int], list[int]] = {}
        self.tracks = [Track() for _ in stream_ids]
        self.started_s = 0.0  # monotonic time of the first delivered row; 0: none yet
        self._stop = threading.Event()
        self._positions: dict[int, int] = {}  # last one, by registration id
        self._sampler = threading.Thread(target=self._sample_until_stopped, daemon=True)
        self._sampler.start()

    def stop(self) -> None:
        """End the sampling."""
        self._stop.set()
        self._sampler.join()

    def on_message(self, message: dict[str, Any]) -> None:
        """Take a partial sum or a report of an actor."""
        if message["kind"] == "sums":
            for key, values in message["sums"].items():
                carrier, month = key.split("/")
                total = self.sums.setdefault((carrier, int(month)), [0] * len(values))
                for index, value in enumerate(values):
                    total[index] += value
        else:
            self._add_report(message)

    def _add_report(self, report: dict[str, Any]) -> None:
        if self.started_s == 0.0 and report["rows"]:
            self.started_s = report["at_s"]
        track = self.tracks[report["actor"]]
        track.fill_at_s.append(report["at_s"])
        track.rows.append(report["rows"])
        track.fill_bytes.append(report["fill_bytes"])
        track.window_bytes.append(report["window_bytes"])
        track.demand.append(report["demand"])
        for taken_at_s, delay_s in report["delays"]:
            track.taken_at_s.append(taken_at_s)
            track.delay_s.append(delay_s)

    def _sample_until_stopped(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            with contextlib.suppress(Exception):  # a publication came or went meanwhile
                self._sample(time.monotonic(), publications(self.driver_dir))

    def _sample(self, now_s: float, found: Sequence[PublicationState]) -> None:
        for stream_id, track in zip(self.stream_ids, self.tracks, strict=True):
            mine = [entry for entry in found if entry.stream_id == stream_id]
            if not mine:
                continue
            # Each of Spark's workers has a publication of its own; one task runs at a time.
            active = max(mine, key=self._moved)
            track.medium = "shared memory" if active.is_ipc else "UDP"
            track.at_s.append(now_s)
            track.sent_bytes.append(sum(entry.position for entry in mine))
            track.rate_bytes_per_s.append(active.rate.bytes_per_s if active.rate else None)
            track.reports.append(sum(entry.rate.fill_naks for entry in mine if entry.rate))
            for entry in mine:
                self._positions[entry.registration_id] = entry.position

    def _moved(self, entry: PublicationState) -> int:
        return entry.position - self._positions.get(entry.registration_id, 0)

    def rows_at(self, at_s: float) -> float:
        """Rows delivered to all actors until then."""
        return sum(track.rows_at(at_s) for track in self.tracks)


def spark_rows_at(progress: list[dict[str, Any]], at_epoch_s: float) -> float:
    """Rows that Spark processed until then, by its progress reports; interpolated in a batch."""
    rows = 0.0
    for report in progress:
        start = datetime.fromisoformat(report["timestamp"].replace("Z", "+00:00")).timestamp()
        seconds = report["durationMs"]["triggerExecution"] / 1000
        share = min(1.0, max(0.0, (at_epoch_s - start) / seconds)) if seconds else 1.0
        rows += share * report["numInputRows"]
    return rows
