"""The environment of a test, and the parts that it puts on both sides of the subject."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream._waits import Deadline
from rstream.tck._limit import Workers
from rstream.testing import TestSubscriber

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")


class Environment:
    """The times of one test and the errors that were found in other threads.

    Args:
        timeout_s, no_signals_s, collect_s: see :class:`Verification`.

    Thread rule: any thread.
    """

    def __init__(self, *, timeout_s: float, no_signals_s: float, collect_s: float) -> None:
        self.timeout_s = timeout_s
        self.no_signals_s = no_signals_s
        self.collect_s = collect_s
        self._lock = threading.Lock()
        self._flops: list[str] = []
        self._subscribers: list[TestSubscriber[Any]] = []
        self._workers = Workers()

    def flop(self, what: str) -> None:
        """Note an error; ``what`` begins with the rule's number."""
        with self._lock:
            self._flops.append(what)

    def verify_no_async_errors(self, *, wait: bool = False) -> None:
        """Raise what was noted so far.

        Args:
            wait: whether to give late errors ``no_signals_s`` seconds to show.
        Raises:
            AssertionError: an error was noted, or a publisher broke a rule.
        """
        if wait:
            time.sleep(self.no_signals_s)
        with self._lock:
            found = list(self._flops)
        for subscriber in self._subscribers:
            found += subscriber.violations
        if found:
            raise AssertionError("; ".join(found))

    def subscribe(
        self, publisher: abc.Publisher[T], subscriber: TestSubscriber[T] | None = None
    ) -> TestSubscriber[T]:
        """Subscribe; wait for ``on_subscribe``. The subscription is cancelled after the test."""
        if subscriber is None:
            subscriber = TestSubscriber()
        subscriber.timeout_s = self.timeout_s
        self._subscribers.append(subscriber)
        publisher.subscribe(subscriber)
        subscriber.expect_subscription()
        return subscriber

    def expect_none(self, *subscribers: TestSubscriber[Any]) -> None:
        """None of them gets a signal within ``no_signals_s`` seconds."""
        time.sleep(self.no_signals_s)
        for subscriber in subscribers:
            subscriber.expect_none(for_s=0)

    def until(self, is_true: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for a condition; False: not in time."""
        deadline = Deadline(timeout_s)
        while not is_true():
            if deadline.is_over:
                return False
            time.sleep(0.002)
        return True

    def asynchronous(self, publisher: abc.Publisher[T]) -> abc.Publisher[T]:
        """The same publisher; what it does in ``request`` is done in another thread."""
        return _Asynchronous(publisher, self._workers)

    def close(self) -> None:
        """Cancel what the test has left subscribed, and end the threads. Idempotent.

        Raises:
            AssertionError: a call in such a thread does not return.
        """
        for subscriber in self._subscribers:
            subscriber.cancel()
        self._workers.close(self.timeout_s)


class _Asynchronous(abc.Publisher[T], Generic[T]):
    """See :meth:`Environment.asynchronous`."""

    def __init__(self, publisher: abc.Publisher[T], workers: Workers) -> None:
        self._publisher = publisher
        self._workers = workers

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        self._publisher.subscribe(_Shifted(subscriber, self._workers))


class _Shifted(abc.Subscriber[T], abc.Subscription, Generic[T]):
    """Between the two: passes signals on, and requests in a thread of the workers."""

    def __init__(self, subscriber: abc.Subscriber[T], workers: Workers) -> None:
        self._workers = workers
        self._subscription: abc.Subscription | None = None
        self._subscriber = subscriber

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        self._subscription = subscription
        self._subscriber.on_subscribe(self)

    def on_next(self, item: T) -> None:
        self._subscriber.on_next(item)

    def on_error(self, error: Exception) -> None:
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._subscriber.on_complete()

    def request(self, n: int) -> None:
        subscription = self._subscription
        assert subscription is not None
        self._workers.submit(partial(subscription.request, n))

    def cancel(self) -> None:
        if self._subscription is not None:
            self._subscription.cancel()


class Upstream(abc.Subscription):
    """The subscription that a subscriber under test gets; driven by the test.

    Args:
        env: where breaches are noted.

    Thread rule: any thread.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._changed = threading.Condition()
        self._requests: list[int] = []
        self._taken = 0
        self._is_cancelled = False
        self._inside: tuple[int, str] | None = None  # thread and signal

    @property
    def requested(self) -> int:
        """Elements requested in all."""
        return sum(self._requests)

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._is_cancelled

    def request(self, n: int) -> None:
        """Note the request."""
        self._check("request")
        with self._changed:
            self._requests.append(n)
            self._changed.notify_all()

    def cancel(self) -> None:
        """Note the cancellation."""
        self._check("cancel")
        with self._changed:
            self._is_cancelled = True
            self._changed.notify_all()

    @contextmanager
    def no_calls_in(self, signal: str) -> Generator[None]:
        """The subscriber must make no call here while it is in this signal, in this thread (§2.3).

        Calls of other threads may have begun before the signal.
        """
        self._inside = (threading.get_ident(), signal)
        try:
            yield
        finally:
            self._inside = None

    def _check(self, call: str) -> None:
        inside = self._inside
        if inside is not None and inside[0] == threading.get_ident():
            self._env.flop(f"§2.3: {inside[1]} called Subscription.{call}")

    def expect_request(self) -> int:
        """Wait for the next call of ``request``; return its number."""
        self._expect(lambda: len(self._requests) > self._taken, "§2.1: expected a request")
        self._taken += 1
        return self._requests[self._taken - 1]

    def expect_requested(self, least: int) -> None:
        """Wait until so many elements were requested in all."""
        self._expect(
            lambda: self.requested >= least, f"§2.1: expected {least} elements to be requested"
        )

    def expect_cancel(self) -> None:
        """Wait for ``cancel``."""
        self._expect(lambda: self._is_cancelled, "expected cancel()")

    def _expect(self, is_there: Callable[[], bool], wanted: str) -> None:
        with self._changed:
            if not self._changed.wait_for(is_there, self._env.timeout_s):
                raise AssertionError(
                    f"{wanted}: not within {self._env.timeout_s} s; {self.requested} requested, "
                    f"{'' if self._is_cancelled else 'not '}cancelled"
                )
