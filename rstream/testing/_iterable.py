"""A publisher of the elements of an iterable, under the whole contract.

Theory of operation. Each subscription has an iterator of its own and looks one element ahead, so
that the end comes without demand (§2.9). ``request`` adds to the demand; the first thread that
finds work does it, and looks again before it leaves. So signals come one after the other (§1.3)
and a request inside ``on_next`` does not nest (§3.3).
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from rstream import abc
from rstream.flow.demand import Demand
from rstream.flow.states import Signal, State, next_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

log = logging.getLogger("rstream")

T = TypeVar("T")

_NOTHING: Final = object()


class IterablePublisher(abc.Publisher[T], Generic[T]):
    """Gives each subscriber the elements of an iterable.

    An exception of the iterable ends the stream with that error.

    Args:
        items: a list, a range, or whatever can be iterated anew for each subscriber; an iterator
            can serve one subscriber.
        run: how work is started: called with a function. None: the thread that requests does it.
            ``pool.submit`` of a ``ThreadPoolExecutor`` makes the publisher asynchronous.

    Thread rule: any thread.

    Example::

        IterablePublisher(range(100)).subscribe(subscriber_under_test)
    """

    def __init__(
        self, items: Iterable[T], *, run: Callable[[Callable[[], None]], object] | None = None
    ) -> None:
        self._items = items
        self._run = run or _at_once

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        """Start a subscription from the first element."""
        if subscriber is None:  # pyright: ignore[reportUnnecessaryComparison] - §1.9
            raise TypeError("§1.9: the subscriber must not be None")
        _Emission(self._items, subscriber, self._run).begin()


def _at_once(work: Callable[[], None]) -> None:
    work()


class _Emission(abc.Subscription, Generic[T]):
    """One subscription. The lock guards state, demand, failure and who works; no call is made
    under it.
    """

    def __init__(
        self,
        items: Iterable[T],
        subscriber: abc.Subscriber[T],
        run: Callable[[Callable[[], None]], object],
    ) -> None:
        self._subscriber: abc.Subscriber[T] | None = subscriber
        self._run = run
        self._lock = threading.Lock()
        self._state = State.NEW
        self._demand = Demand()
        self._failure: Exception | None = None
        self._is_due = False  # there may be something to do
        self._is_working = False  # a thread does it, or was started to do it
        self._items: Iterator[T] = iter(())
        self._ahead: object = _NOTHING
        self._source = items

    def begin(self) -> None:
        subscriber = self._subscriber
        assert subscriber is not None
        self._state = State.ACTIVE
        self._is_working = True  # on_subscribe comes before every other signal
        try:
            self._items = iter(self._source)
        except Exception as error:
            self._failure = error
        try:
            subscriber.on_subscribe(self)
        except Exception:
            self._broken("on_subscribe")
        with self._lock:
            self._is_due, self._is_working = False, True
        self._run(self._work)

    # ---- the subscriber's calls ----

    def request(self, n: int) -> None:
        with self._lock:
            if next_state(self._state, Signal.REQUEST) is None:
                return
            try:
                self._demand.add(n)
            except ValueError as error:
                self._failure = self._failure or error
        self._wake()

    def cancel(self) -> None:
        with self._lock:
            state = next_state(self._state, Signal.CANCEL)
            if state is None:
                return
            self._state = state
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            self._is_due = True
            if self._is_working:
                return
            self._is_working = True
        self._run(self._work)

    # ---- the work: one thread at a time ----

    def _work(self) -> None:
        while True:
            with self._lock:
                self._is_due = False
            self._signal_all()
            with self._lock:
                if not self._is_due:
                    self._is_working = False
                    return

    def _signal_all(self) -> None:
        """Signal what may be signalled now."""
        while not self._state.is_terminal:
            if self._failure is None and self._ahead is _NOTHING:
                self._look_ahead()
            if self._failure is not None:
                self._end(Signal.ON_ERROR)
            elif self._ahead is _NOTHING:
                self._end(Signal.ON_COMPLETE)
            elif not self._give_one():
                return
        # Also after a cancellation: nothing may hold the subscriber (§3.13).
        self._subscriber = None
        self._items, self._source, self._ahead = iter(()), (), _NOTHING

    def _look_ahead(self) -> None:
        try:
            self._ahead = next(self._items, _NOTHING)
        except Exception as error:  # a failure of the iterable reaches the subscriber (§1.4)
            self._failure = error

    def _give_one(self) -> bool:
        """Signal the element ahead; False: there is no demand."""
        with self._lock:
            if self._state is not State.ACTIVE or self._failure is not None:
                return True
            if self._demand.pending == 0:
                return False
            self._demand.take()
        item, self._ahead = self._ahead, _NOTHING
        subscriber = self._subscriber
        assert subscriber is not None
        try:
            subscriber.on_next(item)  # pyright: ignore[reportArgumentType] - it is no _NOTHING
        except Exception:
            self._broken("on_next")
        return True

    def _end(self, signal: Signal) -> None:
        with self._lock:
            state = next_state(self._state, signal)
            if state is None:
                return
            self._state = state
        subscriber = self._subscriber
        assert subscriber is not None
        try:
            if self._failure is None:
                subscriber.on_complete()
            else:
                subscriber.on_error(self._failure)
        except Exception:
            log.exception("IterablePublisher: the subscriber's terminal signal raised")

    def _broken(self, signal: str) -> None:
        """Cancel a subscriber that raised (§2.13), and log it."""
        log.exception("IterablePublisher: the subscriber's %s raised; it is cancelled", signal)
        self.cancel()
