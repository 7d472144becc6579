"""A processor for one downstream subscriber: a function between upstream and downstream.

Demand passes through: a ``request(n)`` of downstream is a ``request(n)`` to upstream, so no element
waits here. Signals run in the upstream's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream.errors import LocalContractError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("MapProcessor",)

T = TypeVar("T")
R = TypeVar("R")


class MapProcessor(abc.Processor[T, R], Generic[T, R]):
    """Gives ``function(item)`` downstream; made by :func:`rstream.stream.processor`."""

    def __init__(self, function: Callable[[T], R]) -> None:
        self._function = function
        self._upstream: abc.Subscription | None = None
        self._downstream: abc.Subscriber[R] | None = None
        self._is_taken = False
        self._end: Exception | None = None
        self._is_done = False

    # ---- publisher ----

    def subscribe(self, subscriber: abc.Subscriber[R]) -> None:
        if subscriber is None:  # pyright: ignore[reportUnnecessaryComparison] - §1.9
            raise TypeError("§1.9: the subscriber must not be None")
        if self._is_taken:
            subscriber.on_subscribe(_Refused())
            subscriber.on_error(LocalContractError("§1.11: this processor serves one subscriber"))
            return
        self._is_taken = True
        self._downstream = subscriber
        if self._upstream is not None or self._is_done:
            self._begin(subscriber)

    def _begin(self, subscriber: abc.Subscriber[R]) -> None:
        subscriber.on_subscribe(_Passed(self))
        if self._is_done and self._downstream is not None:
            self._finish()

    def _finish(self) -> None:
        downstream, self._downstream = self._downstream, None
        if downstream is None:
            return
        if self._end is None:
            downstream.on_complete()
        else:
            downstream.on_error(self._end)

    def request(self, n: int) -> None:
        """Demand of the downstream subscriber."""
        upstream = self._upstream
        if upstream is None or self._downstream is None:
            return
        if n > 0:
            upstream.request(n)
            return
        self.cancel_upstream()
        self._is_done = True
        self._end = ValueError(f"§3.9: non-positive subscription request: request({n})")
        self._finish()

    def cancel_upstream(self) -> None:
        """The downstream subscriber has gone."""
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()

    def drop(self) -> None:
        """Cancellation by the downstream subscriber."""
        self._downstream = None
        self.cancel_upstream()

    # ---- subscriber ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        if subscription is None:  # pyright: ignore[reportUnnecessaryComparison] - §2.13
            raise TypeError("§2.13: on_subscribe(None)")
        if self._upstream is not None or self._is_done:
            subscription.cancel()  # §2.5
            return
        self._upstream = subscription
        if self._downstream is not None:
            self._begin(self._downstream)

    def on_next(self, item: T) -> None:
        if item is None:
            raise TypeError("§2.13: on_next(None)")
        downstream = self._downstream
        if downstream is None or self._is_done:
            return
        try:
            result = self._function(item)
        except Exception as error:
            self.cancel_upstream()
            self.on_error(error)
            return
        downstream.on_next(result)

    def on_error(self, error: Exception) -> None:
        if error is None:  # pyright: ignore[reportUnnecessaryComparison] - §2.13
            raise TypeError("§2.13: on_error(None)")
        self._conclude(error)

    def on_complete(self) -> None:
        self._conclude(None)

    def _conclude(self, error: Exception | None) -> None:
        if self._is_done:
            return
        self._is_done = True
        self._end = error
        self._upstream = None
        self._finish()


class _Passed(abc.Subscription):
    """The subscription of the downstream subscriber."""

    def __init__(self, processor: MapProcessor[Any, Any]) -> None:
        self._processor = processor

    def request(self, n: int) -> None:
        if type(n) is not int:
            raise TypeError(f"request({n!r}): the number of elements must be an int")
        self._processor.request(n)

    def cancel(self) -> None:
        self._processor.drop()


class _Refused(abc.Subscription):
    """The subscription of a subscriber that is refused."""

    def request(self, n: int) -> None:
        """Nothing comes."""

    def cancel(self) -> None:
        """Nothing to stop."""
