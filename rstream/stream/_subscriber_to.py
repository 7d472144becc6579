"""A Reactive Streams subscriber that publishes: on_next → transport, window → request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream.flow.batching import Replenisher

if TYPE_CHECKING:
    from rstream.stream._publisher import Publisher

__all__ = ("StreamSubscriber",)

log = logging.getLogger("rstream")

T = TypeVar("T")


class StreamSubscriber(abc.Subscriber[T], Generic[T]):
    """Sends every element; made by :func:`rstream.stream.subscriber_to`.

    ``on_next`` waits while the readers have no room, so a slow reader holds the upstream's thread
    (§2.2 is a recommendation; put an executor in front where the upstream must not wait). Demand is
    requested in batches. Completion completes the stream, an error ends it with its text; a
    failure to send cancels the upstream and is logged.
    """

    def __init__(self, publisher: Publisher[T], window: int) -> None:
        self.publisher: Publisher[T] = publisher
        self._replenisher = Replenisher(window)
        self._upstream: abc.Subscription | None = None
        self._is_done = False

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        _refuse_none(subscription, "on_subscribe")
        if self._upstream is not None or self._is_done:
            subscription.cancel()  # §2.5
            return
        self._upstream = subscription
        subscription.request(self._replenisher.window)

    def on_next(self, item: T) -> None:
        _refuse_none(item, "on_next")
        if self._is_done:
            return  # §2.8
        try:
            self.publisher.send(item)
        except Exception as error:
            self._fail(error)
            return
        request = self._replenisher.consumed()
        if request and self._upstream is not None:
            self._upstream.request(request)

    def on_error(self, error: Exception) -> None:
        _refuse_none(error, "on_error")
        if not self._is_done:
            self._is_done = True
            self._upstream = None
            self.publisher.fail(error)

    def on_complete(self) -> None:
        if not self._is_done:
            self._is_done = True
            self._upstream = None
            self.publisher.close()

    def cancel(self) -> None:
        """Stop taking elements and complete the stream; the owner's call, not a signal."""
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()
        self.on_complete()

    def _fail(self, error: Exception) -> None:
        self._is_done = True
        log.error("%r: sending failed, the upstream is cancelled: %s", self.publisher, error)
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()
        self.publisher.fail(error)


def _refuse_none(value: Any, signal: str) -> None:
    if value is None:
        raise TypeError(f"§2.13: {signal}(None)")
