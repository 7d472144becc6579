"""The tests of a publisher with one subscriber."""

from __future__ import annotations

import gc
import random
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import pytest

from rstream.abc import UNBOUNDED
from rstream.tck._runner import Verification, named, optional, required
from rstream.testing import TestSubscriber

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream import abc

T = TypeVar("T")

SPEC_309 = ("3.9", "non-positive subscription request", "negative subscription request")


@named(
    _rejects=(
        "required_spec109_mayRejectCallsToSubscribeIfPublisherIsUnableOrUnwillingToServ"
        "eThemRejectionMustTriggerOnErrorAfterOnSubscribe"
    ),
)
class PublisherRequiredTests(Verification, Generic[T]):
    """See :class:`PublisherVerification`.

    Attributes:
        stochastic_runs: how often a stochastic test is repeated; 0: it is skipped.
    """

    stochastic_runs: ClassVar[int] = 100

    # ---- what a subclass supplies ----

    def create_publisher(self, elements: int) -> abc.Publisher[T]:
        """A new publisher of exactly so many elements.

        Args:
            elements: 2**31 - 1 and more: what nobody will take to the end. 2**63 - 1: without end.
        """
        raise NotImplementedError

    def create_failed_publisher(self) -> abc.Publisher[T] | None:
        """A publisher that refuses each subscriber: ``on_subscribe``, then ``on_error``.

        None: there is none; the tests that need it are skipped.
        """
        return None

    def max_elements_from_publisher(self) -> int:
        """Most elements of a publisher; 2**63 - 1: it never completes."""
        return UNBOUNDED - 1

    def bounded_depth_of_on_next_and_request_recursion(self) -> int:
        """Most calls of ``on_next`` inside each other (§3.3)."""
        return 1

    def check_can_run(self, elements: int, *, completes: bool) -> None:
        most = self.max_elements_from_publisher()
        if elements > most:
            pytest.skip(f"needs {elements} elements, and the publisher gives at most {most}")
        if completes and most == UNBOUNDED:
            pytest.skip("needs a completion, and the publisher never completes")

    # ---- parts ----

    def subscribe(self, elements: int, seen: TestSubscriber[T] | None = None) -> TestSubscriber[T]:
        """Make a publisher and subscribe to it."""
        return self.env.subscribe(self.create_publisher(elements), seen)

    def _failed(self) -> abc.Publisher[T]:
        publisher = self.create_failed_publisher()
        if publisher is None:
            pytest.skip("needs a failed publisher, and create_failed_publisher() gives None")
        return publisher

    def _take_and_complete(self, elements: int) -> TestSubscriber[T]:
        """Request one by one, to the end."""
        seen = self.subscribe(elements)
        for _ in range(elements):
            seen.request(1)
            seen.take()
        seen.expect_complete()
        return seen

    def _refuses(self, n: int) -> Exception:
        seen = self.subscribe(10)
        seen.request(n)
        return seen.expect_error(ValueError)

    # ---- the settings themselves ----

    @required()
    def required_validate_maxElementsFromPublisher(self) -> None:
        if self.max_elements_from_publisher() < 0:
            raise AssertionError("max_elements_from_publisher() must be 0 or more")

    @required()
    def required_validate_boundedDepthOfOnNextAndRequestRecursion(self) -> None:
        if self.bounded_depth_of_on_next_and_request_recursion() < 1:
            raise AssertionError(
                "bounded_depth_of_on_next_and_request_recursion() must be 1 or more"
            )

    @required(1, completes=True)
    def required_createPublisher1MustProduceAStreamOfExactly1Element(self) -> None:
        self.env.expect_none(self._take_and_complete(1))

    @required(3, completes=True)
    def required_createPublisher3MustProduceAStreamOfExactly3Elements(self) -> None:
        self.env.expect_none(self._take_and_complete(3))

    # ---- rules 1.x ----

    @required(5)
    def required_spec101_subscriptionRequestMustResultInTheCorrectNumberOfProducedElements(
        self,
    ) -> None:
        seen = self.subscribe(5)
        self.env.expect_none(seen)
        seen.request(1)
        seen.take()
        self.env.expect_none(seen)
        seen.request(1)
        seen.request(2)
        seen.take(3)
        self.env.expect_none(seen)

    @required(3, completes=True)
    def required_spec102_maySignalLessThanRequestedAndTerminateSubscription(self) -> None:
        seen = self.subscribe(3)
        seen.request(10)
        seen.take(3)
        seen.expect_complete()

    @required(10, completes=True)
    def stochastic_spec103_mustSignalOnMethodsSequentially(self) -> None:
        """The subscriber itself notices signals that overlap."""
        if self.stochastic_runs == 0:
            pytest.skip("stochastic tests are switched off")
        for _ in range(self.stochastic_runs):
            seen = self.subscribe(10, _Asking(at_first=1))
            seen.take(10)
            seen.expect_complete()
            self.env.verify_no_async_errors()

    @optional()
    def optional_spec104_mustSignalOnErrorWhenFails(self) -> None:
        seen = self.env.subscribe(self._failed())
        seen.expect_error()
        self.env.expect_none(seen)

    @required(3, completes=True)
    def required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates(self) -> None:
        self.env.expect_none(self._take_and_complete(3))

    @optional(0, completes=True)
    def optional_spec105_emptyStreamMustTerminateBySignallingOnComplete(self) -> None:
        seen = self.subscribe(0)
        seen.request(1)
        seen.expect_complete()
        self.env.expect_none(seen)

    @required(1, completes=True)
    def required_spec107_mustNotEmitFurtherSignalsOnceOnCompleteHasBeenSignalled(self) -> None:
        seen = self._take_and_complete(1)
        seen.request(10)
        self.env.expect_none(seen)

    @required()
    def required_spec107_mustNotEmitFurtherSignalsOnceOnErrorHasBeenSignalled(self) -> None:
        """The original kit leaves this out, though a failed publisher shows it."""
        seen = self.env.subscribe(self._failed())
        seen.expect_error()
        seen.request(10)
        self.env.expect_none(seen)

    @required()
    def required_spec109_subscribeThrowNPEOnNullSubscriber(self) -> None:
        nobody: Any = None
        try:
            self.create_publisher(0).subscribe(nobody)
        except TypeError:
            return
        raise AssertionError("§1.9: subscribe(None) must raise TypeError")

    @required()
    def required_spec109_mustIssueOnSubscribeForNonNullSubscriber(self) -> None:
        seen = self.subscribe(0)
        time.sleep(self.env.no_signals_s)
        if seen.values:
            raise AssertionError(f"§1.1: elements without a request: {seen.values!r}")

    @required()
    def _rejects(self) -> None:
        self.env.subscribe(self._failed()).expect_error()

    # ---- rules 3.x ----

    @required(6)
    def required_spec302_mustAllowSynchronousRequestCallsFromOnNextAndOnSubscribe(self) -> None:
        self.subscribe(6, _Asking(at_first=3)).take(6)

    @required()
    def required_spec303_mustNotAllowUnboundedRecursion(self) -> None:
        bound = self.bounded_depth_of_on_next_and_request_recursion()
        count = max(50, bound + 1)
        self.check_can_run(count, completes=False)
        local, depths = threading.local(), list[int]()

        def nested(seen: TestSubscriber[T]) -> None:
            local.depth = getattr(local, "depth", 0) + 1
            depths.append(local.depth)
            seen.request(1)
            local.depth -= 1

        seen = self.subscribe(count, _Asking(in_next=nested))
        seen.request(1)
        seen.take(count)
        if max(depths) > bound:
            raise AssertionError(
                f"§3.3: on_next inside on_next, {max(depths)} deep; {bound} are allowed"
            )

    @required(3)
    def required_spec306_afterSubscriptionIsCancelledRequestMustBeNops(self) -> None:
        seen = self.subscribe(3)
        seen.cancel()
        for _ in range(3):
            seen.request(1)
        self.env.expect_none(seen)

    @required(1)
    def required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops(
        self,
    ) -> None:
        seen = self.subscribe(1)
        for _ in range(3):
            seen.cancel()
        self.env.expect_none(seen)

    @required(10)
    def required_spec309_requestZeroMustSignalIllegalArgumentException(self) -> None:
        self._refuses(0)

    @required(10)
    def required_spec309_requestNegativeNumberMustSignalIllegalArgumentException(self) -> None:
        self._refuses(-random.randint(1, 2**31))

    @optional(10)
    def optional_spec309_requestNegativeNumberMaySignalIllegalArgumentExceptionWithSpecificMessage(
        self,
    ) -> None:
        text = str(self._refuses(-random.randint(1, 2**31)))
        if not any(words in text for words in SPEC_309):
            raise AssertionError(f"the error says none of {SPEC_309}: {text}")

    @required(20)
    def required_spec312_cancelMustMakeThePublisherToEventuallyStopSignaling(self) -> None:
        seen = self.subscribe(20)
        seen.request(10)
        seen.request(5)
        seen.take()
        seen.cancel()
        count = -1
        while count < len(seen.signals) <= 15:
            count = len(seen.signals)
            time.sleep(self.env.no_signals_s)
        if len(seen.signals) > 15:
            raise AssertionError(f"§1.1: {len(seen.signals)} signals with 15 requested")

    @required(3)
    def required_spec313_cancelMustMakeThePublisherEventuallyDropAllReferencesToTheSubscriber(
        self,
    ) -> None:
        publisher = self.create_publisher(3)  # held: it is the one that must forget
        gone = self._cancelled(publisher)

        def is_collected() -> bool:
            gc.collect()
            return gone() is None

        if not self.env.until(is_collected, self.env.collect_s):
            raise AssertionError(
                f"§3.13: {publisher!r} still holds its subscriber {self.env.collect_s} s after "
                "cancel()"
            )

    def _cancelled(self, publisher: abc.Publisher[T]) -> weakref.ref[TestSubscriber[T]]:
        """A subscriber that has cancelled, and that only the publisher may still hold."""
        seen: TestSubscriber[T] = TestSubscriber(timeout_s=self.env.timeout_s)
        publisher.subscribe(seen)
        seen.request(1)
        seen.take()
        seen.cancel()
        return weakref.ref(seen)

    @required(3, completes=True)
    def required_spec317_mustSupportAPendingElementCountUpToLongMaxValue(self) -> None:
        seen = self.subscribe(3)
        seen.request(UNBOUNDED)
        seen.take(3)
        seen.expect_complete()

    @required(3, completes=True)
    def required_spec317_mustSupportACumulativePendingElementCountUpToLongMaxValue(self) -> None:
        seen = self.subscribe(3)
        seen.request(UNBOUNDED // 2)
        seen.request(UNBOUNDED // 2)
        seen.request(1)
        seen.take(3)
        seen.expect_complete()

    @required(2**31 - 1)
    def required_spec317_mustNotSignalOnErrorWhenPendingAboveLongMaxValue(self) -> None:
        def more(seen: TestSubscriber[T]) -> None:
            if len(seen.signals) < 10:
                seen.request(UNBOUNDED - 1)
            else:
                seen.cancel()

        seen = self.subscribe(2**31 - 1, _Asking(in_next=more))
        seen.request(1)
        seen.await_count(10)
        time.sleep(self.env.no_signals_s)
        seen.assert_not_ended()


class _Asking(TestSubscriber[T]):
    """Requests ``at_first`` single elements in on_subscribe, and one more in each on_next.

    Args:
        in_next: what it does in on_next instead.
    """

    def __init__(
        self, at_first: int = 0, in_next: Callable[[TestSubscriber[T]], None] | None = None
    ) -> None:
        super().__init__()
        self._at_first = at_first
        self._in_next = in_next

    def subscribed(self) -> None:
        for _ in range(self._at_first):
            self.request(1)

    def received(self, item: T) -> None:
        if self._in_next is None:
            self.request(1)
        else:
            self._in_next(self)
