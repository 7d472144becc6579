"""The publisher of tests."""

from __future__ import annotations

import threading
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rstream import abc
from rstream._checks import check_seconds, check_subscriber, check_timeout
from rstream._waits import Deadline
from rstream.errors import LocalContractError
from rstream.flow.demand import Demand

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Violation(Enum):
    """A rule that a :class:`TestPublisher` breaks on purpose."""

    #: §1.1: ``next`` sends elements that were not requested.
    BEYOND_DEMAND = "§1.1"
    #: §1.3: ``next`` sends its elements at the same time, each in a thread of its own.
    OVERLAPPING = "§1.3"
    #: §1.7: signals go on after the end.
    AFTER_END = "§1.7"
    #: §1.8: signals go on after ``cancel``.
    AFTER_CANCEL = "§1.8"
    #: §1.9: ``on_subscribe`` never comes.
    NO_SUBSCRIPTION = "§1.9"
    #: §2.12: ``on_subscribe`` comes twice.
    TWO_SUBSCRIPTIONS = "§2.12"
    #: §2.13: None may be sent as an element.
    NONE_ELEMENT = "§2.13"
    #: §3.9: ``request(0)`` leads to no error.
    NO_REQUEST_CHECK = "§3.9"


class TestPublisher(abc.Publisher[T], Generic[T]):
    """Signals when the test says so, to one subscriber at a time.

    It keeps the contract: what would break it is an ``AssertionError`` of the call, and after
    ``cancel`` nothing is signalled. Each :class:`Violation` given allows one breach, to see what a
    subscriber makes of it. When a subscription has ended, another subscriber may come (a retry).

    Args:
        violations: the rules that it breaks.
        timeout_s: most seconds that a wait takes where the call names none.

    Thread rules: the subscriber's calls come from any thread. ``next``, ``complete`` and ``error``
    signal in the caller's thread, one thread at a time; what the subscriber raises comes out there.

    Example::

        source = TestPublisher()
        source.subscribe(subscriber_under_test)
        source.await_request(2)  # it has asked for two elements or more
        source.next("a", "b")
        source.complete()
    """

    __test__: ClassVar[bool] = False  # pytest: this is no test

    def __init__(self, *violations: Violation, timeout_s: float = 5.0) -> None:
        check_seconds("timeout_s", timeout_s)
        self.timeout_s = timeout_s
        self._violations = frozenset(violations)
        self._changed = threading.Condition()
        self._link: _ProbeLink[T] | None = None
        self._subscribe_count = 0

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        """Take the subscriber, unless there is one already: then refuse it (§1.11)."""
        check_subscriber(subscriber)
        link = _ProbeLink(subscriber, self._changed, Violation.NO_REQUEST_CHECK in self._violations)
        with self._changed:
            is_taken = self._link is not None and self._link.is_active
            if not is_taken:
                self._link = link
                self._subscribe_count += 1
        if Violation.NO_SUBSCRIPTION not in self._violations:
            subscriber.on_subscribe(link)
        if is_taken:
            link.end()
            subscriber.on_error(
                LocalContractError("§1.11: a TestPublisher serves one subscriber at a time")
            )
            return
        if Violation.TWO_SUBSCRIPTIONS in self._violations:
            subscriber.on_subscribe(link)
        with self._changed:
            self._changed.notify_all()

    # ---- signals ----

    def next(self, *items: T) -> None:
        """Send elements.

        Raises:
            AssertionError: they were not requested, or the stream has ended.
        """
        if Violation.OVERLAPPING in self._violations:
            threads = [threading.Thread(target=self._next, args=(item,)) for item in items]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return
        for item in items:
            self._next(item)

    def complete(self) -> None:
        """Complete the stream."""
        self._end("complete()", lambda subscriber: subscriber.on_complete())

    def error(self, error: Exception) -> None:
        """End the stream with an error."""
        self._end(f"error({error!r})", lambda subscriber: subscriber.on_error(error))

    def _next(self, item: Any) -> None:
        is_none = item is None
        if is_none:
            self._need(Violation.NONE_ELEMENT, "next(None): an element is not None")
        link = self._current(f"next({item!r})")
        if link is None:
            return
        if not link.take():
            self._need(
                Violation.BEYOND_DEMAND,
                f"next({item!r}): not requested; {link.requested} were requested in all",
            )
        link.subscriber.on_next(item)

    def _end(self, what: str, signal: Callable[[abc.Subscriber[T]], None]) -> None:
        link = self._current(what)
        if link is not None:
            link.end()
            signal(link.subscriber)

    def _current(self, what: str) -> _ProbeLink[T] | None:
        """The subscription to signal to; None: it was cancelled."""
        link = self._link
        if link is None:
            raise AssertionError(f"{what}: there is no subscriber; call subscribe() first")
        if link.has_ended:
            self._need(Violation.AFTER_END, f"{what}: the stream has ended")
        elif link.is_cancelled and Violation.AFTER_CANCEL not in self._violations:
            return None
        return link

    def _need(self, violation: Violation, what: str) -> None:
        if violation not in self._violations:
            raise AssertionError(
                f"{what}. To break rule {violation.value} on purpose, make it with "
                f"TestPublisher(Violation.{violation.name})"
            )

    # ---- what the subscriber did ----

    @property
    def requested(self) -> int:
        """Elements that the subscriber of now has requested in all."""
        return 0 if self._link is None else self._link.requested

    @property
    def pending(self) -> int:
        """Elements that it has requested, and not got yet."""
        return 0 if self._link is None else self._link.pending

    @property
    def is_cancelled(self) -> bool:
        """Whether it has cancelled."""
        return self._link is not None and self._link.is_cancelled

    @property
    def subscribe_count(self) -> int:
        """Subscribers that were taken so far."""
        return self._subscribe_count

    def await_subscriber(self, count: int = 1, *, timeout_s: float | None = None) -> None:
        """Wait until ``count`` subscribers have come in all."""
        self._await(lambda: self._subscribe_count >= count, f"{count} subscribers", timeout_s)

    def await_request(self, n: int = 1, *, timeout_s: float | None = None) -> None:
        """Wait until at least ``n`` elements are requested and not sent yet."""
        self._await(lambda: self.pending >= n, f"a request of {n} elements", timeout_s)

    def await_cancel(self, *, timeout_s: float | None = None) -> None:
        """Wait until the subscriber has cancelled."""
        self._await(lambda: self.is_cancelled, "a cancellation", timeout_s)

    def _await(self, is_there: Callable[[], bool], wanted: str, timeout_s: float | None) -> None:
        check_timeout(timeout_s)
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        deadline = Deadline(limit_s)
        with self._changed:
            while not is_there():
                if deadline.is_over:
                    raise AssertionError(
                        f"expected {wanted}: not within {limit_s} s; {self._subscribe_count} "
                        f"subscribers, {self.requested} requested, {self.pending} of them not sent"
                    )
                self._changed.wait(deadline.left_s())


