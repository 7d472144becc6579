"""The verification of publishers: what a subclass supplies, and the tests of all kinds."""

from __future__ import annotations

from rstream.tck._publisher_multi import PublisherMultiTests
from rstream.tck._publisher_required import PublisherRequiredTests, T
from rstream.tck._runner import untested


@untested(
    {
        (
            "untested_spec106_mustConsiderSubscriptionCancelledAfterOnErrorOrOnCompleteHasB"
            "eenCalled"
        ): "what the publisher considers shows only in signals after the end; see §1.7",
        "untested_spec107_mustNotEmitFurtherSignalsOnceOnErrorHasBeenSignalled": (
            "required_spec107_mustNotEmitFurtherSignalsOnceOnErrorHasBeenSignalled tests it here"
        ),
        (
            "untested_spec108_possiblyCanceledSubscriptionShouldNotReceiveOnErrorOrOnComple"
            "teSignals"
        ): "a signal that was under way may still come",
        "untested_spec109_subscribeShouldNotThrowNonFatalThrowable": (
            "no call makes every publisher fail"
        ),
        "untested_spec110_rejectASubscriptionRequestIfTheSameSubscriberSubscribesTwice": (
            "a publisher need not know its subscribers by equality"
        ),
        "untested_spec304_requestShouldNotPerformHeavyComputations": (
            "heavy is no number that fits all machines"
        ),
        "untested_spec305_cancelMustNotSynchronouslyPerformHeavyComputation": (
            "heavy is no number that fits all machines"
        ),
    }
)
class PublisherVerification(PublisherMultiTests[T], PublisherRequiredTests[T]):
    """38 tests of a publisher, and one more of §1.7.

    A subclass supplies :meth:`create_publisher`, and where it can :meth:`create_failed_publisher`.

    Thread rule: each test makes its own publishers, so tests may run in parallel.

    Example::

        class TestNumbers(tck.PublisherVerification[int]):
            def create_publisher(self, elements):
                return stages.from_iterable(range(elements))
    """
