"""TestPublisher keeps the contract, and breaks exactly the rule that a Violation asks for."""

from __future__ import annotations

import threading

import pytest

from rstream.errors import LocalContractError
from rstream.testing import TestPublisher, TestSubscriber, Violation
from tests.support import in_thread


def pair(*violations, initial_request=0):
    source = TestPublisher(*violations, timeout_s=0.1)
    seen = TestSubscriber(initial_request=initial_request)
    source.subscribe(seen)
    return source, seen


def test_it_counts_what_was_requested_and_what_is_due():
    source, seen = pair(initial_request=3)
    source.next("a")
    assert (source.requested, source.pending) == (3, 2)
    source.complete()
    seen.assert_values("a")
    seen.assert_complete()
    seen.assert_no_violations()


@pytest.mark.parametrize("n", [0, -3])
def test_a_wrong_request_ends_the_stream_with_an_error(n):
    _, seen = pair()
    seen.request(n)
    seen.assert_error(ValueError, match=r"3.9")


def test_after_a_cancellation_nothing_is_signalled():
    source, seen = pair(initial_request=1)
    seen.cancel()
    assert source.is_cancelled
    source.next(1)
    source.complete()
    assert seen.signals == []


def test_what_would_break_the_contract_is_an_assertion_that_names_the_way_out():
    source, _ = pair(initial_request=1)
    source.next(1)
    with pytest.raises(AssertionError, match=r"1 were requested.*Violation.BEYOND_DEMAND"):
        source.next(2)
    with pytest.raises(AssertionError, match=r"Violation.NONE_ELEMENT"):
        source.next(None)
    source.complete()
    with pytest.raises(AssertionError, match=r"Violation.AFTER_END"):
        source.next(3)
    with pytest.raises(AssertionError, match="no subscriber"):
        TestPublisher().complete()


def test_one_subscriber_at_a_time_and_another_one_after_its_end():
    source, first = pair()
    second = TestSubscriber()
    source.subscribe(second)
    second.assert_error(LocalContractError, match=r"1.11")
    source.error(OSError("gone"))
    first.assert_error(OSError)
    third = TestSubscriber(initial_request=1)
    source.subscribe(third)
    source.next(3)
    third.assert_values(3)
    assert source.subscribe_count == 2


def test_waits_see_what_another_thread_does():
    source = TestPublisher()
    seen = TestSubscriber(initial_request=2)
    thread = in_thread(source.subscribe, seen)
    source.await_subscriber()
    source.await_request(2)
    thread.join(10)
    thread = in_thread(seen.cancel)
    source.await_cancel()
    thread.join(10)


def test_a_wait_in_vain_says_what_there_is():
    source, _ = pair(initial_request=1)
    with pytest.raises(AssertionError, match=r"request of 2 elements.*1 subscribers, 1 requested"):
        source.await_request(2)
    with pytest.raises(AssertionError, match="cancellation"):
        source.await_cancel()


def beyond_demand(source, seen):
    source.next(1)


def after_end(source, seen):
    source.complete()
    source.complete()


def nothing(source, seen):
    pass


@pytest.mark.parametrize(
    ("violation", "act", "rule"),
    [
        (Violation.BEYOND_DEMAND, beyond_demand, "§1.1"),
        (Violation.AFTER_END, after_end, "§1.7"),
        (Violation.NO_SUBSCRIPTION, lambda source, seen: source.complete(), "§1.9"),
        (Violation.TWO_SUBSCRIPTIONS, nothing, "§2.12"),
    ],
)
def test_a_violation_breaks_its_rule(violation, act, rule):
    source, seen = pair(violation)
    act(source, seen)
    assert any(text.startswith(rule) for text in seen.violations)


def test_none_goes_out_where_it_is_asked_for():
    source, _ = pair(Violation.NONE_ELEMENT, initial_request=1)
    with pytest.raises(TypeError, match=r"2.13"):
        source.next(None)


def test_signals_overlap_where_it_is_asked_for():
    barrier = threading.Barrier(2)
    source = TestPublisher(Violation.OVERLAPPING)
    seen = TestSubscriber(initial_request=2, on_next=lambda item: barrier.wait(10))
    source.subscribe(seen)
    source.next(1, 2)
    assert [text for text in seen.violations if text.startswith("§1.3")]


def test_signals_go_on_after_a_cancellation_where_it_is_asked_for():
    source, seen = pair(Violation.AFTER_CANCEL, initial_request=1)
    seen.cancel()
    source.next(1)
    seen.assert_values(1)


def test_a_wrong_request_is_ignored_where_it_is_asked_for():
    source, seen = pair(Violation.NO_REQUEST_CHECK)
    seen.request(0)
    seen.request(1)
    source.next(1)
    seen.assert_values(1)
