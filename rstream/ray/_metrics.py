"""The counters of endpoints as metrics of Ray, once a second.

One thread of the process reads the counters of all endpoints that were given to
:func:`export_metrics`, and ends when the last one is closed. A metric of Ray takes 2 to 6 µs to
record, so one is never recorded for a message. What an endpoint counts itself is exported, not the
driver's counters of the host: each of fifty actors there would read those of all others. Ray's
page adds ``ray_`` to each name, and tags with node and worker.
"""

# ray has no strict types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import dataclasses
import logging
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Final

from rstream._checks import short
from rstream._condition import Event
from rstream._facts import fullest
from rstream.driver import watch_loop
from rstream.errors import ConfigError, RStreamError
from rstream.ray._cluster import ID_SHOWN, class_name, running_ray, this_process
from rstream.ray._endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger("rstream")

EVERY_S: Final = 1.0
TAGS: Final = ("stream", "actor")
#: What only grows: name, help text.
COUNTERS: Final = {
    "messages": "Messages that were handed out",
    "bytes": "Bytes consumed, frame headers included, of writers that were there for a second",
    "gaps": "Gaps: messages were lost to this reader",
    "dropped": "Messages that a policy for slow consumers dropped",
    "refused": "Messages that could not be read",
}
GAUGES: Final = {
    "messages_per_second": "Messages handed out, over the last second",
    "bytes_per_second": "Bytes consumed, over the last second",
    "fill_ratio": "How full the fullest channel is, 0 to 1: its window, or its shared memory",
    "queue_delay_seconds": "How long what waits takes at the rate of the last second; "
    "while nothing is consumed, how long that has been so",
    "publishers": "Writers that are there",
}


@dataclasses.dataclass(slots=True)
class EndpointProgress:
    """What was read of one endpoint so far, to make rates of.

    Attributes:
        at_s: when.
        totals: the values of :data:`COUNTERS`.
        positions: of each image, by the driver's number: consumed up to there, and with the bytes
            of large messages in shared memory.
        moved_s: when something was consumed last, or nothing waited.
    """

    at_s: float
    totals: dict[str, float]
    positions: dict[int, int]
    moved_s: float


def first_look(end: Endpoint, now_s: float) -> EndpointProgress:
    """Where counting begins: everything from the endpoint's opening on counts."""
    return EndpointProgress(now_s, dict.fromkeys(COUNTERS, 0.0), {}, now_s)


def look(
    end: Endpoint, before: EndpointProgress, now_s: float
) -> tuple[EndpointProgress, dict[str, float]]:
    """The counters of an endpoint now, and the gauges since the look before.

    Any thread may look, also while another one reads.

    Raises:
        RStreamError: it is closed.
    """
    statistics = end.statistics()
    positions = dict(before.positions)
    read_bytes = 0
    found: set[int] = set()
    for subscription in end.reader.subscriptions:
        for image in subscription.images():
            number, joined = image[0], image[6]
            consumed = image[7] + image[11]  # large messages in shared memory with their bytes
            read_bytes += max(0, consumed - positions.get(number, joined))
            positions[number] = consumed
            found.add(number)
    totals = {name: float(statistics.get(name, 0)) for name in COUNTERS}
    totals["bytes"] = before.totals["bytes"] + read_bytes
    fill, _, ratio = fullest(end.reader.subscriptions)
    moved_s = now_s if read_bytes or not fill else before.moved_s
    took_s = max(now_s - before.at_s, 1e-9)
    bytes_per_s = read_bytes / took_s
    gauges = {
        "messages_per_second": (totals["messages"] - before.totals["messages"]) / took_s,
        "bytes_per_second": bytes_per_s,
        "fill_ratio": ratio,
        "queue_delay_seconds": fill / bytes_per_s if read_bytes else now_s - moved_s,
        "publishers": float(statistics["publishers"]),
    }
    left = {number: positions[number] for number in found}
    return EndpointProgress(now_s, totals, left, moved_s), gauges


