"""verify() takes its steps in order, in virtual time too, and says which one failed."""

from __future__ import annotations

import pytest

from rstream.errors import ConfigError
from rstream.testing import IterablePublisher, ManualClock, TestPublisher, Violation, verify


def test_expected_elements_are_requested_and_no_more():
    source = IterablePublisher([1, 2, 3, 4])
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
    clock, source = ManualClock(), TestPublisher()
    for at_s in (1, 2):
        clock.call_later(at_s, lambda at_s=at_s: source.next(at_s))
    clock.call_later(3600, source.complete)
    (
        verify(source, advance=clock.advance_s)
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
    assert clock.now_s == 3600


def test_a_signal_too_early_in_virtual_time_is_found():
    clock, source = ManualClock(), TestPublisher()
    clock.call_later(0.5, source.complete)
    script = verify(source, advance=clock.advance_s).expect_none(for_s=1)
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
    with pytest.raises(ConfigError, match=r"advance=clock.advance_s"):
        verify(TestPublisher()).advance_s(1)


# ---- the clock ----


def test_the_clock_calls_in_the_order_of_time():
    clock, seen = ManualClock(), []
    clock.call_later(2, lambda: seen.append(("late", clock.now_s)))
    clock.call_later(1, lambda: clock.call_later(0.5, lambda: seen.append(("new", clock.now_s))))
    clock.call_later(2, lambda: seen.append(("second", clock.now_s)))
    clock.advance_s(2)
    assert seen == [("new", 1.5), ("late", 2.0), ("second", 2.0)]
    assert clock.now_ns == 2_000_000_000


def test_a_call_that_returns_for_ever_is_stopped():
    clock = ManualClock()

    def again():
        clock.call_later(0, again)

    clock.call_later(0, again)
    with pytest.raises(RuntimeError, match="100000 calls"):
        clock.advance_s(1)


@pytest.mark.parametrize("seconds", [-1, float("nan"), "1"])
def test_the_clock_takes_seconds_only(seconds):
    with pytest.raises(ConfigError):
        ManualClock().advance_s(seconds)
    with pytest.raises(ConfigError):
        ManualClock().call_later(seconds, print)
