"""The signals of a processor do not overlap, whatever its two sides do at the same time (§1.3)."""

from __future__ import annotations

import threading

import pytest

from rstream import stream
from rstream.testing import TestPublisher, TestSubscriber
from tests.support import in_thread


def test_a_wrong_request_waits_for_the_element_under_way():
    entered, leave = threading.Event(), threading.Event()

    def hold(item):
        entered.set()
        assert leave.wait(10)

    source, processor = TestPublisher(), stream.processor(lambda item: item)
    seen = TestSubscriber(initial_request=1, on_next=hold)
    source.subscribe(processor)
    processor.subscribe(seen)
    thread = in_thread(source.next, 1)
    assert entered.wait(10)
    seen.request(0)
    assert not seen.has_ended
    leave.set()
    thread.join(10)
    seen.expect_next(1)
    seen.expect_error(ValueError, match=r"3\.9")
    assert source.is_cancelled
    seen.assert_no_violations()


def test_what_is_requested_in_on_subscribe_comes_when_that_has_returned():
    class Slow(TestSubscriber):
        def subscribed(self):
            self.request(1)
            self.request(1)
            came.wait(0.05)

    came = threading.Event()
    source, processor = TestPublisher(), stream.processor(lambda item: item)

    def answer():
        source.await_request(2)
        source.next(0, 1)
        came.set()

    source.subscribe(processor)
    thread = in_thread(answer)
    seen = Slow()
    processor.subscribe(seen)
    seen.expect_next(0, 1)
    thread.join(10)
    seen.assert_no_violations()


@pytest.mark.parametrize("end", ["complete", "error", "function"])
def test_an_end_comes_once(end):
    source, processor = TestPublisher(), stream.processor(lambda item: 1 // item)
    seen = TestSubscriber(initial_request=1)
    source.subscribe(processor)
    processor.subscribe(seen)
    if end == "complete":
        source.complete()
    elif end == "error":
        source.error(OSError("gone"))
    else:
        source.next(0)
        assert source.is_cancelled
    seen.await_end()
    seen.request(0)
    assert len(seen.signals) == 1
    seen.assert_no_violations()