class _Exporter:
    """The thread and its endpoints."""

    def __init__(self, metrics: Any) -> None:
        self.counters: dict[str, Any] = {
            name: metrics.Counter(f"rstream_endpoint_{name}", text, TAGS)
            for name, text in COUNTERS.items()
        }
        self.gauges: dict[str, Any] = {
            name: metrics.Gauge(f"rstream_endpoint_{name}", text, TAGS)
            for name, text in GAUGES.items()
        }
        self.rows: dict[weakref.ref[Endpoint], tuple[dict[str, str], EndpointProgress]] = {}
        self.stopped = Event()
        self.thread = threading.Thread(target=self._run, name="rstream-metrics", daemon=True)
        self.join = self.thread.join

    def stop(self) -> None:
        """End the thread after the look of now."""
        self.stopped.set()

    def _run(self) -> None:
        global _exporter
        while not self.stopped.wait(EVERY_S):
            self.export(time.monotonic())
            with _lock:
                if not self.rows:
                    if _exporter is self:
                        _exporter = None
                    return

    def begin(self, tags: Mapping[str, str]) -> None:
        """Show counters that count nothing for long: an alert cannot see what is not there."""
        for counter in self.counters.values():
            counter._record(0, dict(tags))  # inc() refuses 0

    def export(self, now_s: float) -> None:
        """Record all endpoints once, and forget those that are closed."""
        for ref, (tags, before) in list(self.rows.items()):
            end = ref()
            if end is None or end.is_closed:
                with _lock:
                    del self.rows[ref]
                if end is not None:
                    self._record_end(tags)
                continue
            try:
                now, gauges = look(end, before, now_s)
            except RStreamError:
                continue  # closed a moment ago
            self.rows[ref] = (tags, now)
            for name, counter in self.counters.items():
                grown = now.totals[name] - before.totals[name]
                if grown > 0:
                    counter.inc(grown, tags)
            for name, value in gauges.items():
                self.gauges[name].set(value, tags)

    def _record_end(self, tags: Mapping[str, str]) -> None:
        for gauge in self.gauges.values():  # else Ray would show the last value for ever
            gauge.set(0.0, tags)


_lock = threading.Lock()
_exporter: _Exporter | None = None


def export_metrics(end: Endpoint, *, actor: str | None = None) -> None:
    """Export the counters of an endpoint through ``ray.util.metrics``, until it is closed.

    Ray's metrics page then has, once a second, ``ray_rstream_endpoint_`` with ``messages_total``,
    ``bytes_total``, ``gaps_total``, ``dropped_total``, ``refused_total``, ``messages_per_second``,
    ``bytes_per_second``, ``fill_ratio`` (0 to 1), ``queue_delay_seconds`` and ``publishers``, with
    the tags ``stream`` and ``actor``. Ray serves them where ``ray[default]`` is installed.

    Any thread may call it. One thread of the process does it for all endpoints, at less than 0.1 ms
    a second for each. Counts of the last second before a close are not exported.

    Args:
        end: the endpoint; a second call does nothing.
        actor: the tag ``actor``; None: class and id of the actor, or ``"program"`` or ``"task"``.
    Raises:
        ConfigError: Ray does not run here, or ``end`` is no endpoint.

    Example::

        self.end = rstream.ray.reader("ticks")
        rstream.ray.export_metrics(self.end)
    """
    global _exporter
    if not isinstance(end, Endpoint):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(
            f"{short(end)} is no endpoint",
            hint="export what rstream.ray.reader() returned, in the process that opened it; of a "
            "handle's writers `rstream metrics` has the counters",
        )
    if running_ray() is None:
        raise ConfigError(
            f"stream {end.handle.name!r}: Ray's metrics are exported where Ray runs, and it does "
            "not here",
            hint="use rstream.prometheus.Collector, or `rstream metrics`",
        )
    tags = {"stream": end.handle.name, "actor": _title() if actor is None else actor}
    with _lock:
        if _exporter is None or not _exporter.thread.is_alive():  # stopped, or this is a fork
            from ray.util import metrics

            _exporter = _Exporter(metrics)
            watch_loop(_exporter)
            _exporter.thread.start()
        if weakref.ref(end) not in _exporter.rows:
            _exporter.begin(tags)
            _exporter.rows[weakref.ref(end)] = tags, first_look(end, time.monotonic())


def _title() -> str:
    holder = this_process()
    if holder is None or not holder.actor_id:
        return "program" if holder is not None and not holder.worker_id else "task"
    return f"{class_name(holder.actor_id)}({holder.actor_id[:ID_SHOWN]})"
