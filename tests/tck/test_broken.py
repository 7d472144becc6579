"""Each verification catches each breach: a broken subject fails the test of its rule.

The same subjects without a breach pass all tests, so that what fails is the breach.
"""

from __future__ import annotations

import inspect
from contextlib import nullcontext, suppress

import pytest

from rstream import tck

from .simple import Failed, Simple, SimpleProcessor, SimpleSubscriber

QUICK = {"timeout_s": 0.15, "no_signals_s": 0.02, "collect_s": 0.05, "stochastic_runs": 2}


class Publishers(tck.PublisherVerification):
    breaks = None

    def create_publisher(self, elements):
        return Simple(elements, self.breaks)

    def create_failed_publisher(self):
        return Failed(self.breaks)


class Blackbox(tck.SubscriberBlackboxVerification):
    breaks = None

    def create_subscriber(self):
        return SimpleSubscriber(self.breaks)

    def create_element(self, number):
        return number


class Whitebox(tck.SubscriberWhiteboxVerification):
    breaks = None

    def create_subscriber(self, probe):
        return SimpleSubscriber(self.breaks, probe)

    def create_element(self, number):
        return number


class Processors(tck.IdentityProcessorVerification):
    breaks = None

    def create_identity_processor(self, buffer_size):
        return SimpleProcessor(self.breaks)

    def create_failed_publisher(self):
        return Failed()

    def create_element(self, number):
        return number


#: Beginning of a test's name without its kind, and a breach that it must catch.
CAUGHT = {
    Publishers: [
        ("createPublisher1Must", "1.5 it never completes"),
        ("createPublisher3Must", "1.5 it completes with an error"),
        ("spec101_", "1.1 an element comes without a request"),
        ("spec101_", "1.1 one more than requested"),
        ("spec101_", "1.1 fewer come for ever"),
        ("spec101_", "3.8 every request is of one element"),
        ("spec102_", "1.5 it never completes"),
        ("spec103_", "1.3 signals overlap"),
        ("spec104_", "1.4 two errors"),
        ("spec104_", "1.9 a refusal is silent"),
        ("spec105_mustSignal", "1.5 it never completes"),
        ("spec105_emptyStream", "1.5 it completes with an error"),
        ("spec107_mustNotEmitFurtherSignalsOnceOnComplete", "1.7 signals go on after the end"),
        ("spec107_mustNotEmitFurtherSignalsOnceOnError", "1.7 signals go on after the error"),
        ("spec109_subscribeThrowNPE", "1.9 None is taken"),
        ("spec109_mustIssueOnSubscribe", "1.9 on_subscribe is missing"),
        ("spec109_mustIssueOnSubscribe", "1.9 an element comes before on_subscribe"),
        ("spec109_mustIssueOnSubscribe", "2.12 on_subscribe comes twice"),
        ("spec109_mayReject", "1.9 a refusal is silent"),
        ("spec302_", "3.2 a request in on_subscribe is lost"),
        ("spec303_", "3.3 on_next nests"),
        ("spec306_", "3.6 a request after cancel brings an element"),
        ("spec307_", "3.7 a second cancel raises"),
        ("spec307_", "3.15 cancel signals an error"),
        ("spec309_requestZero", "3.9 zero is ignored"),
        ("spec309_requestZero", "3.16 a wrong request raises"),
        ("spec309_requestNegativeNumberMust", "3.9 a negative number is ignored"),
        ("spec309_requestNegativeNumberMust", "3.9 another error"),
        ("spec312_", "1.8 signals go on after cancel"),
        ("spec313_", "3.13 it keeps its subscribers"),
        ("spec317_mustSupportAPending", "1.5 it never completes"),
        ("spec317_mustSupportACumulative", "1.5 it completes with an error"),
        ("spec317_mustNotSignalOnError", "3.17 demand overflows"),
        ("spec317_mustNotSignalOnError", "3.17 large demand is an error"),
    ],
    Blackbox: [
        ("spec201_", "2.1 it never requests"),
        ("spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete",
         "2.3 on_complete requests"),
        ("spec203_blackbox_mustNotCallMethodsOnSubscriptionOrPublisherInOnError",
         "2.3 on_error cancels"),
        ("spec205_", "2.5 a second subscription is kept"),
        ("spec205_", "2.5 a second subscription is used"),
        ("spec205_", "2.5 the first one is cancelled instead"),
        ("spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithPreceding",
         "2.9 on_complete after a request raises"),
        ("spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithPreceding",
         "2.10 on_error after a request raises"),
        ("spec213_blackbox_onSubscribe", "2.13 on_subscribe(None) is taken"),
        ("spec213_blackbox_onNext", "2.13 on_next(None) is taken"),
        ("spec213_blackbox_onError", "2.13 on_error(None) is taken"),
        ("spec209_blackbox_mustBePreparedToReceiveAnOnCompleteSignalWithoutPreceding",
         "2.9 on_complete raises"),
        ("spec210_blackbox_mustBePreparedToReceiveAnOnErrorSignalWithoutPreceding",
         "2.10 on_error raises"),
    ],
    Whitebox: [
        ("exerciseWhiteboxHappyPath", "2.6 it does not cancel"),
        ("exerciseWhiteboxHappyPath", "2.1 elements are lost"),
        ("spec201_", "2.1 it never requests"),
        ("spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete",
         "2.3 on_complete requests"),
        ("spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnError", "2.3 on_error cancels"),
        ("spec205_", "2.5 a second subscription is kept"),
        ("spec205_", "2.5 a second subscription is used"),
        ("spec205_", "2.5 the first one is cancelled instead"),
        ("spec208_", "2.8 on_next after cancel raises"),
        ("spec209_mustBePreparedToReceiveAnOnCompleteSignalWithPreceding",
         "2.9 on_complete after a request raises"),
        ("spec209_mustBePreparedToReceiveAnOnCompleteSignalWithoutPreceding",
         "2.9 on_complete without a request raises"),
        ("spec210_mustBePreparedToReceiveAnOnErrorSignalWithPreceding",
         "2.10 on_error after a request raises"),
        ("spec210_mustBePreparedToReceiveAnOnErrorSignalWithoutPreceding",
         "2.10 on_error without a request raises"),
        ("spec210_mustBePreparedToReceiveAnOnErrorSignalWithoutPreceding",
         "2.10 another error is reported"),
        ("spec213_onSubscribe", "2.13 on_subscribe(None) is taken"),
        ("spec213_onNext", "2.13 on_next(None) is taken"),
        ("spec213_onError", "2.13 on_error(None) is taken"),
        ("spec308_", "3.8 it requests twice as many"),
    ],
    Processors: [
        ("spec104_mustCallOnErrorOnAll", "1.4 one subscriber alone gets the error"),
        ("mustImmediatelyPassOn", "4.2 an error waits for a request"),
        ("mustRequestFromUpstream", "old demand is forgotten"),
    ],
}  # fmt: skip
KINDS = ("required_", "optional_", "stochastic_", "untested_")


