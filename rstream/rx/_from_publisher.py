"""A Reactive Streams publisher as an Observable: it is asked for more as items are done."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import reactivex
from reactivex.disposable import Disposable

from rstream import abc
from rstream._checks import check_publisher, check_subscription
from rstream.rx._ends import failures, tell_end
from rstream.rx._queue import check_capacity
from rstream.rx._subscribing import run_when_subscribed

if TYPE_CHECKING:
    from reactivex import Observable

T = TypeVar("T")

PREFETCH: Final = 256


def from_publisher(publisher: abc.Publisher[T], *, prefetch: int = PREFETCH) -> Observable[T]:
    """An Observable of a :class:`rstream.abc.Publisher`, which is asked for ``prefetch`` items.

    An item counts as done when ``on_next`` of the observer has returned; when half of ``prefetch``
    is done, as much is requested again. Here with 4::

        request(n)     4- - - - 2- - - 2
        on_next        -1-2-3-4- -5-6- -7..
                       from_publisher(p, prefetch=4)
        observer       -1-2-3-4- -5-6- -7..

    So the publisher makes at most ``prefetch`` items that are not done. They are delivered in its
    thread. What the observer raises cancels the subscription and reaches ``on_error``, not the
    publisher.

    Args:
        publisher: any, such as :func:`rstream.stream.source`.
        prefetch: most items that are requested and not done, at least 1.
    Returns:
        A cold Observable: each ``subscribe`` subscribes the publisher. Dispose cancels.
    Raises:
        ConfigError: ``prefetch`` cannot be used.
        TypeError: no publisher.

    Example::

        rx.from_publisher(rstream.stream.source("ticks"), prefetch=64).subscribe(print)
    """
    check_publisher("from_publisher", publisher)
    check_capacity("from_publisher", "prefetch", prefetch)

    def subscribe(
        observer: reactivex.abc.ObserverBase[T],
        scheduler: reactivex.abc.SchedulerBase | None = None,
    ) -> reactivex.abc.DisposableBase:
        requesting = _Requesting(observer, prefetch)
        publisher.subscribe(requesting)
        # So dispose reaches the publisher even if it delivers inside ``request``.
        run_when_subscribed(requesting.begin)
        return Disposable(requesting.dispose)

    return reactivex.Observable(subscribe)


class _Requesting(abc.Subscriber[T], Generic[T]):
    """The subscriber of one subscription. ``_lock`` guards what dispose and signals share."""

    def __init__(self, observer: reactivex.abc.ObserverBase[T], prefetch: int) -> None:
        self._observer = observer
        self._prefetch = prefetch
        self._chunk = (prefetch + 1) // 2
        self._done_count = 0  # since the last request; signals are serial (§1.3)
        self._lock = threading.Lock()
        self._upstream: abc.Subscription | None = None
        self._has_begun = self._is_over = False

    def begin(self) -> None:
        """Make the first request, now or when there is a subscription."""
        with self._lock:
            self._has_begun = True
            upstream = self._upstream
        if upstream is not None:
            upstream.request(self._prefetch)

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        with self._lock:
            is_wanted = self._upstream is None and not self._is_over
            if is_wanted:
                self._upstream = subscription
            has_begun = self._has_begun
        if not is_wanted:
            subscription.cancel()  # §2.5
        elif has_begun:
            subscription.request(self._prefetch)

    def on_next(self, item: T) -> None:
        if item is None:
            raise TypeError("§2.13: on_next(None)")
        if self._is_over:
            return  # §2.8
        try:
            self._observer.on_next(item)
        except failures() as error:
            self.dispose()
            tell_end("from_publisher", self._observer, error)
            return
        self._done_count += 1
        if self._done_count >= self._chunk:
            done, self._done_count = self._done_count, 0
            upstream = self._upstream
            if upstream is not None:
                upstream.request(done)

    def on_error(self, error: Exception) -> None:
        if error is None:  # pyright: ignore[reportUnnecessaryComparison] - §2.13
            raise TypeError("§2.13: on_error(None)")
        if self._end():
            tell_end("from_publisher", self._observer, error)

    def on_complete(self) -> None:
        if self._end():
            tell_end("from_publisher", self._observer, None)

    def _end(self) -> bool:
        with self._lock:
            is_first, self._is_over = not self._is_over, True
            self._upstream = None
        return is_first

    def dispose(self) -> None:
        """Cancel; the item being delivered is the last one."""
        with self._lock:
            self._is_over = True
            upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()
