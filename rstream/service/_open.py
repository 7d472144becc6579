"""Opening both ends: check the arguments, choose address and codecs, keep requesters by name."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from rstream._keywords import names_keywords
from rstream.codecs import choose
from rstream.driver import resolve_dir
from rstream.errors import ConfigError
from rstream.service._caller import OUTSTANDING, PREFETCH, TIMEOUT_S
from rstream.service._place import place_of
from rstream.service._requester import Requester
from rstream.service._service import Service

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.channel import Channel
    from rstream.codecs import Codec, CodecLike
    from rstream.service._answers import AnswerStream
    from rstream.service._place import Place

Q = TypeVar("Q")
A = TypeVar("A")

#: Most services that :func:`request` keeps a line to.
KEPT_MAX = 64


def serve(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    answer_codec: CodecLike = None,
    channel: Channel | str | None = None,
    threads: int = 0,
    outstanding: int = OUTSTANDING,
    dir: str | None = None,
) -> Callable[[Callable[[Q], A]], Service[Q, A]]:
    """Make a function of one argument, the query, into a service that answers requests.

    A generator function answers :func:`rstream.request_stream`: it is asked for the next answer
    only when the caller wants it, and is closed when the caller leaves. An ``async`` function or
    async generator runs in an event loop. Nothing is opened before the service is run.

    Args:
        name: the name that callers ask.
        type: the type of the queries; it chooses their codec (:func:`rstream.codecs.codec_for`).
        codec: of queries and answers; overrides ``type``.
        answer_codec: of answers, where it differs from ``codec``; None: ``codec``, else msgpack.
        channel: where it is asked; None: shared memory. Over UDP the server's own address.
        threads: how many requests are worked on at the same time. 0: one after the other, in the
            thread that serves, which is fastest for short functions.
        outstanding: most requests of one caller without an answer; more are refused.
        dir: driver directory; None: ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
    Returns:
        A decorator that makes a :class:`Service`.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        @rstream.serve("prices")
        def price(symbol):
            return PRICES[symbol]  # a KeyError arrives at the caller as a KeyError

        price.run()
    """
    place = place_of(name, channel)
    query_codec, codec_of_answers = _codecs(type, codec, answer_codec, place, is_server=True)

    def decorate(function: Callable[[Q], A]) -> Service[Q, A]:
        if not callable(function):
            raise ConfigError(f"serve({name!r}) is a decorator of a function, not of {function!r}")
        return Service(
            function,
            place,
            query_codec=query_codec,
            codec=codec_of_answers,
            threads=threads,
            outstanding=outstanding,
            dir=dir,
        )

    return decorate


@names_keywords
def requester(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    query_codec: CodecLike = None,
    channel: Channel | str | None = None,
    outstanding: int = OUTSTANDING,
    dir: str | None = None,
) -> Requester[Any]:
    """The caller's end of a service, with a line that is kept; :func:`request` keeps one by name.

    Args:
        name: the name of the service.
        type: the type of the answers; it chooses their codec.
        codec: of queries and answers; overrides ``type``.
        query_codec: of queries, where it differs from ``codec``; None: ``codec``, else msgpack.
        channel: where the server is asked; None: shared memory. Over UDP the server's address.
        outstanding: most requests without an answer; more wait.
        dir: driver directory; None: ``$RSTREAM_DIR``, else ``/dev/shm/rstream-<user>``.
    Raises:
        ConfigError: an argument cannot be used. The line is opened at the first request.

    Example::

        with rstream.service.requester("prices") as prices:
            prices.request("ABC", timeout_s=1)
    """
    return Requester(
        place_of(name, channel),
        **caller_options(name, type, codec, query_codec, channel, outstanding, dir),
    )


def caller_options(
    name: str,
    type: Any,
    codec: CodecLike,
    query_codec: CodecLike,
    channel: Channel | str | None,
    outstanding: int,
    dir: str | None,
) -> dict[str, Any]:
    """The keywords of a caller's class."""
    place = place_of(name, channel)
    codec_of_answers, codec_of_queries = _codecs(type, codec, query_codec, place, is_server=False)
    return {
        "query_codec": codec_of_queries,
        "codec": codec_of_answers,
        "outstanding": outstanding,
        "dir": dir,
    }