def names_of(verification):
    """Names of its tests, in order."""
    return [
        name
        for name, _ in inspect.getmembers(verification, callable)
        if name.startswith((*KINDS, "mustImmediatelyPass"))
    ]


def named(verification, beginning):
    found = [
        name
        for name in names_of(verification)
        for kind in ("required_", "optional_", "stochastic_", "")
        if name.startswith(f"{kind}{beginning}") and not name.startswith("untested_")
    ]
    assert len(set(found)) == 1, f"{beginning}: {found}"
    return found[0]


def run(verification, name, breaks):
    """Run one test as pytest does."""
    subject = type("Subject", (verification,), {**QUICK, "breaks": breaks})()
    subject.env = subject.create_environment()
    getattr(subject, name)()


@pytest.mark.parametrize("verification", CAUGHT)
def test_the_subjects_pass_without_a_breach(verification):
    for name in names_of(verification):
        if not name.startswith("untested_"):
            # The small processor drops what a slower subscriber has not asked for (§1.11: MAY).
            may_skip = verification is Processors and "multicast" in name
            with suppress(pytest.skip.Exception) if may_skip else nullcontext():
                run(verification, name, None)


@pytest.mark.parametrize(
    ("verification", "name", "breach"),
    [
        pytest.param(verification, named(verification, beginning), breach, id=breach)
        for verification, pairs in CAUGHT.items()
        for beginning, breach in pairs
    ],
)
def test_a_breach_is_caught(verification, name, breach):
    caught = (AssertionError, RuntimeError, ValueError)
    if name.startswith("optional_"):
        caught = pytest.skip.Exception
    with pytest.raises(caught):
        run(verification, name, breach)


def test_every_test_of_a_must_has_a_breach_that_it_catches():
    """The tests of the settings aside; those that a processor inherits are named once."""
    settings = {
        "required_validate_maxElementsFromPublisher",
        "required_validate_boundedDepthOfOnNextAndRequestRecursion",
    }
    for verification, pairs in CAUGHT.items():
        must = {name for name in names_of(verification) if name.startswith(("required_", "must"))}
        if verification is Processors:
            must -= {*names_of(Publishers), *names_of(Whitebox)}
        assert (
            must - settings
            == {
                name
                for beginning, _ in pairs
                if (name := named(verification, beginning)).startswith(("required_", "must"))
            }
            - settings
        )
