"""The subscriber of tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rstream import abc
from rstream._checks import check_seconds, check_timeout
from rstream.testing._recorder import Complete, Error, Next, Recorder, Signal

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class TestSubscriber(abc.Subscriber[T], Generic[T]):
    """Asks by hand, records every signal, and says which rules the publisher broke.

    The ``expect_`` methods read the signals one after the other, and wait for the next one. The
    ``assert_`` methods look at everything that has come so far, and do not wait.

    Args:
        initial_request: elements to request in ``on_subscribe``; 0: nothing is requested.
        on_next: called with each element, in the publisher's thread.
        timeout_s: most seconds that a wait takes where the call names none.
        pump: called again and again while a wait lasts, for publishers that work in the caller's
            thread: ``executor.run_pending`` of a :class:`rstream.stream.CallerExecutor`.

    Thread rules: signals from any thread, all other calls from one thread at a time. Every signal
    is kept, so a test of very many elements counts them in ``on_next`` of a subscriber of its own.

    Example::

        seen = TestSubscriber(initial_request=2)
        publisher.subscribe(seen)
        seen.expect_next("a", "b")
        seen.expect_none()  # no third one without a request
        seen.request(1)
        seen.expect_complete()
        seen.assert_no_violations()
    """

    __test__: ClassVar[bool] = False  # pytest: this is no test

    def __init__(
        self,
        *,
        initial_request: int = 0,
        on_next: Callable[[T], object] | None = None,
        timeout_s: float = 5.0,
        pump: Callable[[], object] | None = None,
    ) -> None:
        check_seconds("timeout_s", timeout_s)
        self.timeout_s = timeout_s
        self._initial_request = initial_request
        self._call = on_next
        self._record: Recorder[T] = Recorder(pump)
        self._subscription: abc.Subscription | None = None

    # ---- signals ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        """Keep the first subscription and cancel any other (§2.5)."""
        with self._record.inside("on_subscribe"):
            self._record.refuse_none(subscription, "on_subscribe")
            if not self._record.subscribed():
                subscription.cancel()
                return
            self._subscription = subscription
            self.subscribed()

    def subscribed(self) -> None:
        """What happens in ``on_subscribe``: the initial request. A subclass may do more."""
        if self._initial_request:
            self.request(self._initial_request)

    def on_next(self, item: T) -> None:
        """Record an element, and give it to the function that was asked for."""
        with self._record.inside("on_next"):
            self._record.refuse_none(item, "on_next")
            self._record.record(Next(item))
            self.received(item)

    def received(self, item: T) -> None:
        """What happens in ``on_next``: the user's function. A subclass may do more."""
        if self._call is not None:
            self._call(item)

    def on_error(self, error: Exception) -> None:
        """Record the error."""
        with self._record.inside("on_error", is_end=True):
            self._record.refuse_none(error, "on_error")
            self._record.record(Error(error))

    def on_complete(self) -> None:
        """Record the end."""
        with self._record.inside("on_complete", is_end=True):
            self._record.record(Complete())

    # ---- calls to the publisher ----

    @property
    def subscription(self) -> abc.Subscription:
        """The subscription.

        Raises:
            AssertionError: there was no ``on_subscribe``.
        """
        if self._subscription is None:
            raise AssertionError(f"§1.9: no on_subscribe; {self._record.story()}")
        return self._subscription

    def request(self, n: int) -> None:
        """Ask for ``n`` more elements; also wrong numbers go to the publisher as they are."""
        subscription = self.subscription
        self._record.requesting(n)
        subscription.request(n)

    def cancel(self) -> None:
        """Cancel the subscription, if there is one."""
        if self._subscription is not None:
            self._subscription.cancel()

    # ---- what has come ----

    @property
    def signals(self) -> list[Signal[T]]:
        """All elements and ends so far, in their order."""
        return list(self._record.signals)

    @property
    def values(self) -> list[T]:
        """All elements so far, in their order."""
        return [signal.value for signal in self.signals if isinstance(signal, Next)]

    @property
    def violations(self) -> list[str]:
        """Which rules the publisher broke so far, with the rule's number."""
        return list(self._record.violations)

    @property
    def requested(self) -> int:
        """Elements requested in all; 2**63 - 1 and more is that number."""
        return self._record.requested

    @property
    def read_count(self) -> int:
        """Signals that expectations have read so far."""
        return self._record.read_count

    @property
    def has_ended(self) -> bool:
        """Whether an error or the completion has come."""
        return self._record.has_ended

    # ---- expectations, one signal after the other ----

    def expect_subscription(self, *, timeout_s: float | None = None) -> abc.Subscription:
        """Wait for ``on_subscribe``; return the subscription."""
        self._record.wait(
            lambda: self._subscription is not None, self._limit(timeout_s), "on_subscribe"
        )
        return self.subscription

    def take(self, count: int = 1, *, timeout_s: float | None = None) -> list[T]:
        """Wait for ``count`` more elements and return them.

        Raises:
            AssertionError: an end came first, or they did not all come in time.
        """
        return [self._element(f"element {at + 1} of {count}", timeout_s) for at in range(count)]

    def expect_next(self, *values: T, timeout_s: float | None = None) -> None:
        """The next elements are equal to ``values``; waits for them.

        Raises:
            AssertionError: another element or an end came, or nothing in time.
        """
        for value in values:
            item = self._element(repr(value), timeout_s)
            if item != value:
                raise AssertionError(f"expected {value!r}, got {item!r}; {self._record.story()}")

    def expect_complete(self, *, timeout_s: float | None = None) -> None:
        """The next signal is the completion; waits for it."""
        signal = self._record.take(self._limit(timeout_s), "expected completion")
        if not isinstance(signal, Complete):
            raise AssertionError(f"expected completion, got {signal!r}; {self._record.story()}")

    def expect_error(
        self,
        kind: type[Exception] = Exception,
        *,
        match: str | None = None,
        timeout_s: float | None = None,
    ) -> Exception:
        """The next signal is an error; waits for it.

        Args:
            kind: class of the error.
            match: a regular expression that is found in its text.
        Returns:
            The error.
        """
        wanted = _wanted_error(kind, match)
        signal = self._record.take(self._limit(timeout_s), wanted)
        if not isinstance(signal, Error) or not _is_wanted(signal.error, kind, match):
            raise AssertionError(f"{wanted}, got {signal!r}; {self._record.story()}")
        return signal.error

    def expect_none(self, *, for_s: float = 0.1) -> None:
        """No further signal comes for so many seconds.

        Raises:
            AssertionError: one came.
        """
        check_seconds("for_s", for_s)
        record = self._record
        if record.until(lambda: len(record.signals) > record.read_count, for_s):
            signal = record.signals[record.read_count]
            raise AssertionError(f"expected no signal, got {signal!r}; {record.story()}")

    # ---- waits and assertions over everything ----

    def await_count(self, count: int, *, timeout_s: float | None = None) -> None:
        """Wait until ``count`` elements have come in all; more are no failure."""
        record = self._record
        record.wait(
            lambda: record.next_count >= count, self._limit(timeout_s), f"{count} elements in all"
        )

    def await_end(self, *, timeout_s: float | None = None) -> None:
        """Wait for the completion or an error."""
        record = self._record
        record.wait(
            lambda: any(not isinstance(signal, Next) for signal in record.signals[-1:]),
            self._limit(timeout_s),
            "an end",
        )

    def assert_values(self, *values: T) -> None:
        """All elements so far are equal to ``values``."""
        if self.values != list(values):
            raise AssertionError(f"expected {list(values)!r}, got {self.values!r}")

    def assert_complete(self) -> None:
        """The stream has completed."""
        self._assert_end(lambda end: isinstance(end, Complete), "completion")

    def assert_error(self, kind: type[Exception] = Exception, *, match: str | None = None) -> None:
        """The stream has ended with such an error; see :meth:`expect_error`."""
        self._assert_end(
            lambda end: isinstance(end, Error) and _is_wanted(end.error, kind, match),
            _wanted_error(kind, match),
        )

    def assert_not_ended(self) -> None:
        """Neither an error nor the completion has come."""
        if self.has_ended:
            raise AssertionError(f"the stream has ended; {self._record.story()}")

    def assert_no_violations(self) -> None:
        """The publisher kept the contract so far."""
        if self._record.violations:
            raise AssertionError("; ".join(self._record.violations))

    # ---- parts ----

    def _limit(self, timeout_s: float | None) -> float:
        check_timeout(timeout_s)
        return self.timeout_s if timeout_s is None else timeout_s

    def _element(self, wanted: str, timeout_s: float | None) -> T:
        signal = self._record.take(self._limit(timeout_s), f"expected {wanted}")
        if not isinstance(signal, Next):
            raise AssertionError(f"expected {wanted}, got {signal!r}; {self._record.story()}")
        return signal.value

    def _assert_end(self, is_wanted: Callable[[Any], bool], wanted: str) -> None:
        ends = [signal for signal in self.signals if not isinstance(signal, Next)]
        if len(ends) != 1 or not is_wanted(ends[0]):
            raise AssertionError(f"expected one end, {wanted}; {self._record.story()}")


def _wanted_error(kind: type[Exception], match: str | None) -> str:
    return f"expected {kind.__name__}" + ("" if match is None else f" with {match!r}")


def _is_wanted(error: Exception, kind: type[Exception], match: str | None) -> bool:
    return isinstance(error, kind) and (match is None or re.search(match, str(error)) is not None)
