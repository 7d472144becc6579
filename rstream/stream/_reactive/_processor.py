"""A processor for one downstream subscriber: a function between upstream and downstream.

Demand passes through: a ``request(n)`` of downstream is a ``request(n)`` to upstream, so no element
waits here. Signals run in the upstream's thread.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream._checks import check_subscriber, check_subscription
from rstream.errors import LocalContractError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("MapProcessor",)

T = TypeVar("T")
R = TypeVar("R")


class MapProcessor(abc.Processor[T, R], Generic[T, R]):
    """Gives ``function(item)`` downstream; made by :func:`rstream.stream.processor`.

    One lock guards the fields; no call is made under it. Signals do not overlap (§1.3): what is
    requested in ``on_subscribe`` goes upstream when that returns, and a wrong ``request`` while a
    thread is in ``on_next`` leaves the error to that thread.
    """

    def __init__(self, function: Callable[[T], R]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._upstream: abc.Subscription | None = None
        self._downstream: abc.Subscriber[R] | None = None
        self._is_taken = False
        self._has_begun = False
        self._is_signalling = False  # a thread is in on_subscribe or on_next of downstream
        self._early: int | None = None  # requested in on_subscribe; None: it is not running
        self._end: Exception | None = None
        self._is_done = False

    # ---- publisher ----

    def subscribe(self, subscriber: abc.Subscriber[R]) -> None:
        check_subscriber(subscriber)
        with self._lock:
            is_refused, self._is_taken = self._is_taken, True
            if not is_refused:
                self._downstream = subscriber
        if is_refused:
            subscriber.on_subscribe(_Refused())
            subscriber.on_error(LocalContractError("§1.11: this processor serves one subscriber"))
            return
        self._begin()

    def _begin(self) -> None:
        """Hand the subscription over, once there are both sides or an end."""
        with self._lock:
            downstream = self._downstream
            is_ready = self._upstream is not None or self._is_done
            if downstream is None or self._has_begun or not is_ready:
                return
            self._has_begun = self._is_signalling = True
            self._early = 0
        try:
            downstream.on_subscribe(_Passed(self))
        finally:
            with self._lock:
                early, self._early = self._early, None
            self._signalled()
        upstream = self._upstream
        if early and upstream is not None:
            upstream.request(early)

    def _signalled(self) -> None:
        """A signal is over: signal the end, if it came meanwhile."""
        with self._lock:
            self._is_signalling = False
        self._finish()

    def _finish(self) -> None:
        with self._lock:
            if not (self._is_done and self._has_begun) or self._is_signalling:
                return
            downstream, self._downstream = self._downstream, None
        if downstream is None:
            return
        if self._end is None:
            downstream.on_complete()
        else:
            downstream.on_error(self._end)

    def request(self, n: int) -> None:
        """Demand of the downstream subscriber."""
        with self._lock:
            upstream = self._upstream
            if upstream is None or self._downstream is None:
                return
            if self._early is not None and n > 0:
                self._early = min(abc.UNBOUNDED, self._early + n)
                return
        if n > 0:
            upstream.request(n)
            return
        self.cancel_upstream()
        self._conclude(ValueError(f"§3.9: non-positive subscription request: request({n})"))

    def cancel_upstream(self) -> None:
        """The downstream subscriber has gone."""
        with self._lock:
            upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()

    def drop(self) -> None:
        """Cancellation by the downstream subscriber."""
        with self._lock:
            self._downstream = None
        self.cancel_upstream()

    # ---- subscriber ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        with self._lock:
            is_first = self._upstream is None and not self._is_done
            if is_first:
                self._upstream = subscription
        if not is_first:
            subscription.cancel()  # §2.5
            return
        self._begin()

    def on_next(self, item: T) -> None:
        if item is None:
            raise TypeError("§2.13: on_next(None)")
        with self._lock:
            downstream = self._downstream
            if downstream is None or self._is_done:
                return
            self._is_signalling = True
        try:
            try:
                result = self._function(item)
            except Exception as error:
                self.cancel_upstream()
                self._conclude(error)
                return
            downstream.on_next(result)
        finally:
            self._signalled()

    def on_error(self, error: Exception) -> None:
        if error is None:  # pyright: ignore[reportUnnecessaryComparison] - §2.13
            raise TypeError("§2.13: on_error(None)")
        self._conclude(error)

    def on_complete(self) -> None:
        self._conclude(None)

    def _conclude(self, error: Exception | None) -> None:
        with self._lock:
            if self._is_done:
                return
            self._is_done = True
            self._end = error
            self._upstream = None
        self._begin()
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