def _codecs(
    type: Any, codec: CodecLike, other: CodecLike, place: Place, *, is_server: bool
) -> tuple[Codec[Any], Codec[Any]]:
    """The codec of what this end reads, and of what it writes."""
    reads = choose(type, codec)
    writes = choose(None, codec if other is None else other)
    if place.is_udp and getattr(reads, "needs_trusted_network", False):
        who = "callers send" if is_server else "the server sends"
        raise ConfigError(
            f"channel {place.channel}: codec pickle would run code that {who}",
            hint="use msgpack or arrow; or write trusted_network=True if only trusted programs can "
            "reach the port",
        )
    return reads, writes


# ---- requests by name ----

_kept: dict[tuple[Any, ...], Requester[Any]] = {}
_lock = threading.Lock()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)


def kept_key(
    name: str, type: Any, codec: Any, query_codec: Any, channel: object, dir: str | None
) -> tuple[Any, ...]:
    """What tells requesters of a process apart."""
    try:
        hash((type, codec, query_codec))
    except TypeError:
        type, codec, query_codec = repr(type), id(codec), id(query_codec)
    uri = None if channel is None else str(channel)
    return os.getpid(), resolve_dir(dir), name, uri, type, codec, query_codec


def _requester_of(
    name: str,
    type: Any,
    codec: CodecLike,
    query_codec: CodecLike,
    channel: Channel | str | None,
    dir: str | None,
) -> Requester[Any]:
    key = kept_key(name, type, codec, query_codec, channel, dir)
    kept = _kept.get(key)
    if kept is not None and not kept.is_closed:
        return kept
    with _lock:
        kept = _kept.get(key)
        if kept is not None and not kept.is_closed:
            return kept
        if not _kept:
            atexit.register(close_requesters)
        made = requester(name, type, codec=codec, query_codec=query_codec, channel=channel, dir=dir)
        if len(_kept) >= KEPT_MAX:
            drop_idle(_kept)
        _kept[key] = made
        return made


def drop_idle(kept: dict[tuple[Any, ...], Requester[Any]]) -> None:
    """Close the oldest requester that waits for nothing.

    Raises:
        ConfigError: all of them wait for answers.
    """
    for key, one in list(kept.items()):
        if one.statistics()["outstanding"] == 0:
            del kept[key]
            one.close()
            return
    raise ConfigError(
        f"{KEPT_MAX} services are being asked at the same time",
        hint="make requesters of your own (rstream.service.requester) and close them",
    )


def close_requesters() -> None:
    """Close what :func:`request` and :func:`request_stream` keep open; also at exit."""
    with _lock:
        mine = [key for key in _kept if key[0] == os.getpid()]
        requesters = [_kept.pop(key) for key in mine]
    for one in requesters:
        with suppress(Exception):  # at the end of the interpreter
            one.close()


@names_keywords
def request(
    name: str,
    query: Any = None,
    type: Any = None,
    *,
    timeout_s: float | None = TIMEOUT_S,
    codec: CodecLike = None,
    query_codec: CodecLike = None,
    channel: Channel | str | None = None,
    dir: str | None = None,
) -> Any:
    """Ask the server of a name, and wait for its answer. Any thread may call it.

    The process keeps a line to the server, and closes it at exit (:func:`close_requesters`).

    Args:
        name: the name of the service.
        query: what the codec of queries takes.
        type, codec, query_codec, channel, dir: as for :func:`rstream.service.requester`.
        timeout_s: as for :meth:`Requester.request`.
    Raises:
        RStreamError: as :meth:`Requester.request`: NoServer, RequestTimeout, RemoteError,
            ServerLost, BackPressured.

    Example::

        rstream.request("prices", "ABC", timeout_s=1)
    """
    asks = _requester_of(name, type, codec, query_codec, channel, dir)
    return asks.request(query, timeout_s=timeout_s)


@names_keywords
def request_stream(
    name: str,
    query: Any = None,
    type: Any = None,
    *,
    prefetch: int = PREFETCH,
    timeout_s: float | None = TIMEOUT_S,
    codec: CodecLike = None,
    query_codec: CodecLike = None,
    channel: Channel | str | None = None,
    dir: str | None = None,
) -> AnswerStream[Any]:
    """Ask the server of a name for a stream of answers.

    Args:
        name, query, type, codec, query_codec, channel, dir: as for :func:`request`.
        prefetch, timeout_s: as for :meth:`Requester.request_stream`.
    Raises:
        RStreamError: as :func:`request`.

    Example::

        for bar in rstream.request_stream("bars", "ABC"):
            print(bar)
    """
    asks = _requester_of(name, type, codec, query_codec, channel, dir)
    return asks.request_stream(query, prefetch=prefetch, timeout_s=timeout_s)
