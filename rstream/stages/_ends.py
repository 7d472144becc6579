"""The two ends of a pipeline inside a program: elements of an iterable, and a function for each."""

from __future__ import annotations

import queue
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream._checks import (
    check_function,
    check_publisher,
    check_subscriber,
    check_subscription,
    check_timeout,
    is_whole,
)
from rstream.errors import ConfigError, ReadTimeout
from rstream.flow.demand import Demand
from rstream.stages._link import end, log, refuse_none, whole
from rstream.stages._serial import Serial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ("for_each", "from_iterable")

T = TypeVar("T")


class _Step(Enum):
    BEGIN = auto()
    CANCEL = auto()


class _Iterated(abc.Publisher[T], Generic[T]):
    def __init__(self, items: Iterable[T]) -> None:
        self._items = items

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        check_subscriber(subscriber)
        _Walk(subscriber, self._items).begin()


class _Walk(abc.Subscription, Generic[T]):
    """One subscription; elements come from the thread that requests them."""

    def __init__(self, subscriber: abc.Subscriber[T], items: Iterable[T]) -> None:
        self._subscriber: abc.Subscriber[T] | None = subscriber
        self._items = items
        self._iterator: Iterator[T] | None = None
        self._ahead: list[T] = []  # the next element, looked up to see the end without demand
        self._demand = Demand()
        self._serial: Serial[int | _Step] = Serial(self._handle, self._settle)

    def begin(self) -> None:
        self._serial.post(_Step.BEGIN)

    def request(self, n: int) -> None:
        self._serial.post(whole(n))

    def cancel(self) -> None:
        self._serial.post(_Step.CANCEL)

    def _handle(self, posted: int | _Step) -> None:
        subscriber = self._subscriber
        if subscriber is None:
            return
        if posted is _Step.CANCEL:
            self._drop()
        elif posted is _Step.BEGIN:
            self._start(subscriber)
        else:
            try:
                self._demand.add(posted)
            except ValueError as error:
                self._end(error)

    def _start(self, subscriber: abc.Subscriber[T]) -> None:
        try:
            subscriber.on_subscribe(self)
        except Exception:
            self._broken("on_subscribe")
            return
        try:
            self._iterator = iter(self._items)
        except Exception as error:
            self._end(error)

    def _settle(self) -> None:
        while not self._serial.has_news and (subscriber := self._subscriber) is not None:
            if not self._ahead and not self._look_ahead():
                return
            if not self._demand.pending:
                return
            self._demand.take()
            try:
                subscriber.on_next(self._ahead.pop())
            except Exception:
                self._broken("on_next")

    def _look_ahead(self) -> bool:
        """Fetch the next element; without one, end."""
        iterator = self._iterator
        assert iterator is not None
        try:
            self._ahead.append(next(iterator))
            return True
        except StopIteration:
            self._end(None)
        except Exception as error:
            self._end(error)
        return False

    def _broken(self, signal: str) -> None:
        log.exception("from_iterable: the subscriber's %s raised; it is cancelled", signal)
        self._drop()

    def _drop(self) -> None:
        self._subscriber = self._iterator = None
        self._ahead.clear()

    def _end(self, error: Exception | None) -> None:
        subscriber = self._subscriber
        self._drop()
        if subscriber is not None:
            end(subscriber, error, "from_iterable")


def from_iterable(items: Iterable[T]) -> abc.Publisher[T]:
    """A publisher of the elements of an iterable; each subscriber iterates anew.

    The elements come from the thread that requests them. One is fetched ahead of the demand, so
    that the end comes without demand.

    Args:
        items: no element may be None (§2.13).

    Example::

        stages.from_iterable(range(10)).subscribe(subscriber)
    """
    return _Iterated(items)


class _Each(abc.Subscriber[Any]):
    """Puts signals into a queue that a thread takes from."""

    def __init__(self, prefetch: int) -> None:
        self.prefetch = prefetch
        self.subscription: abc.Subscription | None = None
        # Bounded by what is requested: prefetch elements, and the end.
        self.signals: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        if self.subscription is not None:
            subscription.cancel()  # §2.5
            return
        self.subscription = subscription
        subscription.request(self.prefetch)

    def on_next(self, item: Any) -> None:
        refuse_none(item, "on_next")
        self.signals.put((False, item))

    def on_error(self, error: Exception) -> None:
        refuse_none(error, "on_error")
        self.signals.put((True, error))

    def on_complete(self) -> None:
        self.signals.put((True, None))


def for_each(
    source: abc.Publisher[T],
    function: Callable[[T], object],
    *,
    prefetch: int = 64,
    timeout_s: float | None = None,
) -> int:
    """Call ``function`` with each element, in this thread, until the source ends.

    Args:
        source: whose elements.
        function: an exception of it cancels the source, and is raised here.
        prefetch: most elements requested and not handled yet.
        timeout_s: most seconds to wait for one element; None: as long as it takes.
    Returns:
        How many elements there were.
    Raises:
        Exception: the error of the source.
        TypeError: ``source`` is no publisher, or ``function`` no function.
        ReadTimeout: no element and no end within ``timeout_s``. The source is cancelled.

    Example::

        stages.for_each(stages.from_iterable("abc"), print)
    """
    if not is_whole(prefetch) or prefetch < 1:
        raise ConfigError(f"prefetch={prefetch!r}: must be a whole number, at least 1")
    check_timeout(timeout_s)
    check_publisher("for_each", source)
    check_function("for_each: function", function)
    each = _Each(prefetch)
    source.subscribe(each)
    count = done = 0
    try:
        while True:
            is_end, value = each.signals.get(timeout=timeout_s)
            if is_end:
                each.subscription = None
                if value is not None:
                    raise value
                return count
            function(value)
            count += 1
            done += 1
            if done * 4 >= prefetch and each.subscription is not None:
                each.subscription.request(done)
                done = 0
    except queue.Empty:
        raise ReadTimeout(f"{source!r}: no element within {timeout_s} s") from None
    finally:
        if each.subscription is not None:
            each.subscription.cancel()
