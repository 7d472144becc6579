"""The verification of subscribers as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rstream.tck._runner import Verification, named, required, untested
from rstream.tck._stage import Upstream
from rstream.tck._whitebox import check_second_subscription, refuses_none

if TYPE_CHECKING:
    from rstream import abc

T = TypeVar("T")


@untested(
    {
        "untested_spec202_blackbox_shouldAsynchronouslyDispatch": "a recommendation",
        (
            "untested_spec204_blackbox_mustConsiderTheSubscriptionAsCancelledInAfterRecievi"
            "ngOnCompleteOrOnError"
        ): "what a subscriber considers does not show",
        "untested_spec206_blackbox_mustCallSubscriptionCancelIfItIsNoLongerValid": (
            "only the subscriber knows when it needs no more"
        ),
        (
            "untested_spec207_blackbox_mustEnsureAllCallsOnItsSubscriptionTakePlaceFromTheS"
            "ameThreadOrTakeCareOfSynchronization"
        ): "a race that no test can make come about",
        (
            "untested_spec208_blackbox_mustBePreparedToReceiveOnNextSignalsAfterHavingCalle"
            "dSubscriptionCancel"
        ): "nothing from outside makes it cancel; see the white box",
        (
            "untested_spec211_blackbox_mustMakeSureThatAllCallsOnItsMethodsHappenBeforeTheP"
            "rocessingOfTheRespectiveEvents"
        ): "a race that no test can make come about",
        (
            "untested_spec212_blackbox_mustNotCallOnSubscribeMoreThanOnceBasedOnObjectEquality"
        ): "it would need a publisher that breaks the rule",
        "untested_spec213_blackbox_failingOnSignalInvocation": (
            "no call makes every subscriber raise"
        ),
        "untested_spec301_blackbox_mustNotBeCalledOutsideSubscriberContext": (
            "what belongs to a subscriber's context does not show"
        ),
        "untested_spec308_blackbox_requestMustRegisterGivenNumberElementsToBeProduced": (
            "nothing from outside makes it request a number; see the white box"
        ),
        "untested_spec310_blackbox_requestMaySynchronouslyCallOnNextOnSubscriber": (
            "allowed, not asked"
        ),
        "untested_spec311_blackbox_requestMaySynchronouslyCallOnCompleteOrOnError": (
            "allowed, not asked"
        ),
        (
            "untested_spec314_blackbox_cancelMayCauseThePublisherToShutdownIfNoOtherSubscri"
            "ptionExists"
        ): "allowed, not asked",
        "untested_spec315_blackbox_cancelMustNotThrowExceptionAndMustSignalOnError": (
            "no call makes every publisher fail in cancel"
        ),
        (
            "untested_spec316_blackbox_requestMustNotThrowExceptionAndMustOnErrorTheSubscriber"
        ): "no call makes every publisher fail in request",
    }
)
@named(
    _cancels_a_second_subscription=(
        "required_spec205_blackbox_mustCallSubscriptionCancelIfItAlreadyHasAnSubscripti"
        "onAndReceivesAnotherOnSubscribeSignal"
    ),
    _takes_a_completion_without_a_request=(
        "required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithoutPrec"
        "edingRequestCall"
    ),
)
class SubscriberBlackboxVerification(Verification, Generic[T]):
    """26 tests of a subscriber that is left to itself.

    A subclass supplies :meth:`create_subscriber` and :meth:`create_element`, and
    :meth:`trigger_request` for a subscriber that does not request by itself.

    Attributes:
        elements: signalled in the test of §2.1, at most.

    Thread rule: each test makes its own subscriber, so tests may run in parallel.

    Example::

        class TestPrinter(tck.SubscriberBlackboxVerification[int]):
            def create_subscriber(self):
                return Printer()

            def create_element(self, number):
                return number
    """

    elements: ClassVar[int] = 512

    # ---- what a subclass supplies ----

    def create_subscriber(self) -> abc.Subscriber[T]:
        """A new subscriber."""
        raise NotImplementedError

    def create_element(self, number: int) -> T:
        """An element; another one for each number. May be called by several threads."""
        raise NotImplementedError

    def trigger_request(self, subscriber: abc.Subscriber[T]) -> None:
        """Make the subscriber request, if it does not by itself."""

    # ---- parts ----

    def _start(self) -> tuple[abc.Subscriber[T], Upstream]:
        subscriber, upstream = self.create_subscriber(), Upstream(self.env)
        subscriber.on_subscribe(upstream)
        return subscriber, upstream

    def _start_requesting(self) -> tuple[abc.Subscriber[T], Upstream]:
        subscriber, upstream = self._start()
        self.trigger_request(subscriber)
        upstream.expect_request()
        return subscriber, upstream

    # ---- the tests ----

    @required()
    def required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest(self) -> None:
        """It is given what it asks for, up to so many elements; the original gives none (459)."""
        subscriber, upstream = self._start_requesting()
        for number in range(min(upstream.requested, self.elements)):
            subscriber.on_next(self.create_element(number))
        subscriber.on_complete()

    @required()
    def required_spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete(
        self,
    ) -> None:
        subscriber, upstream = self._start()
        with upstream.no_calls_in("on_complete"):
            subscriber.on_complete()

    @required()
    def required_spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnError(
        self,
    ) -> None:
        subscriber, upstream = self._start()
        with upstream.no_calls_in("on_error"):
            subscriber.on_error(RuntimeError("an error of the test"))

    @required()
    def _cancels_a_second_subscription(self) -> None:
        subscriber, upstream = self._start()
        check_second_subscription(self.env, subscriber, upstream)

    @required()
    def required_spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithPrecedingRequestCall(
        self,
    ) -> None:
        self._start_requesting()[0].on_complete()

    @required()
    def _takes_a_completion_without_a_request(self) -> None:
        self._start()[0].on_complete()

    @required()
    def required_spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithPrecedingRequestCall(
        self,
    ) -> None:
        self._start_requesting()[0].on_error(RuntimeError("an error of the test"))

    @required()
    def required_spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithoutPrecedingRequestCall(
        self,
    ) -> None:
        self._start()[0].on_error(RuntimeError("an error of the test"))

    @required()
    def required_spec213_blackbox_onSubscribe_mustThrowNullPointerExceptionWhenParametersAreNull(
        self,
    ) -> None:
        refuses_none(self.create_subscriber().on_subscribe)

    @required()
    def required_spec213_blackbox_onNext_mustThrowNullPointerExceptionWhenParametersAreNull(
        self,
    ) -> None:
        refuses_none(self._start()[0].on_next)

    @required()
    def required_spec213_blackbox_onError_mustThrowNullPointerExceptionWhenParametersAreNull(
        self,
    ) -> None:
        refuses_none(self._start()[0].on_error)
