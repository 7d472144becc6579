"""The verification of subscribers that tell a probe what they get."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream.tck._runner import Verification, named, required, untested
from rstream.tck._stage import Environment, Upstream
from rstream.testing import TestSubscriber

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Probe(Generic[T]):
    """What a subscriber under test reports to, and how the test drives it.

    The subscriber calls the four methods ``on_subscribe``, ``on_next``, ``on_error`` and
    ``on_complete`` when it has taken the signal of that name. Any thread may.
    """

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._seen: TestSubscriber[T] = TestSubscriber(timeout_s=env.timeout_s)
        self._changed = threading.Condition()
        self._request: Callable[[int], object] | None = None
        self._cancel: Callable[[], object] | None = None

    # ---- calls of the subscriber under test ----

    def on_subscribe(
        self, *, trigger_request: Callable[[int], object], signal_cancel: Callable[[], object]
    ) -> None:
        """The subscriber has taken its subscription.

        Args:
            trigger_request: makes the subscriber request so many elements of its upstream.
            signal_cancel: makes it cancel.
        """
        with self._changed:
            if self._request is not None:
                self._env.flop("§2.5: the subscriber took a second subscription")
                return
            self._request, self._cancel = trigger_request, signal_cancel
            self._changed.notify_all()
        self._seen.on_subscribe(_Unlimited())
        self._seen.request(abc.UNBOUNDED)

    def on_next(self, item: T) -> None:
        """The subscriber has taken an element."""
        if self._is_right(item, "on_next"):
            self._seen.on_next(item)

    def on_error(self, error: Exception) -> None:
        """The subscriber has taken the error."""
        if self._is_right(error, "on_error"):
            self._seen.on_error(error)

    def on_complete(self) -> None:
        """The subscriber has taken the completion."""
        self._seen.on_complete()

    def _is_right(self, value: object, signal: str) -> bool:
        """Whether it is no None. The subscriber must refuse None itself, so nothing raises here."""
        if value is None:
            self._env.flop(f"§2.13: the subscriber took {signal}(None)")
        return value is not None

    # ---- calls of the test ----

    def trigger_request(self, n: int) -> None:
        """Make the subscriber request."""
        self._await_puppet()
        assert self._request is not None
        self._request(n)

    def signal_cancel(self) -> None:
        """Make the subscriber cancel."""
        self._await_puppet()
        assert self._cancel is not None
        self._cancel()

    def _await_puppet(self) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._request is not None, self._env.timeout_s):
                raise AssertionError("§1.9: the subscriber has not called probe.on_subscribe(…)")

    def expect_next(self, item: T) -> None:
        """The subscriber reports that element next."""
        self._seen.expect_next(item)

    def expect_complete(self) -> None:
        """The subscriber reports the completion next."""
        self._seen.expect_complete()

    def expect_error(self) -> Exception:
        """The subscriber reports an error next; returns it."""
        return self._seen.expect_error()

    def expect_none(self) -> None:
        """The subscriber reports nothing for ``no_signals_s`` seconds."""
        self._seen.expect_none(for_s=self._env.no_signals_s)


class _Unlimited(abc.Subscription):
    """Of the probe's own record: the subscriber under test counts its demand itself."""

    def request(self, n: int) -> None:
        """Nothing follows."""

    def cancel(self) -> None:
        """Nothing follows."""


class _Stage(Generic[T]):
    """A subscriber under test between an upstream and its probe."""

    def __init__(self, verification: SubscriberWhiteboxVerification[T]) -> None:
        self.verification = verification
        self.probe: Probe[T] = Probe(verification.env)
        self.upstream = Upstream(verification.env)
        self.subscriber = verification.create_subscriber(self.probe)
        self._sent = 0

    def start(self) -> _Stage[T]:
        self.subscriber.on_subscribe(self.upstream)
        return self

    def send_next(self) -> T:
        """Signal an element that was requested."""
        self.upstream.expect_requested(self._sent + 1)
        item = self.verification.create_element(self._sent)
        self._sent += 1
        self.subscriber.on_next(item)
        return item


