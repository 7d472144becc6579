"""How the awaited faces are opened: arguments checked at once, the driver reached in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import anyio

from rstream.aio._errand import Errand
from rstream.aio._publisher import Publisher
from rstream.driver import call_site
from rstream.stream import _session
from rstream.stream._open import CONNECT_TIMEOUT_S, LINGER_S, publisher_address
from rstream.stream._sender import make

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from rstream.channel import Channel
    from rstream.client import Client
    from rstream.codecs import Codec
    from rstream.rate import RateLimit

T = TypeVar("T")


class Opening(Generic[T]):
    """A publisher that is about to be opened: ``async with`` it, or ``await`` it and close it yourself."""

    def __init__(self, address: dict[str, Any], dir: str | None, client: Client | None) -> None:
        self._address = address
        self._dir = dir
        self._client = client
        self._publisher: Publisher[T] | None = None
        self._made_at = call_site()

    def __await__(self) -> Generator[Any, Any, Publisher[T]]:
        return self._open().__await__()

    async def __aenter__(self) -> Publisher[T]:
        self._publisher = await self._open()
        return self._publisher

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        opened, self._publisher = self._publisher, None
        if opened is not None:
            await opened.__aexit__(exc_type, exc, traceback)

    async def _open(self) -> Publisher[T]:
        turn = anyio.Lock(fast_acquire=True)

        def make_it() -> Publisher[T]:
            link = _session.acquire(self._dir, self._client)
            return make(Publisher[T], link, turn=turn, made_at=self._made_at, **self._address)

        return await Errand(make_it, Publisher[T].abandon).result()


@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T],
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: RateLimit | None = None,
) -> Opening[T]: ...
@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: RateLimit | None = None,
) -> Opening[Any]: ...
@overload
def publisher(
    name: str | int,
    type: type[T],
    *,
    codec: Codec[T] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: RateLimit | None = None,
) -> Opening[T]: ...
def publisher(
    name: str | int,
    type: type[Any] | None = None,
    *,
    codec: Codec[Any] | None = None,
    channel: Channel | str | None = None,
    stream_id: int | None = None,
    dir: str | None = None,
    client: Client | None = None,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
    linger_s: float = LINGER_S,
    rate: RateLimit | None = None,
) -> Opening[Any]:
    """Open the sending face of a stream in an event loop: ``async with rstream.aio.publisher("ticks") as pub``.

    ``await rstream.aio.publisher(...)`` gives the publisher as well; then ``await pub.close()`` is yours.

    Args:
        name, type, codec, channel, stream_id, dir, client, connect_timeout_s, linger_s, rate: as for
            :func:`rstream.publisher`.
    Raises:
        ConfigError: an argument that cannot be used, or that this release does not serve; at once.
        DriverError: no driver, or it refused the channel; when it is entered or awaited.
    """
    address = publisher_address(
        name,
        type,
        codec=codec,
        channel=channel,
        stream_id=stream_id,
        connect_timeout_s=connect_timeout_s,
        linger_s=linger_s,
        rate=rate,
    )
    return Opening(address, dir, client)
