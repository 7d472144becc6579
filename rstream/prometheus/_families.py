"""What is exported: the families of metrics, and their samples from one look at a directory.

Nothing here needs ``prometheus-client``. Names follow Prometheus: base units (bytes, seconds,
ratios), ``_total`` for what only grows. A value that is not known has no sample.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from rstream import _core, metrics
from rstream._held_by import HeldBy
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rstream._facts import SlowestReader

__all__ = ("DirectoryLook", "MetricFamily", "families", "look_at")

#: Answers of ``_core.probe`` from which on a driver lives.
_ALIVE: Final = 2
_STREAM: Final = ("stream", "name", "session", "channel")
_READER: Final = (*_STREAM, "subscription")


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A family of metrics: one name, and a sample for each set of label values.

    Attributes:
        name: without ``_total``, which the exposition adds to counters.
        kind: what its values do.
        text: the help text.
        labels: the names of the labels.
        samples: (label values, value).
    """

    name: str
    kind: Literal["counter", "gauge", "unknown"]
    text: str
    labels: tuple[str, ...] = ()
    samples: list[tuple[tuple[str, ...], float]] = field(
        default_factory=list[tuple[tuple[str, ...], float]]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryLook:
    """A driver directory as it was read at one moment.

    Attributes:
        dir: the directory.
        is_alive: a driver lives there.
        left_out: publications and readers that exceeded the limit, and have no samples.
    """

    dir: str
    is_alive: bool
    heartbeat_age_ms: int = 0
    publications: Sequence[metrics.PublicationState] = ()
    images: Sequence[metrics.ImageState] = ()
    waiting: int = 0
    losses: Sequence[metrics.Loss] = ()
    errors: int = 0
    refused: int = 0
    system: Sequence[metrics.Counter] = ()
    left_out: int = 0


def look_at(driver_dir: str, streams_max: int) -> DirectoryLook:
    """Read a directory. One without a readable driver gives an empty look, not an error."""
    try:
        if _core.probe(driver_dir) < _ALIVE:
            return DirectoryLook(dir=driver_dir, is_alive=False)
        publications = sorted(
            metrics.publications(driver_dir), key=lambda state: state.registration_id
        )
        images = sorted(
            metrics.images(driver_dir), key=lambda state: (state.registration_id, state.session_id)
        )
        losses = sorted(metrics.losses(driver_dir), key=lambda loss: loss.first_ms)
        counters = metrics.counters(driver_dir)
        waiting = [state for state in metrics.subscriptions(driver_dir) if state.images == 0]
        return DirectoryLook(
            dir=driver_dir,
            is_alive=True,
            heartbeat_age_ms=_core.driver_info(driver_dir).heartbeat_age_ms,
            publications=publications[:streams_max],
            images=images[:streams_max],
            waiting=len(waiting),
            losses=losses[-streams_max:],
            errors=sum(one.observations for one in _core.read_errors(driver_dir)),
            refused=sum(one.type_id == metrics.TYPE_KEY_REFUSED for one in counters),
            system=[one for one in counters if one.type_id == metrics.TYPE_SYSTEM],
            left_out=sum(
                max(0, len(found) - streams_max) for found in (publications, images, losses)
            ),
        )
    except RStreamError:  # it ended while it was read
        return DirectoryLook(dir=driver_dir, is_alive=False)


def families(look: DirectoryLook) -> list[MetricFamily]:
    """All families, in a stable order. Those of a dead driver are there, too, without samples."""
    return [*_driver(look), *_publications(look), *_readers(look), *_losses(look)]


def _labels(
    state: metrics.PublicationState | metrics.ImageState | metrics.Loss,
) -> tuple[str, str, str, str]:
    name = "" if isinstance(state, metrics.Loss) else state.name or ""
    return (str(state.stream_id), name, str(state.session_id), state.channel)


def _driver(look: DirectoryLook) -> list[MetricFamily]:
    found = [
        _one("rstream_driver_up", "1: a media driver lives in the directory", int(look.is_alive)),
        MetricFamily(
            "rstream_driver_counter",
            "unknown",
            "Each of the driver's own counters, as `rstream stat` prints them",
            ("counter",),
            # Two counters may have one label; Prometheus takes no sample twice.
            sorted({(c.label,): float(c.value) for c in look.system}.items()),
        ),
    ]
    if look.is_alive:
        usage = os.statvfs(look.dir) if os.path.isdir(look.dir) else None
        found += [
            _one(
                "rstream_driver_heartbeat_age_seconds",
                "Time since the driver's last heartbeat",
                look.heartbeat_age_ms / 1000,
            ),
            _one("rstream_driver_errors", "Errors that the driver logged", look.errors, "counter"),
            _one(
                "rstream_subscriptions_waiting",
                "Subscriptions for which no publisher is there",
                look.waiting,
            ),
            _one(
                "rstream_peers_refused",
                "Peers whose key or address was refused within the last five seconds",
                look.refused,
            ),
            _one(
                "rstream_left_out",
                "Publications, readers and losses beyond the exporter's limit (streams_max)",
                look.left_out,
            ),
        ]
        if usage is not None:
            found += [
                _one(
                    "rstream_directory_free_bytes",
                    "Usable bytes of the file system that the driver directory is in",
                    usage.f_bavail * usage.f_frsize,
                ),
                _one(
                    "rstream_directory_size_bytes",
                    "Size of that file system",
                    usage.f_blocks * usage.f_frsize,
                ),
            ]
    return found


def _one(
    name: str, text: str, value: float, kind: Literal["counter", "gauge"] = "gauge"
) -> MetricFamily:
    return MetricFamily(name, kind, text, (), [((), float(value))])


def _publications(look: DirectoryLook) -> list[MetricFamily]:
    def of(
        name: str,
        kind: Literal["counter", "gauge"],
        text: str,
        values: Iterable[float | None],
    ) -> MetricFamily:
        samples = [
            (_labels(state), float(value))
            for state, value in zip(look.publications, values, strict=True)
            if value is not None
        ]
        return MetricFamily(f"rstream_publication_{name}", kind, text, _STREAM, samples)

    states = look.publications
    rates = [state.rate for state in states]
    paths = [state.path for state in states]
    return [
        of(
            "offered_bytes",
            "counter",
            "Bytes offered",
            [s.offered_bytes for s in states],
        ),
        of(
            "sent_bytes", "counter", "Bytes that left the publisher", [s.sent_bytes for s in states]
        ),
        of(
            "consumed_bytes",
            "counter",
            "Bytes that the slowest reader has consumed",
            [s.consumed_bytes for s in states],
        ),
        of(
            "queued_bytes",
            "gauge",
            "Bytes sent that the slowest reader has not consumed",
            [s.queued_bytes for s in states],
        ),
        of("fill_ratio", "gauge", "How full the slowest reader's buffer is", _fills(states)),
        of(
            "room_bytes",
            "gauge",
            "Bytes that may be offered now",
            [max(0, s.limit - s.position) for s in states],
        ),
        of(
            "demand_messages",
            "gauge",
            "Messages that the readers have requested and not consumed",
            [s.demand for s in states],
        ),
        of(
            "rate_limit_bytes_per_second",
            "gauge",
            "The current rate limit",
            [rate and rate.limit_bytes_per_s for rate in rates],
        ),
        of(
            "fill_naks",
            "counter",
            "Reports of a filling buffer that the sender accepted",
            [rate and rate.fill_naks for rate in rates],
        ),
        of(
            "headroom_ratio",
            "gauge",
            "Size of the receivers' buffer beside all that still arrives after a stop",
            [rate and rate.headroom for rate in rates],
        ),
        of(
            "path_bandwidth_bytes_per_second",
            "gauge",
            "How fast data arrived lately, of a publication that follows the path",
            [path and path.bandwidth_bytes_per_s for path in paths],
        ),
        of(
            "path_least_rtt_seconds",
            "gauge",
            "The least round trip of the last 10 to 20 s",
            [path.least_rtt_ns / 1e9 if path and path.least_rtt_ns else None for path in paths],
        ),
        of(
            "path_loss_ratio",
            "gauge",
            "Share of about the last 1000 datagrams that was lost",
            [path and path.loss_ratio for path in paths],
        ),
        of(
            "path_under_way_bytes",
            "gauge",
            "Bytes sent, and neither arrived nor known to be lost",
            [path and path.under_way_bytes for path in paths],
        ),
        of(
            "local_subscribers",
            "gauge",
            "Subscribers in shared memory",
            [s.subscribers if s.is_ipc else None for s in states],
        ),
        of(
            "oldest_job_timestamp_seconds",
            "gauge",
            "Since when its reader of shared work has had its oldest job",
            [s.job_held_ms / 1000 if s.job_held_ms else None for s in states],
        ),
        _held(states),
        _holders(states),
    ]


def _fills(states: Sequence[metrics.PublicationState]) -> list[float | None]:
    return [None if state.slowest is None else state.fill for state in states]


def _held(states: Sequence[metrics.PublicationState]) -> MetricFamily:
    samples = [
        ((*_labels(state), str(cause)), float(held_by is cause))
        for state in states
        for held_by in (state.waits_for,)
        for cause in HeldBy
    ]
    text = "1: the publication waits for this"
    return MetricFamily("rstream_publication_held", "gauge", text, (*_STREAM, "by"), samples)


def _holders(states: Sequence[metrics.PublicationState]) -> MetricFamily:
    samples = [
        ((*_labels(state), str(state.waits_for), *_process(reader)), 1.0)
        for state in states
        if (reader := state.holder) is not None
    ]
    return MetricFamily(
        "rstream_publication_holder",
        "gauge",
        "1: the publication waits for this reader",
        (*_STREAM, "by", "reader", "pid", "host", "source"),
        samples,
    )


def _process(reader: SlowestReader) -> tuple[str, str, str, str]:
    pid = "" if reader.pid is None else str(reader.pid)
    program = reader.client_name.removesuffix(f"[{pid}]")
    return (program, pid, reader.host, reader.source)


def _readers(look: DirectoryLook) -> list[MetricFamily]:
    local = {state.session_id: state for state in look.publications if state.is_ipc}
    consumed: list[tuple[tuple[str, ...], float]] = []
    queued: list[tuple[tuple[str, ...], float]] = []
    gaps: list[tuple[tuple[str, ...], float]] = []
    for state in look.images:
        labels = (*_labels(state), str(state.registration_id))
        consumed_bytes, received_bytes = state.consumed, state.received
        if received_bytes is None and (publication := local.get(state.session_id)) is not None:
            consumed_bytes = publication.bytes_below(consumed_bytes)
            received_bytes = publication.sent_bytes
        consumed.append((labels, float(consumed_bytes)))
        if received_bytes is not None:
            queued.append((labels, float(max(0, received_bytes - consumed_bytes))))
        if state.received is not None and state.highest is not None:
            gaps.append((labels, float(max(0, state.highest - state.received))))
    return [
        MetricFamily(
            "rstream_reader_consumed_bytes", "counter", "Bytes consumed", _READER, consumed
        ),
        MetricFamily(
            "rstream_reader_queued_bytes",
            "gauge",
            "Bytes that have arrived and are not consumed",
            _READER,
            queued,
        ),
        MetricFamily(
            "rstream_reader_behind_gap_bytes",
            "gauge",
            "Bytes from the first gap to the highest position that was received",
            _READER,
            gaps,
        ),
    ]


def _losses(look: DirectoryLook) -> list[MetricFamily]:
    labels = ("stream", "session", "channel", "source")
    gaps: dict[tuple[str, ...], float] = {}
    lost: dict[tuple[str, ...], float] = {}
    for loss in look.losses:
        key = (str(loss.stream_id), str(loss.session_id), loss.channel, loss.source)
        gaps[key] = gaps.get(key, 0) + loss.observations
        lost[key] = lost.get(key, 0) + loss.bytes_lost
    return [
        MetricFamily("rstream_loss_gaps", "counter", "Gaps seen", labels, list(gaps.items())),
        MetricFamily(
            "rstream_lost_bytes",
            "counter",
            "Bytes lost on the way; they are sent again, and each counts once",
            labels,
            list(lost.items()),
        ),
    ]
