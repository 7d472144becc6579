"""Streams as Observables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rstream import codecs, stream
from rstream.errors import ClosedError
from rstream.rx._reading import chosen_scheduler, read
from rstream.rx._schedulers import check_scheduler
from rstream.stream import Subscriber
from rstream.stream._internal import (
    SubscriberSettings,
    close_disposed_here,
    reading_of,
    settings,
    settle_here,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeForm

    from rstream.codecs import Codec, CodecLike
    from rstream.stream import SubscriberOptions

T = TypeVar("T")


@overload
def from_stream(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[False] = False,
    **options: Unpack[SubscriberOptions],
) -> Observable[Any]: ...
@overload
def from_stream(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[False] = False,
    **options: Unpack[SubscriberOptions],
) -> Observable[T]: ...
@overload
def from_stream(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[False] = False,
    **options: Unpack[SubscriberOptions],
) -> Observable[T]: ...
@overload
def from_stream(
    name: str | int,
    type: None = None,
    *,
    codec: str | None = None,
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[True],
    **options: Unpack[SubscriberOptions],
) -> Observable[list[Any]]: ...
@overload
def from_stream(
    name: str | int,
    type: None = None,
    *,
    codec: Codec[T] | TypeForm[T],
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[True],
    **options: Unpack[SubscriberOptions],
) -> Observable[list[T]]: ...
@overload
def from_stream(
    name: str | int,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[True],
    **options: Unpack[SubscriberOptions],
) -> Observable[list[T]]: ...
def from_stream(
    name: str | int,
    type: Any = None,
    *,
    codec: CodecLike = None,
    scheduler: abc.SchedulerBase | None = None,
    batches: bool = False,
    **options: Unpack[SubscriberOptions],
) -> Observable[Any]:
    """An Observable of a stream's items.

    Each ``subscribe`` opens the stream and reads it on a thread of its own. That thread keeps the
    program alive until the stream ends, the subscription is disposed, or Ctrl-C ends the main
    thread. Under ``run()`` the caller waits itself: then the thread is a daemon. Items are
    delivered synchronously in the thread that reads::

        messages   -1-2-3- - - 4-5|
                       from_stream("ticks")
        observer    -1-2-3- - - 4-5|

        messages   -1-2-3- - - 4-5|
                       from_stream("ticks", batches=True)
        observer       -[1,2,3]- -[4,5]|

    Args:
        name, type, codec, options: as for :func:`rstream.subscriber`.
        scheduler: reads there instead; the ``scheduler=`` of ``subscribe`` does the same if it is
            a loop or has virtual time. New-thread and thread-pool schedulers give it a thread
            until the end, and with those of the current thread ``subscribe`` returns at the end.
            A loop, such as that of asyncio, delivers 64 messages in a turn, and when none is there
            looks for more after 0.5 to 10 ms. In virtual time (``TestScheduler``) all that has
            arrived is delivered at one instant, and the next look is 0.1 s later.
        batches: deliver lists of 1 to ``prefetch`` items, as they have arrived.
    Returns:
        A cold Observable. It completes when every publisher seen has completed; with ``stays=True``
        it does not. ``PublisherLost``,
        ``RemoteError`` and all other failures, those of opening too, reach ``on_error``; so does
        what the observer raises.
        Dispose stops it within 100 ms, from any thread; an item being delivered is finished. Until
        then it reads, also when nobody holds the subscription.
    Raises:
        ConfigError, TypeError: an option has a name or a ``prefetch`` that cannot be used.
    """
    settings(SubscriberSettings, "from_stream", options, "type", "codec", "scheduler", "batches")

    def open_subscriber() -> Subscriber[Any]:
        return stream.subscriber(name, codec=codecs.choose(type, codec), **options)

    return _observable(open_subscriber, scheduler, batches, "from_stream", f"rstream-rx-{name}")


@overload
def from_reader(
    reader: Subscriber[T],
    *,
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[False] = False,
) -> Observable[T]: ...
@overload
def from_reader(
    reader: Subscriber[T],
    *,
    scheduler: abc.SchedulerBase | None = None,
    batches: Literal[True],
) -> Observable[list[T]]: ...
def from_reader(
    reader: Subscriber[Any],
    *,
    scheduler: abc.SchedulerBase | None = None,
    batches: bool = False,
) -> Observable[Any]:
    """An Observable of a reader that is open already, such as that of a Ray endpoint.

    It can be subscribed once. The reader is closed when the stream ends or the subscription is
    disposed.

    Args:
        reader: what is read.
        scheduler, batches: as for :func:`from_stream`.
    Raises:
        TypeError: ``reader`` is no reader, or ``scheduler`` no scheduler.
    """
    if not isinstance(reader, Subscriber):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"from_reader({reader!r}): must be an open reader, such as rstream.subscriber(name); "
            "from_stream(name) opens one itself"
        )

    def take() -> Subscriber[Any]:
        if reader.is_closed:
            raise ClosedError(
                f"{reader!r} is closed: an Observable of a reader can be subscribed once"
            )
        return reader

    return _observable(take, scheduler, batches, "from_reader", "rstream-rx-reader")


def _observable(
    open_subscriber: Callable[[], Subscriber[Any]],
    scheduler: abc.SchedulerBase | None,
    is_batched: bool,
    what: str,
    name: str,
) -> Observable[Any]:
    if scheduler is not None:
        check_scheduler(what, scheduler)

    def subscribe(
        observer: abc.ObserverBase[Any], subscribed: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        settle_here()
        try:
            source = open_subscriber()
        except Exception as error:
            observer.on_error(error)
            return Disposable()
        close_disposed_here()
        place = chosen_scheduler(scheduler, subscribed)
        return Disposable(read(reading_of(source), observer, is_batched, place, name))

    return Observable(subscribe)
