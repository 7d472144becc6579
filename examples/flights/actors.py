"""The Ray actors: each reads the flights of its carriers, adds them up, and sends sums back."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

import reactivex as rx
from reactivex import operators as ops

import rstream
import rstream.ray
from rstream import rx as rrx
from rstream.ledger import Repeats, marks_of

#: Flights in a window of the pipeline.
WINDOW_ROWS = 500
#: How often an actor reports rows, fill, demand and delays.
REPORT_S = 0.1

Row = tuple[str, int, int | None, int, int | None, int]
COLUMNS = ("carrier", "month", "dep_delay", "distance", "temp_centi", "has_weather")


def add_flight(sums: dict[str, list[int]], row: Row) -> dict[str, list[int]]:
    """Fold one flight into the sums of its carrier and month (tables.AGGREGATES, in that order)."""
    carrier, month, delay, distance, temp_centi, has_weather = row
    total = sums.setdefault(f"{carrier}/{month}", [0, 0, 0, 0, 0, 0])
    total[0] += 1
    total[1] += delay is not None and delay > 0
    total[2] += delay or 0
    total[3] += distance
    total[4] += not has_weather
    total[5] += temp_centi or 0
    return sums


class FlightActor:
    """The pipeline of one partition. rstream carries all rows; the methods only control it.

    ``$RSTREAM_DIR`` and ``$RSTREAM_HOST_TOKEN`` of its worker say on which host it is.
    """

    def __init__(
        self,
        index: int,
        term_length: int,
        cost_per_row_s: float,
        window: str | None,
        results: rstream.ray.StreamHandle,
    ) -> None:
        self.index = index
        self.cost_per_row_s = cost_per_row_s
        self.slowness = 1.0
        self.rows = self.messages = self.repeated = 0
        self.repeats = Repeats()
        self.delays: deque[tuple[float, float]] = deque()  # not reported yet: taken at, delay
        self.done = threading.Event()
        self.error = ""
        self.endpoint = rstream.ray.committed_reader(
            f"flights-{index}",
            host="127.0.0.1",
            term_length=term_length,
            rcv_wnd=window,
        )
        self.results = results.publisher()
        self.lock = threading.Lock()  # the pipeline and the reporter share the publisher

    def handle(self) -> rstream.ray.StreamHandle:
        """The address of this actor's reading end."""
        return self.endpoint.handle

    def start(self) -> None:
        """Run the pipeline and the reporter in the background."""
        rrx.from_endpoint(self.endpoint).pipe(
            ops.filter(self._is_new),
            ops.do_action(self._spend),
            ops.flat_map(lambda batch: rx.from_iterable(self._rows_of(batch))),
            ops.window_with_count(WINDOW_ROWS),
            ops.flat_map(lambda window: window.pipe(ops.reduce(add_flight, {}))),
            ops.filter(bool),
        ).subscribe(on_next=self._send_sums, on_error=self._failed, on_completed=self.done.set)
        threading.Thread(target=self._report, name="report", daemon=True).start()

    def set_slowness(self, factor: float) -> None:
        """Make each row cost ``factor`` times as much."""
        self.slowness = factor

    def finish(self) -> dict[str, Any]:
        """Read the rest, complete the pipeline and the result stream, and return the counts."""
        self.endpoint.finish(timeout_s=60)
        if not self.done.wait(30):
            self.error = self.error or "the pipeline did not complete"
        epochs = self.endpoint.statistics()["repeated_epochs"]
        self.endpoint.close()
        with self.lock:
            self.results.close(linger_s=30)
        return {
            "rows": self.rows,
            "messages": self.messages,
            "repeated": self.repeated,
            "repeated_epochs": epochs,
            "error": self.error,
        }

    def _is_new(self, batch: Any) -> bool:
        """False for rows that a retried task or a replayed micro-batch sent again.

        That happens with eager delivery alone.
        """
        marks = marks_of(batch)
        assert marks is not None
        if not self.repeats.is_new(batch):
            self.repeated += 1
            return False
        self.delays.append((time.monotonic(), time.time() - marks.sent_s))
        return True

    def _spend(self, batch: Any) -> None:
        """Wait a fixed time per row: the cost of a row is then the same on any machine."""
        time.sleep(batch.num_rows * self.cost_per_row_s * self.slowness)
        self.rows += batch.num_rows
        self.messages += 1

    def _rows_of(self, batch: Any) -> list[Row]:
        return list(zip(*(batch.column(name).to_pylist() for name in COLUMNS), strict=True))

    def _send_sums(self, sums: dict[str, list[int]]) -> None:
        with self.lock:
            self.results.send({"kind": "sums", "actor": self.index, "sums": sums})

    def _failed(self, error: Exception) -> None:
        self.error = f"{type(error).__name__}: {error}"
        self.done.set()

    def _report(self) -> None:
        while not self.done.wait(REPORT_S):
            fill, window = self.endpoint.fill
            report = {
                "kind": "report", "actor": self.index, "at_s": time.monotonic(), "rows": self.rows,
                "fill_bytes": fill, "window_bytes": window, "demand": self.endpoint.demand,
                "delays": [self.delays.popleft() for _ in range(len(self.delays))],
            }  # fmt: skip
            with self.lock:
                if not self.done.is_set():
                    self.results.send(report)
