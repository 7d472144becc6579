"""Opening the two ends of shared work in an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from rstream._keywords import unknown_keyword
from rstream._unclosed import call_site
from rstream.aio._open import Opening
from rstream.aio._turns import turns_here
from rstream.aio._work import WorkPublisher, WorkSubscriber
from rstream.work._internal import (
    WorkPublisherOptions,
    WorkSubscriberOptions,
    publisher_opener,
    subscriber_opener,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import TypeForm

    from rstream.codecs import Codec, CodecLike

T = TypeVar("T")


def _check(function: str, options: Mapping[str, Any], kind: type[Any]) -> None:
    known = ["type", "codec", *kind.__annotations__]
    for name in options:
        if name not in known:
            raise unknown_keyword(function, name, known)


@overload
def work_publisher(
    name: str,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[WorkPublisherOptions],
) -> Opening[WorkPublisher[T]]: ...
@overload
def work_publisher(
    name: str,
    type: None = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[WorkPublisherOptions],
) -> Opening[WorkPublisher[Any]]: ...
def work_publisher(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[WorkPublisherOptions],
) -> Opening[WorkPublisher[Any]]:
    """Open a publisher that gives each message to *one* reader, in an event loop.

    Args:
        name, type, codec, options: as for :func:`rstream.work.publisher`.
    Raises:
        ConfigError: an argument cannot be used. Raised at once.
        DriverError: there is no driver, or it refused the channel. Raised when the result is
            awaited or entered.

    Example::

        async with rstream.aio.work_publisher("jobs") as jobs:
            for path in paths:
                await jobs.send(path)  # waits while no reader has free demand
    """
    _check("work_publisher", options, WorkPublisherOptions)
    open_it = publisher_opener(name, type, codec, **options)
    made_at = call_site()

    return Opening(lambda: lambda: WorkPublisher(open_it(made_at)), "work_publisher")


@overload
def work_subscriber(
    name: str,
    type: TypeForm[T],
    *,
    codec: Codec[T] | str | None = None,
    **options: Unpack[WorkSubscriberOptions],
) -> Opening[WorkSubscriber[T]]: ...
@overload
def work_subscriber(
    name: str,
    type: None = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[WorkSubscriberOptions],
) -> Opening[WorkSubscriber[Any]]: ...
def work_subscriber(
    name: str,
    type: Any = None,
    *,
    codec: CodecLike = None,
    **options: Unpack[WorkSubscriberOptions],
) -> Opening[WorkSubscriber[Any]]:
    """Open a reader that takes jobs, in an event loop: each message goes to one reader of the name.

    Args:
        name, type, codec, options: as for :func:`rstream.work.subscriber`.
    Raises:
        ConfigError: an argument cannot be used. Raised at once.
        DriverError: there is no driver, or it refused a channel. Raised when the result is awaited
            or entered.

    Example::

        async with rstream.aio.work_subscriber("jobs") as jobs:
            async for job in jobs:
                await convert(job.item)  # done when the next one is asked for
    """
    _check("work_subscriber", options, WorkSubscriberOptions)
    open_it = subscriber_opener(name, type, codec, **options)
    made_at = call_site()

    def prepare() -> Callable[[], WorkSubscriber[Any]]:
        turns = turns_here()
        return lambda: WorkSubscriber(open_it(made_at), turns=turns)

    return Opening(prepare, "work_subscriber")
