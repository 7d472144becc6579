"""Settings of drivers and clients, with units in their names.

The defaults are Aeron's where Aeron has the setting::

    config = DriverConfig(term_length=1 << 20, options={"budget": "static"})
    with rstream.Driver("/dev/shm/market", config=config):
        with rstream.Client("/dev/shm/market", config=ClientConfig(name="pricer")):
            ...
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Final, Literal, TypedDict

from rstream._checks import check_seconds
from rstream._client_name import check_name
from rstream.errors import ConfigError

__all__ = ("ClientConfig", "DriverConfig", "DriverSettings")

_THREADING: Final = ("auto", "shared", "shared-network", "dedicated", "invoker")
_BUDGETS: Final = ("none", "static", "dynamic", "aggressive")
_IDLE: Final = ("block", "spin", "noop", "yield", "backoff", "sleep", "controllable")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverConfig:
    """How a media driver runs.

    None means the driver's default, which is given here in parentheses;
    ``rstream driver --list-options`` prints all of them.

    Attributes:
        threading: the threads that run conductor, sender and receiver: ``"dedicated"``: one each;
            ``"shared-network"``: two; ``"shared"``: one; ``"invoker"``: the caller's, by
            ``do_work``; ``"auto"``: shared on up to four cores, else dedicated (auto).
        idle: how a thread without work waits: ``"block"`` (uses no CPU), ``"spin"``, ``"noop"``,
            ``"yield"``, ``"backoff"``, ``"sleep"``, or ``"controllable"`` (by system counter 22).
        term_length, ipc_term_length: bytes of a term where the channel names none.
        mtu, ipc_mtu: largest datagram and largest IPC frame, in bytes.
        client_liveness_timeout_s: a client without a heartbeat for this long is dead (10).
        driver_timeout_s: a directory with an older heartbeat belongs to a dead driver (10).
        timer_interval_s: period of the timers, and so the precision of all timeouts (1).
        image_liveness_timeout_s: an image without datagrams for this long is removed (10).
        publication_linger_timeout_s: a closed publication retransmits for this long (5).
        publication_connection_timeout_s: a receiver without status messages for this long is
            disconnected (5).
        publication_unblock_timeout_s: the unfinished claim of a dead producer is padded after this
            long (15).
        status_message_timeout_s: longest time between two status messages (0.2).
        initial_window_length: receiver window in bytes (128 KiB).
        so_rcvbuf, so_sndbuf: socket buffers in bytes; 0: the system's.
        idle_exit_s: the shared driver ends after this long without clients (30; 0: never).
        budget: limit on the unconsumed bytes that each sending driver may have on its way to this
            one, of all streams together: ``"none"``; ``"static"``: ``budget_bytes``;
            ``"dynamic"`` and ``"aggressive"``: a share of the memory by the number of peers.
        budget_bytes: for ``"static"``: bytes for each peer (10 MiB).
        stream_budget: the same limit for one stream, where the channel names none
            (``Channel.budget_bytes``); 0: no limit (0).
        noop_interval_s: how often a sender asks each reader for an answer. A reader that does not
            answer for twice as long is removed; 0: never ask (0).
        options: further options of the driver by name.
    """

    threading: Literal["auto", "shared", "shared-network", "dedicated", "invoker"] | None = None
    idle: Literal["block", "spin", "noop", "yield", "backoff", "sleep", "controllable"] | None = (
        None
    )
    term_length: int | None = None
    ipc_term_length: int | None = None
    mtu: int | None = None
    ipc_mtu: int | None = None
    client_liveness_timeout_s: float | None = None
    driver_timeout_s: float | None = None
    timer_interval_s: float | None = None
    image_liveness_timeout_s: float | None = None
    publication_linger_timeout_s: float | None = None
    publication_connection_timeout_s: float | None = None
    publication_unblock_timeout_s: float | None = None
    status_message_timeout_s: float | None = None
    initial_window_length: int | None = None
    so_rcvbuf: int | None = None
    so_sndbuf: int | None = None
    idle_exit_s: float | None = None
    budget: Literal["none", "static", "dynamic", "aggressive"] | None = None
    budget_bytes: int | None = None
    stream_budget: int | None = None
    noop_interval_s: float | None = None
    options: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.threading is not None and self.threading not in _THREADING:
            raise ConfigError(
                f"threading={self.threading!r}: must be one of {', '.join(_THREADING)}"
            )
        if self.idle is not None and self.idle not in _IDLE:
            raise ConfigError(f"idle={self.idle!r}: must be one of {', '.join(_IDLE)}")
        if self.budget is not None and self.budget not in _BUDGETS:
            raise ConfigError(f"budget={self.budget!r}: must be one of {', '.join(_BUDGETS)}")
        for name in _OPTION_NAMES:
            if name.endswith("_s") and getattr(self, name) is not None:
                check_seconds(name, getattr(self, name))

    def to_options(self) -> dict[str, str]:
        """The options as the driver reads them, text by name; the driver checks their ranges."""
        texts: dict[str, str] = {}
        for name, option in _OPTION_NAMES.items():
            value = getattr(self, name)
            if value is None:
                continue
            texts[option] = f"{round(value * 1e9)}ns" if name.endswith("_s") else str(value)
        return texts | self.options


_OPTION_NAMES: Final[dict[str, str]] = {
    "threading": "threading",
    "idle": "idle",
    "term_length": "term-buffer-length",
    "ipc_term_length": "ipc-term-buffer-length",
    "mtu": "mtu",
    "ipc_mtu": "ipc-mtu",
    "client_liveness_timeout_s": "client-liveness-timeout",
    "driver_timeout_s": "driver-timeout",
    "timer_interval_s": "timer-interval",
    "image_liveness_timeout_s": "image-liveness-timeout",
    "publication_linger_timeout_s": "publication-linger-timeout",
    "publication_connection_timeout_s": "publication-connection-timeout",
    "publication_unblock_timeout_s": "publication-unblock-timeout",
    "status_message_timeout_s": "status-message-timeout",
    "initial_window_length": "initial-window-length",
    "so_rcvbuf": "so-rcvbuf",
    "so_sndbuf": "so-sndbuf",
    "idle_exit_s": "idle-exit",
    "budget": "budget",
    "budget_bytes": "budget-bytes",
    "stream_budget": "stream-budget",
    "noop_interval_s": "noop-interval",
}


_UNITS_S: Final = {"": 1e-9, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def _seconds_from(variable: str, default_s: float) -> float:
    """A duration from the environment, as driver options write it: ``100ms``, ``1s``, plain ns."""
    text = os.environ.get(variable)
    if text is None:
        return default_s
    match = re.fullmatch(r"(\d+)(ns|us|ms|s|)", text.strip())
    if match is None:
        raise ConfigError(f"{variable}={text}: must be a duration such as 100ms or 1s")
    return int(match[1]) * _UNITS_S[match[2]]


def _driver_timeout_s() -> float:
    return _seconds_from("RSTREAM_DRIVER_TIMEOUT", 10.0)


def _keepalive_interval_s() -> float:
    return _seconds_from("RSTREAM_KEEPALIVE_INTERVAL", 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How a client behaves.

    Three defaults come from the environment, so that a whole process tree can be configured without
    code. Durations are written as in driver options: ``1s``, ``100ms``.

    Attributes:
        name: what `rstream stat`, metrics, errors and Aeron's tools call the client, at most 100
            bytes. Empty: ``$RSTREAM_CLIENT_NAME``, else program and pid, as ``prices.py[4711]``.
        driver_timeout_s: how long to wait for the driver at the start, and how old its heartbeat
            may be before it counts as dead (``$RSTREAM_DRIVER_TIMEOUT``, else 10).
        keepalive_interval_s: period of the client's own heartbeat; keep it well below the driver's
            ``client_liveness_timeout_s`` (``$RSTREAM_KEEPALIVE_INTERVAL``, else 0.5).
        registration_timeout_s: most seconds to wait for the driver's answer to a command, such as
            ``add_publication`` (10).
        start_driver: start the shared driver when none is alive in the directory.
    """

    name: str = ""
    driver_timeout_s: float = field(default_factory=_driver_timeout_s)
    keepalive_interval_s: float = field(default_factory=_keepalive_interval_s)
    registration_timeout_s: float = 10.0
    start_driver: bool = True

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        for key in ("driver_timeout_s", "keepalive_interval_s", "registration_timeout_s"):
            value = getattr(self, key)
            check_seconds(key, value)
            if not 0 < value <= 3600:
                raise ConfigError(f"{key}={value}: must be more than 0 and at most 3600 seconds")


class DriverSettings(TypedDict, total=False):
    """The fields of :class:`DriverConfig` as keywords."""

    threading: Literal["auto", "shared", "shared-network", "dedicated", "invoker"] | None
    idle: Literal["block", "spin", "noop", "yield", "backoff", "sleep", "controllable"] | None
    term_length: int | None
    ipc_term_length: int | None
    mtu: int | None
    ipc_mtu: int | None
    client_liveness_timeout_s: float | None
    driver_timeout_s: float | None
    timer_interval_s: float | None
    image_liveness_timeout_s: float | None
    publication_linger_timeout_s: float | None
    publication_connection_timeout_s: float | None
    publication_unblock_timeout_s: float | None
    status_message_timeout_s: float | None
    initial_window_length: int | None
    so_rcvbuf: int | None
    so_sndbuf: int | None
    idle_exit_s: float | None
    budget: Literal["none", "static", "dynamic", "aggressive"] | None
    budget_bytes: int | None
    stream_budget: int | None
    noop_interval_s: float | None
    options: dict[str, str]
