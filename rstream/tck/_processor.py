"""The verification of processors that pass every element on as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import pytest

from rstream import abc, stages
from rstream.abc import UNBOUNDED
from rstream.tck._publisher import PublisherVerification
from rstream.tck._runner import required
from rstream.tck._stage import Upstream
from rstream.tck._whitebox import Probe, SubscriberWhiteboxVerification

if TYPE_CHECKING:
    from rstream.testing import TestSubscriber

T = TypeVar("T")


class IdentityProcessorVerification(PublisherVerification[T], SubscriberWhiteboxVerification[T]):
    """A processor, as a publisher, as a subscriber, and 3 tests of its own.

    A subclass supplies :meth:`create_identity_processor` and :meth:`create_element`.

    Attributes:
        buffer_size: elements that the processor must be able to hold.

    Thread rule: each test makes its own processor, so tests may run in parallel.

    Example::

        class TestMap(tck.IdentityProcessorVerification[int]):
            def create_identity_processor(self, buffer_size):
                return rstream.stream.processor(lambda item: item)

            def create_element(self, number):
                return number

            def max_supported_subscribers(self):
                return 1
    """

    buffer_size: ClassVar[int] = 16

    # ---- what a subclass supplies ----

    def create_identity_processor(self, buffer_size: int) -> abc.Processor[T, T]:
        """A new processor that can hold ``buffer_size`` elements."""
        raise NotImplementedError

    def create_helper_publisher(self, elements: int) -> abc.Publisher[T]:
        """What the processor is subscribed to: so many elements, 2**63 - 1: without end.

        It signals from another thread than the one that requests.
        """
        items = map(self.create_element, range(elements))
        return self.env.asynchronous(stages.from_iterable(items))

    def max_supported_subscribers(self) -> int:
        """Most subscribers of the processor at a time."""
        return UNBOUNDED

    def does_coordinated_emission(self) -> bool:
        """Whether an element goes out only when every subscriber has asked for it."""
        return False

    # ---- as a publisher, and as a subscriber ----

    def create_publisher(self, elements: int) -> abc.Publisher[T]:
        """The processor behind a helper."""
        processor = self.create_identity_processor(self.buffer_size)
        self.create_helper_publisher(elements).subscribe(processor)
        return processor

    def create_subscriber(self, probe: Probe[T]) -> abc.Subscriber[T]:
        """The processor before a subscriber that reports what passes."""
        processor = self.create_identity_processor(self.buffer_size)
        processor.subscribe(_Reporter(probe))
        return processor

    # ---- parts ----

    def _stage(self, count: int) -> tuple[abc.Processor[T, T], Upstream, list[TestSubscriber[T]]]:
        """A processor with an upstream and so many subscribers."""
        if count > self.max_supported_subscribers():
            pytest.skip(
                f"needs {count} subscribers, and the processor serves at most "
                f"{self.max_supported_subscribers()}"
            )
        processor, upstream = self.create_identity_processor(self.buffer_size), Upstream(self.env)
        processor.on_subscribe(upstream)
        return processor, upstream, [self.env.subscribe(processor) for _ in range(count)]

    def _pass_on(
        self, processor: abc.Processor[T, T], upstream: Upstream, seen: TestSubscriber[T], at: int
    ) -> None:
        """Signal element ``at``, which upstream was asked for, and see it come out."""
        upstream.expect_requested(at + 1)
        item = self.create_element(at)
        processor.on_next(item)
        seen.expect_next(item)

    # ---- the tests ----

    @required()
    def required_spec104_mustCallOnErrorOnAllItsSubscribersIfItEncountersANonRecoverableError(
        self,
    ) -> None:
        processor, upstream, several = self._stage(2)
        first, second = several
        first.request(2)
        if self.does_coordinated_emission():
            second.request(1)
        self._pass_on(processor, upstream, first, 0)
        if self.does_coordinated_emission():
            second.take()
        error = RuntimeError("an error of the test")
        processor.on_error(error)
        for seen in several:
            if not self.is_same_error(error, seen.expect_error()):
                raise AssertionError("§1.4: a subscriber got another error")

    @required()
    def mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream(self) -> None:
        processor, _, (seen,) = self._stage(1)
        error = RuntimeError("an error of the test")
        processor.on_error(error)
        if not self.is_same_error(error, seen.expect_error()):
            raise AssertionError("§4.2: the subscriber got another error")

    @required()
    def required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo(self) -> None:
        processor, upstream, (first,) = self._stage(1)
        if self.max_supported_subscribers() < 2:
            pytest.skip("needs 2 subscribers, and the processor serves 1")
        first.request(20)
        for at in range(2):
            self._pass_on(processor, upstream, first, at)
        second = self.env.subscribe(processor)
        if self.does_coordinated_emission():
            second.request(1)
        self._pass_on(processor, upstream, first, 2)
        if self.does_coordinated_emission():
            second.take()


class _Reporter(abc.Subscriber[T], Generic[T]):
    """A subscriber of the processor that tells the probe what it gets."""

    def __init__(self, probe: Probe[T]) -> None:
        self._probe = probe

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        self._probe.on_subscribe(
            trigger_request=subscription.request, signal_cancel=subscription.cancel
        )

    def on_next(self, item: T) -> None:
        self._probe.on_next(item)

    def on_error(self, error: Exception) -> None:
        self._probe.on_error(error)

    def on_complete(self) -> None:
        self._probe.on_complete()
