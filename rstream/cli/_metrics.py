"""``rstream metrics``: the counters of a driver for Prometheus."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from rstream import _core
from rstream._extras import how_to_install
from rstream.cli._directory import ALIVE, tell_missing
from rstream.driver import resolve_dir
from rstream.errors import ConfigError

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; with ``--once`` print it."""
    driver_dir = resolve_dir(options.dir)
    try:
        import prometheus_client

        import rstream.prometheus
    except ModuleNotFoundError as error:
        print(
            f"rstream metrics: needs {error.name}: {how_to_install('prometheus')}",
            file=sys.stderr,
        )
        return 1
    registry = prometheus_client.CollectorRegistry()
    registry.register(rstream.prometheus.Collector(driver_dir, streams_max=options.streams_max))
    if options.once:
        if _core.probe(driver_dir) < ALIVE:
            return tell_missing(driver_dir)
        print(prometheus_client.generate_latest(registry).decode(), end="")
        return 0
    try:
        server: Any = prometheus_client.start_http_server(
            options.port, addr=options.address, registry=registry
        )[0]
    except OSError as error:
        raise ConfigError(
            f"--address {options.address} --port {options.port}: {error.strerror or error}"
        ) from error
    if _core.probe(driver_dir) < ALIVE:
        print(f"rstream metrics: no driver in {driver_dir} yet", file=sys.stderr)
    print(f"http://{options.address}:{server.server_port}/metrics", flush=True)
    threading.Event().wait()
    return 0
