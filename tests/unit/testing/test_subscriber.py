"""TestSubscriber says what came, waits for what is to come, and sees which rules are broken."""

from __future__ import annotations

import threading

import pytest

from rstream import abc, stages
from rstream.errors import ConfigError
from rstream.testing import Complete, Next, TestPublisher, TestSubscriber
from tests.support import in_thread


def subscribed(publisher, **options):
    seen = TestSubscriber(timeout_s=0.2, **options)
    publisher.subscribe(seen)
    return seen


def test_nothing_comes_before_a_request_and_then_no_more_than_requested():
    seen = subscribed(stages.from_iterable("abc"))
    seen.expect_none(for_s=0.01)
    seen.request(2)
    seen.expect_next("a", "b")
    seen.expect_none(for_s=0.01)
    seen.request(2)
    assert seen.take() == ["c"]
    seen.expect_complete()
    assert seen.signals == [Next("a"), Next("b"), Next("c"), Complete()]
    assert seen.requested == 4
    seen.assert_no_violations()


def test_assertions_look_at_everything_and_ignore_what_was_read():
    seen = subscribed(stages.from_iterable([1, 2]), initial_request=2)
    seen.assert_values(1, 2)
    seen.assert_complete()
    with pytest.raises(AssertionError, match=r"expected \[1\], got \[1, 2\]"):
        seen.assert_values(1)
    with pytest.raises(AssertionError, match="expected one end, expected Exception"):
        seen.assert_error()
    with pytest.raises(AssertionError, match="has ended"):
        seen.assert_not_ended()


def test_an_error_is_found_by_class_and_text():
    source = TestPublisher()
    seen = subscribed(source)
    seen.assert_not_ended()
    source.error(KeyError("px"))
    seen.assert_error(KeyError, match="px")
    with pytest.raises(AssertionError):
        seen.assert_error(ValueError)
    assert isinstance(seen.expect_error(LookupError, match=r"p."), KeyError)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda seen: seen.expect_next("z"), "expected 'z', got 'a'; 1 signals so far"),
        (lambda seen: seen.take(2), "element 2 of 2: not within 0.2 s; 1 signals .*; 1 requested"),
        (lambda seen: seen.expect_complete(), r"expected completion, got Next\(value='a'\)"),
        (lambda seen: seen.expect_error(), "expected Exception, got Next"),
        (lambda seen: seen.expect_none(for_s=0), "expected no signal, got Next"),
        (lambda seen: seen.await_count(2), "2 elements in all: not within 0.2 s"),
        (lambda seen: seen.await_end(), "an end: not within 0.2 s"),
        (lambda seen: seen.assert_complete(), "expected one end, completion"),
    ],
)
def test_a_failure_says_what_was_expected_and_what_came(call, text):
    seen = subscribed(stages.from_iterable("ab"), initial_request=1)
    with pytest.raises(AssertionError, match=text):
        call(seen)


def test_waits_end_when_another_thread_signals():
    source = TestPublisher()
    seen = TestSubscriber(initial_request=2)
    thread = in_thread(lambda: (source.await_request(2), source.next(1, 2), source.complete()))
    source.subscribe(seen)
    seen.await_count(2)
    seen.await_end()
    seen.assert_values(1, 2)
    thread.join(10)


def test_a_pump_runs_publishers_that_work_in_the_callers_thread():
    source = TestPublisher()
    work = [source.complete, lambda: source.next(7)]
    seen = TestSubscriber(initial_request=1, pump=lambda: work and work.pop()())
    source.subscribe(seen)
    assert seen.values == []
    seen.expect_next(7)
    seen.expect_complete()


class Raw(abc.Publisher):
    """Calls a function with the subscriber."""

    def __init__(self, function):
        self.subscribe = function

    def subscribe(self, subscriber):
        raise NotImplementedError


def both(*functions):
    return lambda subscriber: [function(subscriber) for function in functions]


class Nothing(abc.Subscription):
    def request(self, n):
        pass

    def cancel(self):
        pass


def start(subscriber):
    subscriber.on_subscribe(Nothing())


@pytest.mark.parametrize(
    ("behaviour", "rule"),
    [
        (both(start, lambda s: s.on_next(1)), "§1.1"),
        (both(start, lambda s: s.on_complete(), lambda s: s.on_complete()), "§1.7"),
        (both(start, lambda s: s.on_error(OSError()), lambda s: s.on_next(1)), "§1.7"),
        (lambda s: s.on_next(1), "§1.9"),
        (both(start, start), "§2.12"),
    ],
)
def test_a_breach_is_recorded_with_its_rule(behaviour, rule):
    seen = subscribed(Raw(behaviour))
    assert any(violation.startswith(rule) for violation in seen.violations)
    with pytest.raises(AssertionError, match=rule):
        seen.assert_no_violations()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_none_is_refused_and_recorded(signal):
    seen = TestSubscriber()
    with pytest.raises(TypeError, match=r"2.13"):
        getattr(seen, signal)(None)
    assert any("2.13" in violation for violation in seen.violations)


def test_overlapping_signals_are_recorded_and_nested_ones_are_not():
    entered, leave = threading.Event(), threading.Event()

    def hold(item):
        if item == 1:
            entered.set()
            assert leave.wait(10)

    seen = TestSubscriber(on_next=hold)
    seen.on_subscribe(Nothing())
    seen.request(3)
    thread = in_thread(seen.on_next, 1)
    assert entered.wait(10)
    seen.on_next(2)
    leave.set()
    thread.join(10)
    assert [text for text in seen.violations if text.startswith("§1.3")]

    nested = TestSubscriber(on_next=lambda item: item and nested.on_next(item - 1))
    nested.on_subscribe(Nothing())
    nested.request(3)
    nested.on_next(2)
    nested.assert_values(2, 1, 0)
    nested.assert_no_violations()


def test_a_second_subscription_is_cancelled():
    source = TestPublisher()
    seen = TestSubscriber()
    seen.on_subscribe(Nothing())
    source.subscribe(seen)
    assert source.is_cancelled


def test_a_wrong_time_is_refused():
    with pytest.raises(ConfigError, match="timeout_s='soon'"):
        TestSubscriber(timeout_s="soon")