class _ProbeLink(abc.Subscription, Generic[T]):
    """One subscription. The condition of its publisher guards it."""

    def __init__(
        self, subscriber: abc.Subscriber[T], changed: threading.Condition, is_lax: bool
    ) -> None:
        self.subscriber = subscriber
        self.requested = 0
        self.is_cancelled = False
        self.has_ended = False
        self._changed = changed
        self._is_lax = is_lax
        self._demand = Demand()

    @property
    def is_active(self) -> bool:
        return not (self.is_cancelled or self.has_ended)

    @property
    def pending(self) -> int:
        return self._demand.pending

    def request(self, n: int) -> None:
        error = None
        with self._changed:
            if not self.is_active:
                return
            try:
                self._demand.add(n)
                self.requested = min(abc.UNBOUNDED, self.requested + n)
            except ValueError as wrong:
                if not self._is_lax:
                    error = wrong
                    self.has_ended = True
            self._changed.notify_all()
        if error is not None:
            self.subscriber.on_error(error)

    def cancel(self) -> None:
        with self._changed:
            self.is_cancelled = True
            self._changed.notify_all()

    def take(self) -> bool:
        """Take one of the demand; False: there is none."""
        with self._changed:
            if self._demand.pending == 0:
                return False
            self._demand.take()
            return True

    def end(self) -> None:
        """After this no signal is due."""
        with self._changed:
            self.has_ended = True
