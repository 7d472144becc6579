"""Opening an awaited publisher: check the arguments at once, reach the driver in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, overload

import anyio

from rstream._unclosed import call_site
from rstream.aio._publisher import Publisher
from rstream.aio._thread_call import ThreadCall
from rstream.stream import _session
from rstream.stream._open import publisher_address
from rstream.stream._options import PublisherSettings, settings
from rstream.stream._sender import make

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from typing_extensions import TypeForm

    from rstream.client import Client
    from rstream.codecs import Codec, CodecLike
    from rstream.stream._options import PublisherOptions

T = TypeVar("T")


class Opening(Generic[T]):
    """A publisher that is not open yet: use it in ``async with``, or ``await`` and close it."""

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
        send_lock = anyio.Lock(fast_acquire=True)
        large_lock = anyio.Lock(fast_acquire=True)

        def make_it() -> Publisher[T]:
            link = _session.acquire(self._dir, self._client)
            return make(
                Publisher[T],
                link,
                send_lock=send_lock,
                large_lock=large_lock,
                made_at=self._made_at,
                **self._address,
            )

        return await ThreadCall(make_it, Publisher[T].abandon).result()


@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    **options: Unpack[PublisherOptions],
) -> Opening[Any]: ...
@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    **options: Unpack[PublisherOptions],
) -> Opening[T]: ...
@overload
def publisher(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[PublisherOptions],
) -> Opening[T]: ...
def publisher(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[PublisherOptions],
) -> Opening[Any]:
    """Open the sending side of a stream in an event loop.

    ``async with rstream.aio.publisher("ticks") as pub:`` closes it at the end of the block. With
    ``pub = await rstream.aio.publisher("ticks")`` the caller closes it: ``await pub.close()``.

    Args:
        name, type, codec, options: as for :func:`rstream.publisher`.
    Raises:
        ConfigError: an argument cannot be used, or this release does not serve it. Raised at once.
        DriverError: there is no driver, or it refused the channel. Raised when the result is
            awaited or entered.
    """
    chosen = settings(PublisherSettings, "publisher", options, "type", "codec")
    return Opening(publisher_address(name, type, codec, chosen), chosen.dir, chosen.client)
