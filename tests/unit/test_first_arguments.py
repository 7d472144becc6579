"""A first argument of a wrong kind: each public call says what it was given, and what it wants."""

from __future__ import annotations

import asyncio
import re

import pytest

import rstream
from rstream import metrics, rate, service
from rstream.errors import ConfigError


def of(package: str, name: str):
    """A public call of a package that may not be installed."""

    def call(given):
        pytest.importorskip({"rx": "reactivex", "aio": "anyio"}.get(package, package))
        return getattr(getattr(rstream, package), name)(given)

    return call


def awaited(name: str):
    return lambda given: asyncio.run(of("aio", name)(given))


#: The call, and a part of its error.
CALLS = {
    "wait_any": (rstream.wait_any, "a list of subscribers, as rstream.subscriber() makes them"),
    "request": (rstream.request, "stream"),
    "request_stream": (lambda given: next(iter(rstream.request_stream(given))), "stream"),
    "service.requester": (service.requester, "stream"),
    "rate.from_text": (rate.from_text, "must be a text, such as"),
    "metrics.counters": (metrics.counters, "must be a str"),
    "aio.request": (awaited("request"), "stream"),
    "aio.serve": (awaited("serve"), "must be a service, as @rstream.serve(name) makes"),
    "ray.host_token": (of("ray", "host_token"), "must be a str"),
    "ray.iter_batches": (of("ray", "iter_batches"), "must be a reading end, such as"),
    "rx.from_async_iterable": (of("rx", "from_async_iterable"), "must be an async iterable"),
    "rx.from_endpoint": (of("rx", "from_endpoint"), "must be an endpoint, such as"),
}
TEXTS = ("stream", "must be a str", "must be a text, such as")


@pytest.mark.parametrize("given", [None, 1, b"x", object, {"a": []}], ids=repr)
@pytest.mark.parametrize("name", CALLS)
def test_it_is_named(name, given):
    call, words = CALLS[name]
    with pytest.raises((TypeError, ConfigError), match=re.escape(words)):
        call(given)


@pytest.mark.parametrize("name", [name for name, (_, words) in CALLS.items() if words not in TEXTS])
def test_a_name_where_an_object_is_meant(name):
    call, words = CALLS[name]
    with pytest.raises(TypeError, match=re.escape(words)):
        call("ticks")
