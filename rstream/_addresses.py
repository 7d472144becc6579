"""Addresses of the network: ``host:port`` in channels, and the local end of a way."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Protocol

from rstream.errors import ConfigError, RStreamError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ("bound_port", "bracketed", "is_multicast", "local_address_towards", "split_endpoint")


class _Bound(Protocol):
    @property
    def local_address(self) -> str | None: ...


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Host without brackets, and port.

    Raises:
        ConfigError: it is no ``host:port``.
    """
    host, _, port = endpoint.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"endpoint {endpoint!r}: give host:port")
    return host.strip("[]"), int(port)


def bracketed(host: str) -> str:
    """The host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def is_multicast(host: str) -> bool:
    """Whether a host without brackets is a group: 224.0.0.0/4 or ff00::/8."""
    first = host.partition(".")[0]
    return (host.lower().startswith("ff") and ":" in host) or (
        first.isdecimal() and 224 <= int(first) <= 239
    )


def local_address_towards(endpoint: str) -> str:
    """The local address from which this host reaches an endpoint; nothing is sent.

    Raises:
        ConfigError: the host is not known, or there is no route.
    """
    host, port = split_endpoint(endpoint)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port or 1, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise ConfigError(f"endpoint {endpoint}: no way there from this host: {error}") from error


def bound_port(subscriptions: Iterable[_Bound]) -> int:
    """The UDP port on which a reader listens.

    Raises:
        RStreamError: its driver published no local address.
    """
    for subscription in subscriptions:
        if subscription.local_address:
            return split_endpoint(subscription.local_address)[1]
    raise RStreamError("the port of a reader is not known: its driver published no local address")
