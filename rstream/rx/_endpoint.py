"""Endpoints (such as Ray's) as Observables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rstream._checks import short
from rstream.rx._subscribing import Gate
from rstream.stream import Subscriber
from rstream.stream._internal import Place, Tally, reading_of, tally

if TYPE_CHECKING:
    from collections.abc import Callable


class EndpointLike(Protocol):
    """A reader in the background that can be stopped, such as :class:`rstream.ray.Endpoint`."""

    def start(
        self,
        on_item: Callable[[Any], None],
        *,
        on_end: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        """Begin to read: call ``on_item`` for each item, and ``on_end`` once at the end."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


def from_endpoint(endpoint: EndpointLike) -> Observable[Any]:
    """An Observable of an endpoint's items.

    Subscribing starts the endpoint, so it can be subscribed once. Items are delivered in the
    endpoint's thread, so a slow pipeline slows the writers down. It completes when the endpoint is
    finished, and ends with an error when reading or the pipeline raised. Dispose closes the
    endpoint.

    Raises:
        TypeError: no endpoint.
    """
    if isinstance(endpoint, type) or not callable(getattr(endpoint, "start", None)):
        raise TypeError(
            f"from_endpoint({short(endpoint)}): must be an endpoint, such as "
            "rstream.ray.reader(name); from_stream(name) reads a stream without one"
        )

    def subscribe(
        observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        def on_end(error: BaseException | None) -> None:
            if error is None:
                observer.on_completed()
            elif isinstance(error, Exception):
                observer.on_error(error)
            else:
                observer.on_error(RuntimeError(f"endpoint ended by {error!r}"))

        gate = Gate()
        place = _place_of(endpoint)
        left_by: tally.QueueMarks | None = None  # of the queue that has disposed it
        is_disposed = False

        def on_next(item: Any) -> None:
            gate.wait()
            place.number += 1
            outer, tally.here.place = tally.here.place, place
            try:
                observer.on_next(item)
            finally:
                tally.here.place = outer
            if tally.leaving:
                tally.wait_until_left(lambda: is_disposed)
            if left_by is not None:
                left_by.hold_unarrived(place)

        def dispose() -> None:
            nonlocal left_by, is_disposed
            left_by, is_disposed = tally.here.leaving, True
            if place.tally is not None:
                place.tally.is_ending = True
            endpoint.close()

        endpoint.start(on_next, on_end=on_end)
        return Disposable(dispose)

    return Observable(subscribe)


def _place_of(endpoint: EndpointLike) -> Place:
    """Where its thread is. What waits in queues behind it does not count as consumed, unless the
    endpoint has ended and the queues hand it on.
    """
    face: Subscriber[Any] | None = getattr(endpoint, "source", None)
    if not isinstance(face, Subscriber):
        return Place(None, 0, lambda: None)
    source = reading_of(face)

    def settle() -> None:
        source.consume(source.rest.handed_out())

    tally = Tally(source, lambda: tally.place.number - source.rest.handed_out(), settle)
    return tally.place
