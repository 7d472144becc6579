"""The counters of a driver directory for Prometheus, by ``prometheus-client``.

``rstream metrics`` serves them over HTTP. A program that has a metrics page already registers the
collector in its own registry::

    import prometheus_client
    import rstream

    prometheus_client.REGISTRY.register(rstream.prometheus.Collector())
    prometheus_client.start_http_server(9000)

Reading needs no client of the driver and does not disturb it. Needs the extra ``prometheus``.
"""

from rstream.prometheus._collector import Collector

__all__ = ("Collector",)
