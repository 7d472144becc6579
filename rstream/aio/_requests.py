"""Requests by name in an event loop: a requester for each loop and service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from anyio.lowlevel import RunVar

from rstream._keywords import names_keywords
from rstream._process import quiet_when_torn_down
from rstream.aio._requester import AnswerStream, Requester
from rstream.errors import ConfigError
from rstream.service._internal import (
    KEPT_MAX,
    OUTSTANDING,
    PREFETCH,
    TIMEOUT_S,
    CallOptions,
    caller_options,
    kept_key,
    place_of,
)

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from rstream.channel import Channel
    from rstream.codecs import CodecLike


A = TypeVar("A")


class _Kept:
    """The requesters of one event loop. They are closed when the loop is collected."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[Any, ...], Requester[Any]] = {}

    @quiet_when_torn_down
    def __del__(self) -> None:
        for one in self.by_key.values():
            one.abandon()


_kept: RunVar[_Kept] = RunVar("rstream_requesters")


@overload
def requester(
    name: str, type: None = None, *, outstanding: int = OUTSTANDING, **options: Unpack[CallOptions]
) -> Requester[Any]: ...
@overload
def requester(
    name: str, type: TypeForm[A], *, outstanding: int = OUTSTANDING, **options: Unpack[CallOptions]
) -> Requester[A]: ...
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
    """The caller's end of a service for one event loop: ``async with requester("prices") as asks``.

    Args:
        name, type, codec, query_codec, channel, outstanding, dir: as for
            :func:`rstream.service.requester`.
    Raises:
        ConfigError: an argument cannot be used. The line is opened at the first request.

    Example::

        async with rstream.aio.requester("prices") as asks:
            await asks.request("ABC", timeout_s=1)
    """
    options = caller_options(name, type, codec, query_codec, channel, outstanding, dir)
    return Requester(place_of(name, channel), **options)


def _requester_of(
    name: str,
    type: Any,
    codec: CodecLike,
    query_codec: CodecLike,
    channel: Channel | str | None,
    dir: str | None,
) -> Requester[Any]:
    try:
        kept = _kept.get().by_key
    except LookupError:
        mine = _Kept()
        _kept.set(mine)
        kept = mine.by_key
    key = kept_key(name, type, codec, query_codec, channel, dir)
    found = kept.get(key)
    if found is None or found.is_closed:
        found = requester(
            name, type, codec=codec, query_codec=query_codec, channel=channel, dir=dir
        )
        if len(kept) >= KEPT_MAX:
            raise ConfigError(
                f"this event loop asks {KEPT_MAX} services by name already",
                hint="make requesters of your own (rstream.aio.requester) and close them",
            )
        kept[key] = found
    return found


@overload
async def request(
    name: str,
    query: Any = None,
    type: None = None,
    *,
    timeout_s: float | None = TIMEOUT_S,
    **options: Unpack[CallOptions],
) -> Any: ...
@overload
async def request(
    name: str,
    query: Any,
    type: TypeForm[A],
    *,
    timeout_s: float | None = TIMEOUT_S,
    **options: Unpack[CallOptions],
) -> A: ...
@names_keywords
async def request(
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
    """Ask the server of a name, and wait for its answer. Cancelling the task tells the server.

    The event loop keeps a line to the server until it ends (:func:`close_requesters`).

    Args:
        name, query, type, timeout_s, codec, query_codec, channel, dir: as for
            :func:`rstream.request`.
    Raises:
        RStreamError: as :meth:`rstream.service.Requester.request`.

    Example::

        await rstream.aio.request("prices", "ABC", timeout_s=1)
    """
    asks = _requester_of(name, type, codec, query_codec, channel, dir)
    return await asks.request(query, timeout_s=timeout_s)


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
    """Ask the server of a name for a stream of answers: ``async for`` them.

    Args:
        name, query, type, prefetch, timeout_s, codec, query_codec, channel, dir: as for
            :func:`rstream.request_stream`.
    Raises:
        ConfigError: an argument cannot be used. All other errors come out of the loop.

    Example::

        async for bar in rstream.aio.request_stream("bars", "ABC"):
            print(bar)
    """
    asks = _requester_of(name, type, codec, query_codec, channel, dir)
    return asks.request_stream(query, prefetch=prefetch, timeout_s=timeout_s)


async def close_requesters() -> None:
    """Close what :func:`request` and :func:`request_stream` keep open in this event loop."""
    try:
        kept = _kept.get().by_key
    except LookupError:
        return
    while kept:
        _, one = kept.popitem()
        await one.close()
