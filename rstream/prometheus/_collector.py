"""The families of :mod:`rstream.prometheus._families` as objects of ``prometheus-client``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    UnknownMetricFamily,
)

from rstream._checks import is_whole
from rstream.driver import resolve_dir
from rstream.errors import ConfigError
from rstream.prometheus._families import DirectoryLook, MetricFamily, families, look_at

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ("Collector",)

_KINDS = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "unknown": UnknownMetricFamily,
}
STREAMS_MAX_LIMIT = 100_000


class Collector:
    """Reads a driver directory at each scrape; register it in a registry of ``prometheus-client``.

    Without a living driver ``rstream_driver_up`` is 0, and there are no other samples. A driver
    that starts later is found at the next scrape.

    Args:
        dir: driver directory; None: ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
        streams_max: most publications, most readers and most losses with samples of their own, 1
            to 100000; of publications and readers the oldest, of losses the latest. How many were
            left out is in ``rstream_left_out``. Each publication has 20 samples, each reader 3.
    Raises:
        ConfigError: ``streams_max`` cannot be used.

    A registry takes one collector and refuses a second one with ``ValueError``: of another
    directory, too, because the samples do not name the directory. Each directory needs a registry
    of its own.

    Any thread may scrape. Cost: about 1 ms, and 0.3 ms for each publication.

    Example::

        registry = prometheus_client.CollectorRegistry()
        registry.register(rstream.prometheus.Collector(streams_max=100))
        print(prometheus_client.generate_latest(registry).decode())
    """

    def __init__(
        self, dir: str | os.PathLike[str] | None = None, *, streams_max: int = 256
    ) -> None:
        if not is_whole(streams_max) or not 1 <= streams_max <= STREAMS_MAX_LIMIT:
            raise ConfigError(
                f"streams_max={streams_max!r}: must be a whole number from 1 to {STREAMS_MAX_LIMIT}"
            )
        self._dir = resolve_dir(dir)
        self._streams_max = streams_max

    @property
    def dir(self) -> str:
        """The driver directory."""
        return self._dir

    def describe(self) -> Iterator[Metric]:
        """The names, without samples, so that a registry refuses the same names a second time."""
        return map(_metric, families(DirectoryLook(dir=self._dir, is_alive=False)))

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now; called by the registry at each scrape."""
        return map(_metric, families(look_at(self._dir, self._streams_max)))


def _metric(family: MetricFamily) -> Metric:
    metric = _KINDS[family.kind](family.name, family.text, labels=family.labels)
    for labels, value in family.samples:
        metric.add_metric(labels, value)
    return metric
