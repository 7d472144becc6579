"""rstream: reactive streams over a brokerless, reliable transport.

    with rstream.publisher("ticks") as pub:
        pub.send({"px": 1.0})
    with rstream.subscriber("ticks") as sub:
        for tick in sub:
            print(tick)

Names are loaded at first use: importing rstream imports no third-party package and starts nothing.
Publishers and subscribers start a media driver when none is alive.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

try:
    from rstream import _core
except ImportError as _error:
    # In a checkout Python finds the sources before the installed package.
    if getattr(_error, "name", "") != __name__:
        raise  # it exists, but cannot be loaded
    raise ImportError(
        f"rstream in {__path__[0]} has no compiled part: these are sources that were not built. "
        "Leave the checkout's folder to use an installed rstream-transport, or build here with "
        "`pip install -e .`"
    ) from _error
from rstream import _loops, abc, errors, policy, rate
from rstream._core import (
    ADMIN_ACTION,
    BACK_PRESSURED,
    CLOSED,
    MAX_POSITION_EXCEEDED,
    NOT_CONNECTED,
    RATE_LIMITED,
)
from rstream._extras import how_to_install
from rstream._held_by import HeldBy
from rstream.errors import PublisherLost, RStreamError

if TYPE_CHECKING:
    # "as" exports a name that __all__ leaves out: `from rstream import *` must not load the extras.
    from rstream import aio as aio
    from rstream import codecs, keys, ledger, metrics, service, stages, stream, work
    from rstream import prometheus as prometheus
    from rstream import ray as ray
    from rstream import rx as rx
    from rstream import spark as spark
    from rstream import tck as tck
    from rstream import testing as testing
    from rstream.channel import Channel
    from rstream.client import Client
    from rstream.config import ClientConfig, DriverConfig
    from rstream.driver import Driver
    from rstream.service import request, request_stream, serve
    from rstream.stream import Publisher, Subscriber, publisher, subscriber, wait_any

__all__ = (
    "ADMIN_ACTION",
    "BACK_PRESSURED",
    "CLOSED",
    "MAX_POSITION_EXCEEDED",
    "NOT_CONNECTED",
    "RATE_LIMITED",
    "Channel",
    "Client",
    "ClientConfig",
    "Driver",
    "DriverConfig",
    "HeldBy",
    "Publisher",
    "PublisherLost",
    "RStreamError",
    "Subscriber",
    "__version__",
    "abc",
    "codecs",
    "errors",
    "keys",
    "ledger",
    "metrics",
    "policy",
    "publisher",
    "rate",
    "request",
    "request_stream",
    "serve",
    "service",
    "stages",
    "stream",
    "subscriber",
    "wait_any",
    "work",
)

__version__ = _core.__version__

_LAZY_MODULES = frozenset(
    {
        "aio",
        "channel",
        "client",
        "codecs",
        "config",
        "driver",
        "keys",
        "ledger",
        "metrics",
        "prometheus",
        "ray",
        "rx",
        "service",
        "spark",
        "stages",
        "stream",
        "tck",
        "testing",
        "work",
    }
)
_LAZY_NAMES = {
    "Channel": "rstream.channel",
    "Client": "rstream.client",
    "ClientConfig": "rstream.config",
    "Driver": "rstream.driver",
    "DriverConfig": "rstream.config",
    "Publisher": "rstream.stream",
    "Subscriber": "rstream.stream",
    "publisher": "rstream.stream",
    "request": "rstream.service",
    "request_stream": "rstream.service",
    "serve": "rstream.service",
    "subscriber": "rstream.stream",
    "wait_any": "rstream.stream",
}


_EXTRAS = {
    "anyio": "aio",
    "prometheus_client": "prometheus",
    "pyarrow": "arrow",
    "pyspark": "spark",
    "pytest": "testing",
    "ray": "ray",
    "reactivex": "rx",
}


def _load(name: str) -> Any:
    try:
        return importlib.import_module(f"rstream.{name}")
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise ModuleNotFoundError(
            f"rstream.{name} needs {error.name}: {how_to_install(extra)}",
            name=error.name,
        ) from error


def _run_service(service: Any) -> None:
    _load("aio").run_service(service)


_loops.run_service = _run_service


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        return _load(name)
    if name in _LAZY_NAMES:
        value = getattr(importlib.import_module(_LAZY_NAMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rstream' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LAZY_MODULES})
