"""The required publisher tests of the Reactive Streams TCK, under their names there.

A subclass supplies ``create_publisher(n)`` (exactly n elements, INFINITE: no end) and
``create_failed_publisher()``.
"""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from rstream.abc import UNBOUNDED

from .environment import ManualSubscriber

INFINITE = UNBOUNDED


class PublisherVerification:
    """See the module."""

    def create_publisher(self, elements):
        raise NotImplementedError

    def create_failed_publisher(self):
        raise NotImplementedError

    @pytest.fixture
    def subscribe(self):
        """Subscribe a manual subscriber; check its signal order and cancel it at the end."""
        subscribers = []

        def start(elements, subscriber=None):
            subscriber = subscriber or ManualSubscriber()
            subscribers.append(subscriber)
            self.create_publisher(elements).subscribe(subscriber)
            return subscriber

        yield start
        for subscriber in subscribers:
            subscriber.check()
            subscriber.expect_subscription().cancel()

    @pytest.mark.parametrize("elements", [1, 3])
    def test_required_create_publisher_must_produce_a_stream_of_exactly_n_elements(
        self, subscribe, elements
    ):
        subscriber = subscribe(elements)
        for _ in range(elements):
            subscriber.request_next()
        subscriber.expect_completion()
        subscriber.expect_none()

    def test_required_spec101_subscription_request_must_result_in_the_correct_number(
        self, subscribe
    ):
        subscriber = subscribe(5)
        subscriber.expect_none()
        subscriber.request_next()
        subscriber.expect_none()
        subscriber.subscription.request(1)
        subscriber.subscription.request(2)
        for _ in range(3):
            subscriber.next()
        subscriber.expect_none()

    def test_required_spec102_may_signal_less_than_requested_and_terminate(self, subscribe):
        subscriber = subscribe(3)
        subscriber.subscription.request(10)
        for _ in range(3):
            subscriber.next()
        subscriber.expect_completion()

    def test_stochastic_spec103_must_signal_serially(self, subscribe):
        class Asking(ManualSubscriber):
            def subscribed(self):
                self.subscription.request(1)

            def received(self, item):
                self.subscription.request(1)

        subscriber = subscribe(100, Asking())
        for _ in range(100):
            subscriber.next()
        subscriber.expect_completion()

    def test_optional_spec104_must_signal_on_error_when_fails(self):
        subscriber = ManualSubscriber()
        self.create_failed_publisher().subscribe(subscriber)
        subscriber.expect_subscription()
        subscriber.expect_error()
        subscriber.subscription.request(1)  # §1.7 after an error; the Java TCK does not test this
        subscriber.expect_none()
        subscriber.check()

    def test_required_spec105_must_signal_on_complete_when_finite_stream_terminates(
        self, subscribe
    ):
        subscriber = subscribe(3)
        for _ in range(3):
            subscriber.request_next()
        subscriber.expect_completion()
        subscriber.expect_none()

    def test_optional_spec105_empty_stream_must_terminate_by_signalling_on_complete(
        self, subscribe
    ):
        subscribe(0).expect_completion()

    def test_required_spec107_must_not_emit_further_signals_once_on_complete(self, subscribe):
        subscriber = subscribe(1)
        subscriber.subscription.request(10)
        subscriber.next()
        subscriber.expect_completion()
        subscriber.subscription.request(10)
        subscriber.expect_none()

    def test_required_spec109_subscribe_throw_on_null_subscriber(self):
        with pytest.raises(TypeError):
            self.create_publisher(0).subscribe(None)

    def test_required_spec109_must_issue_on_subscribe_for_non_null_subscriber(self, subscribe):
        subscriber = subscribe(1)
        assert subscriber.subscription is not None  # before subscribe returned
        subscriber.expect_none()

    def test_required_spec302_must_allow_synchronous_request_calls(self, subscribe):
        class Asking(ManualSubscriber):
            def subscribed(self):
                for _ in range(3):
                    self.subscription.request(1)

            def received(self, item):
                self.subscription.request(1)

        subscriber = subscribe(6, Asking())
        for _ in range(6):
            subscriber.next()

    def test_required_spec303_must_not_allow_unbounded_recursion(self, subscribe):
        local = threading.local()
        depths = []

        class Asking(ManualSubscriber):
            def received(self, item):
                local.depth = getattr(local, "depth", 0) + 1
                depths.append(local.depth)
                self.subscription.request(1)
                local.depth -= 1

        subscriber = subscribe(50, Asking())
        subscriber.subscription.request(1)
        for _ in range(50):
            subscriber.next()
        assert max(depths) == 1

    def test_required_spec306_after_cancel_request_must_be_nops(self, subscribe):
        subscriber = subscribe(3)
        subscriber.subscription.cancel()
        for _ in range(3):
            subscriber.subscription.request(1)
        subscriber.expect_none()

    def test_required_spec307_after_cancel_additional_cancels_must_be_nops(self, subscribe):
        subscriber = subscribe(1)
        for _ in range(3):
            subscriber.subscription.cancel()
        subscriber.expect_none()

    @pytest.mark.parametrize("n", [0, -1, -123456])
    def test_required_spec309_request_non_positive_must_signal_value_error(self, subscribe, n):
        subscriber = subscribe(10)
        subscriber.subscription.request(n)
        error = subscriber.expect_error()
        assert isinstance(error, ValueError)
        assert "3.9" in str(error)

    def test_required_spec312_cancel_must_make_the_publisher_stop(self, subscribe):
        subscriber = subscribe(20)
        subscriber.subscription.request(10)
        subscriber.subscription.request(5)
        subscriber.next()
        subscriber.subscription.cancel()
        time.sleep(0.2)
        assert subscriber.signals.qsize() <= 14
        while not subscriber.signals.empty():
            subscriber.signals.get()
        subscriber.expect_none()

    def test_required_spec313_cancel_must_make_the_publisher_drop_the_subscriber(self):
        subscriber = ManualSubscriber()
        self.create_publisher(3).subscribe(subscriber)
        subscriber.request_next()
        subscriber.subscription.cancel()
        reference = weakref.ref(subscriber)
        del subscriber
        deadline = time.monotonic() + 3.0
        while reference() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
            gc.collect()
        assert reference() is None

    def test_required_spec317_must_support_a_pending_element_count_up_to_long_max(self, subscribe):
        subscriber = subscribe(3)
        subscriber.subscription.request(UNBOUNDED)
        for _ in range(3):
            subscriber.next()
        subscriber.expect_completion()

    def test_required_spec317_must_support_a_cumulative_pending_count_up_to_long_max(
        self, subscribe
    ):
        subscriber = subscribe(3)
        subscriber.subscription.request(UNBOUNDED // 2)
        subscriber.subscription.request(UNBOUNDED // 2)
        subscriber.subscription.request(1)
        for _ in range(3):
            subscriber.next()
        subscriber.expect_completion()

    def test_required_spec317_must_not_signal_on_error_when_pending_above_long_max(self, subscribe):
        class Asking(ManualSubscriber):
            count = 0

            def received(self, item):
                self.count += 1
                if self.count < 10:
                    self.subscription.request(UNBOUNDED - 1)
                else:
                    self.subscription.cancel()

        subscriber = subscribe(INFINITE, Asking())
        subscriber.subscription.request(1)
        for _ in range(10):
            subscriber.next()
        assert not subscriber.has_ended
