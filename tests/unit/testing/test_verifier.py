"""verify() takes its steps in order, in virtual time too, and says which one failed."""

from __future__ import annotations

import pytest

from rstream import stages
from rstream.errors import ConfigError
from rstream.testing import TestPublisher, Violation, verify


def test_expected_elements_are_requested_and_no_more():
    source = stages.from_iterable([1, 2, 3, 4])
    values = (
        verify(source)
        .expect_none(for_s=0.01)
        .expect_next(1, 2)
        .expect_none(for_s=0.01)
        .then_request(1)
        .expect_next(3)
        .expect_next_where(lambda value: value == 4)
        .expect_complete()
        .run()
    )
    assert values == [1, 2, 3, 4]


def test_virtual_time_passes_in_the_order_of_the_steps():
    clock, source = stages.VirtualClock(), TestPublisher()
    for at_s in (1, 2):
        clock.call_at(at_s * 10**9, lambda at_s=at_s: source.next(at_s))
    clock.call_at(3600 * 10**9, source.complete)
    (
        verify(source, advance=clock.advance)
        .then_request(2)
        .expect_none(for_s=0.999)
        .advance_s(0.001)
        .expect_next(1)
        .advance_s(1)
        .expect_next(2)
        .expect_none(for_s=3597)
        .advance_s(1)
        .expect_complete()
        .run()
    )
    assert clock.now_ns() == 3600 * 10**9


def test_a_signal_too_early_in_virtual_time_is_found():
    clock, source = stages.VirtualClock(), TestPublisher()
    clock.call_at(10**9 // 2, source.complete)
    script = verify(source, advance=clock.advance).expect_none(for_s=1)
    with pytest.raises(AssertionError, match=r"step 1 of 1, expect_none\(for_s=1\): .*Complete"):
        script.run()


def test_rxpys_virtual_time_does_too():
    rx = pytest.importorskip("reactivex", reason="reactivex is not installed")
    scheduler = pytest.importorskip("reactivex.testing").TestScheduler()
    source = TestPublisher()
    rx.timer(60, scheduler=scheduler).subscribe(source.next)
    (
        verify(source, advance=scheduler.advance_by)
        .then_request(1)
        .expect_none(for_s=59)
        .advance_s(2)
        .expect_next(0)
        .then_cancel()
        .run()
    )
    assert source.is_cancelled


def test_a_failed_step_is_named_and_the_subscription_is_cancelled():
    source = TestPublisher()
    script = (
        verify(source, timeout_s=0.05)
        .then(lambda: source.next(1), request=1)
        .expect_next(1)
        .expect_next(5)
    )
    script.then(lambda: source.next(2))
    with pytest.raises(AssertionError, match=r"step 3 of 4, expect_next\(5\): .*not within"):
        script.run()
    assert source.is_cancelled


def test_an_error_is_expected_by_class_and_text():
    source = TestPublisher()
    (
        verify(source)
        .then(lambda: source.error(OSError("cable")))
        .expect_error(OSError, match="cable")
        .run()
    )


def test_a_publisher_that_breaks_the_contract_fails_the_run():
    source = TestPublisher(Violation.BEYOND_DEMAND)
    script = verify(source).then(lambda: source.next(1)).expect_next_count(1)
    with pytest.raises(AssertionError, match=r"§1.1"):
        script.run()


def test_time_without_virtual_time_is_refused_with_the_way_out():
    with pytest.raises(ConfigError, match=r"advance=clock.advance"):
        verify(TestPublisher()).advance_s(1)
