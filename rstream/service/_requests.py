"""Requests by name: the process keeps a requester for each service that it asks."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from rstream._keywords import names_keywords
from rstream.driver import resolve_dir
from rstream.errors import ConfigError
from rstream.service._open import CallOptions, requester
from rstream.service._requester_base import PREFETCH, TIMEOUT_S
from rstream.stream._internal import check_name

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from rstream.channel import Channel
    from rstream.codecs import CodecLike
    from rstream.service._answers import AnswerStream
    from rstream.service._requester import Requester

A = TypeVar("A")

#: Most services that :func:`request` keeps a line to.
KEPT_MAX = 64

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
        hash((name, type, codec, query_codec))
    except TypeError:
        check_name(name)
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


@overload
def request(
    name: str,
    query: Any = None,
    type: None = None,
    *,
    timeout_s: float | None = TIMEOUT_S,
    **options: Unpack[CallOptions],
) -> Any: ...
@overload
def request(
    name: str,
    query: Any,
    type: TypeForm[A],
    *,
    timeout_s: float | None = TIMEOUT_S,
    **options: Unpack[CallOptions],
) -> A: ...
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


@overload
def request_stream(
    name: str,
    query: Any = None,
    type: None = None,
    *,
    prefetch: int = PREFETCH,
    timeout_s: float | None = TIMEOUT_S,
    **options: Unpack[CallOptions],
) -> AnswerStream[Any]: ...
@overload
def request_stream(
    name: str,
    query: Any,
    type: TypeForm[A],
    *,
    prefetch: int = PREFETCH,
    timeout_s: float | None = TIMEOUT_S,
    **options: Unpack[CallOptions],
) -> AnswerStream[A]: ...
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
