"""Opening the faces for event loops: check the arguments at once, reach the driver in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, Unpack, overload

import anyio

from rstream._pickling import refuse_pickling
from rstream._session import opened
from rstream._unclosed import call_site
from rstream.aio._publisher import Publisher
from rstream.aio._subscriber import Subscriber
from rstream.aio._thread_call import ThreadCall
from rstream.aio._turns import turns_here
from rstream.codecs import choose
from rstream.stream._internal import (
    PublisherSettings,
    SubscriberSettings,
    reader_opener,
    send_settings,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    from typing_extensions import TypeForm

    from rstream._session import Link
    from rstream.codecs import Codec, CodecLike
    from rstream.stream._internal import PublisherOptions, SubscriberOptions

T = TypeVar("T")
FaceT = TypeVar("FaceT", bound="_Face")


class _Face(Protocol):
    """What a face for event loops has."""

    def abandon(self) -> None:
        """Close it without a wait."""
        ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


class Opening(Generic[FaceT]):
    """A face that is not open yet.

    Use it in ``async with``, or ``await`` it and close the result.

    Args:
        prepare: called in the loop; the result opens it, in a thread.
        kind: the name of the function that made it.
    """

    def __init__(self, prepare: Callable[[], Callable[[], FaceT]], kind: str) -> None:
        self._prepare = prepare
        self._kind = kind
        self._opened: FaceT | None = None

    def then(self, call: Callable[[FaceT], object]) -> Opening[FaceT]:
        """The same, which calls ``call`` with the face when it is open."""
        prepare = self._prepare

        def prepare_both() -> Callable[[], FaceT]:
            open_it = prepare()

            def open_and_call() -> FaceT:
                opened = open_it()
                call(opened)
                return opened

            return open_and_call

        return Opening(prepare_both, self._kind)

    def __repr__(self) -> str:
        return f"<rstream.aio.{self._kind}, not open yet>"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "open one there")

    def _what_to_write(self) -> str:
        name = {"publisher": "pub", "subscriber": "sub"}.get(self._kind, "jobs")
        return (
            f"write `async with rstream.aio.{self._kind}(...) as {name}:` or "
            f"`{name} = await rstream.aio.{self._kind}(...)`"
        )

    # Python alone calls these; type checkers refuse such a use by themselves.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"{name}: this {self._kind} is not open yet; {self._what_to_write()}"
            )

        def _refuse(self, *_: object) -> NoReturn:
            raise TypeError(f"this {self._kind} is not open yet; {self._what_to_write()}")

        __enter__ = __exit__ = __iter__ = __aiter__ = _refuse

    def __await__(self) -> Generator[Any, Any, FaceT]:
        return self._open().__await__()

    async def __aenter__(self) -> FaceT:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.__aexit__(exc_type, exc, traceback)

    async def _open(self) -> FaceT:
        return await ThreadCall(self._prepare(), lambda opened: opened.abandon()).result()


@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    **options: Unpack[PublisherOptions],
) -> Opening[Publisher[Any]]: ...
@overload
def publisher(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    **options: Unpack[PublisherOptions],
) -> Opening[Publisher[T]]: ...
@overload
def publisher(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[PublisherOptions],
) -> Opening[Publisher[T]]: ...
def publisher(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[PublisherOptions],
) -> Opening[Publisher[Any]]:
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
    sent, used = send_settings(name, type, codec, chosen)
    made_at = call_site()

    def prepare() -> Callable[[], Publisher[Any]]:
        send_lock = anyio.Lock(fast_acquire=True)
        large_lock = anyio.Lock(fast_acquire=True)
        turns = turns_here()

        def opens(link: Link) -> Publisher[Any]:
            return Publisher[Any](
                link,
                sent,
                used,
                send_lock=send_lock,
                large_lock=large_lock,
                turns=turns,
                made_at=made_at,
            )

        return lambda: opened(chosen.dir, chosen.client, opens)

    return Opening(prepare, "publisher")


@overload
def subscriber(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    **options: Unpack[SubscriberOptions],
) -> Opening[Subscriber[Any]]: ...
@overload
def subscriber(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    **options: Unpack[SubscriberOptions],
) -> Opening[Subscriber[T]]: ...
@overload
def subscriber(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[SubscriberOptions],
) -> Opening[Subscriber[T]]: ...
def subscriber(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[SubscriberOptions],
) -> Opening[Subscriber[Any]]:
    """Open the receiving side of a stream in an event loop.

    ``async with rstream.aio.subscriber("ticks") as sub:`` closes it at the end of the block. With
    ``sub = await rstream.aio.subscriber("ticks")`` the caller closes it: ``await sub.close()``. It
    gets what is sent from the moment when it is open, as :func:`rstream.subscriber` says.

    Args:
        name, type, codec, options: as for :func:`rstream.subscriber`. A function given as
            ``on_gap`` runs in the loop. A policy with a queue (``on_slow``) has a thread that fills
            it, also while the loop is busy; any other subscriber has no thread.
    Raises:
        ConfigError: an argument cannot be used, or this release does not serve it. Raised at once.
        DriverError: there is no driver, or it refused the channel. Raised when the result is
            awaited or entered.

    Example::

        async with rstream.aio.subscriber("ticks", Tick) as sub:
            async for tick in sub:
                print(tick.px)
    """
    chosen = settings(SubscriberSettings, "subscriber", options, "type", "codec")
    open_reader = reader_opener(name, choose(type, codec), chosen)
    made_at = call_site()

    def prepare() -> Callable[[], Subscriber[Any]]:
        turns = turns_here()
        return lambda: Subscriber(open_reader(), turns=turns, made_at=made_at)

    return Opening(prepare, "subscriber")