@untested(
    {
        "untested_spec202_shouldAsynchronouslyDispatch": "a recommendation",
        (
            "untested_spec204_mustConsiderTheSubscriptionAsCancelledInAfterRecievingOnCompl"
            "eteOrOnError"
        ): "what a subscriber considers does not show",
        "untested_spec206_mustCallSubscriptionCancelIfItIsNoLongerValid": (
            "only the subscriber knows when it needs no more"
        ),
        (
            "untested_spec207_mustEnsureAllCallsOnItsSubscriptionTakePlaceFromTheSameThread"
            "OrTakeCareOfSynchronization"
        ): "a race that no test can make come about",
        (
            "untested_spec211_mustMakeSureThatAllCallsOnItsMethodsHappenBeforeTheProcessing"
            "OfTheRespectiveEvents"
        ): "a race that no test can make come about",
        (
            "untested_spec212_mustNotCallOnSubscribeMoreThanOnceBasedOnObjectEquality_specViolation"
        ): "it would need a publisher that breaks the rule",
        "untested_spec213_failingOnSignalInvocation": "no call makes every subscriber raise",
        "untested_spec301_mustNotBeCalledOutsideSubscriberContext": (
            "what belongs to a subscriber's context does not show"
        ),
        "untested_spec310_requestMaySynchronouslyCallOnNextOnSubscriber": "allowed, not asked",
        "untested_spec311_requestMaySynchronouslyCallOnCompleteOrOnError": "allowed, not asked",
        (
            "untested_spec314_cancelMayCauseThePublisherToShutdownIfNoOtherSubscriptionExists"
        ): "allowed, not asked",
        "untested_spec315_cancelMustNotThrowExceptionAndMustSignalOnError": (
            "no call makes every publisher fail in cancel"
        ),
        "untested_spec316_requestMustNotThrowExceptionAndMustOnErrorTheSubscriber": (
            "no call makes every publisher fail in request"
        ),
    }
)
@named(
    _cancels_a_second_subscription=(
        "required_spec205_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndRece"
        "ivesAnotherOnSubscribeSignal"
    ),
)
class SubscriberWhiteboxVerification(Verification, Generic[T]):
    """27 tests of a subscriber.

    A subclass supplies :meth:`create_subscriber` and :meth:`create_element`.

    Thread rule: each test makes its own subscriber, so tests may run in parallel. An example is
    in docs/how-to/testing.md.
    """

    # ---- what a subclass supplies ----

    def create_subscriber(self, probe: Probe[T]) -> abc.Subscriber[T]:
        """A new subscriber that reports to ``probe`` and requests only when the probe says so."""
        raise NotImplementedError

    def create_element(self, number: int) -> T:
        """An element; another one for each number. May be called by several threads."""
        raise NotImplementedError

    def is_same_error(self, sent: Exception, reported: Exception) -> bool:
        """Whether the reported error is the one that was sent: the same object.

        A subscriber that carries errors over a network compares their texts instead.
        """
        return reported is sent

    # ---- parts ----

    def _start(self) -> _Stage[T]:
        return _Stage(self).start()

    def _check_error(self, stage: _Stage[T]) -> None:
        error = RuntimeError("an error of the test")
        stage.subscriber.on_error(error)
        reported = stage.probe.expect_error()
        if not self.is_same_error(error, reported):
            raise AssertionError(f"§2.10: sent {error!r}, and the subscriber took {reported!r}")

    # ---- the tests ----

    @required()
    def required_exerciseWhiteboxHappyPath(self) -> None:
        stage = self._start()
        for _ in range(2):
            stage.probe.trigger_request(1)
            stage.probe.expect_next(stage.send_next())
        stage.probe.signal_cancel()
        stage.upstream.expect_cancel()

    @required()
    def required_spec201_mustSignalDemandViaSubscriptionRequest(self) -> None:
        stage = self._start()
        stage.probe.trigger_request(1)
        stage.upstream.expect_request()
        stage.probe.expect_next(stage.send_next())

    @required()
    def required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete(self) -> None:
        stage = self._start()
        with stage.upstream.no_calls_in("on_complete"):
            stage.subscriber.on_complete()

    @required()
    def required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnError(self) -> None:
        stage = self._start()
        with stage.upstream.no_calls_in("on_error"):
            stage.subscriber.on_error(RuntimeError("an error of the test"))

    @required()
    def _cancels_a_second_subscription(self) -> None:
        stage = self._start()
        check_second_subscription(self.env, stage.subscriber, stage.upstream)

    @required()
    def required_spec208_mustBePreparedToReceiveOnNextSignalsAfterHavingCalledSubscriptionCancel(
        self,
    ) -> None:
        stage = self._start()
        stage.probe.trigger_request(1)
        stage.upstream.expect_requested(1)
        stage.probe.signal_cancel()
        stage.upstream.expect_cancel()
        stage.send_next()
        stage.probe.trigger_request(1)
        stage.probe.trigger_request(1)

    @required()
    def required_spec209_mustBePreparedToReceiveAnOnCompleteSignalWithPrecedingRequestCall(
        self,
    ) -> None:
        stage = self._start()
        stage.probe.trigger_request(1)
        stage.upstream.expect_requested(1)
        stage.subscriber.on_complete()
        stage.probe.expect_complete()

    @required()
    def required_spec209_mustBePreparedToReceiveAnOnCompleteSignalWithoutPrecedingRequestCall(
        self,
    ) -> None:
        stage = self._start()
        stage.subscriber.on_complete()
        stage.probe.expect_complete()

    @required()
    def required_spec210_mustBePreparedToReceiveAnOnErrorSignalWithPrecedingRequestCall(
        self,
    ) -> None:
        stage = self._start()
        for _ in range(2):
            stage.probe.trigger_request(1)
        stage.upstream.expect_requested(2)
        self._check_error(stage)

    @required()
    def required_spec210_mustBePreparedToReceiveAnOnErrorSignalWithoutPrecedingRequestCall(
        self,
    ) -> None:
        self._check_error(self._start())

    @required()
    def required_spec213_onSubscribe_mustThrowNullPointerExceptionWhenParametersAreNull(
        self,
    ) -> None:
        refuses_none(_Stage(self).subscriber.on_subscribe)

    @required()
    def required_spec213_onNext_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        refuses_none(self._start().subscriber.on_next)

    @required()
    def required_spec213_onError_mustThrowNullPointerExceptionWhenParametersAreNull(self) -> None:
        refuses_none(self._start().subscriber.on_error)

    @required()
    def required_spec308_requestMustRegisterGivenNumberElementsToBeProduced(self) -> None:
        stage = self._start()
        stage.probe.trigger_request(2)
        for _ in range(2):
            stage.probe.expect_next(stage.send_next())
        stage.probe.expect_none()
        if stage.upstream.requested != 2:
            raise AssertionError(f"§3.8: 2 were to be requested, not {stage.upstream.requested}")
        stage.probe.trigger_request(3)
        stage.upstream.expect_requested(5)


def refuses_none(signal: Callable[[Any], object]) -> None:
    """A signal with None raises TypeError (§2.13)."""
    try:
        signal(None)
    except TypeError:
        return
    raise AssertionError(f"§2.13: {getattr(signal, '__name__', signal)}(None) must raise TypeError")


def check_second_subscription(
    env: Environment, subscriber: abc.Subscriber[Any], first: Upstream
) -> None:
    """A second subscription is cancelled, never asked, and leaves the first one alone (§2.5)."""
    second = Upstream(env)
    subscriber.on_subscribe(second)
    try:
        second.expect_cancel()
    except AssertionError as error:
        raise AssertionError(f"§2.5: the second subscription: {error}") from error
    if second.requested:
        raise AssertionError(f"§2.5: {second.requested} requested of the second subscription")
    if first.is_cancelled:
        raise AssertionError("§2.5: the first subscription was cancelled")
