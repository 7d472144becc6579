"""A queue that a program fills: order, room, and every end."""

from __future__ import annotations

import threading

import pytest

from rstream import stages
from rstream.errors import (
    BackPressured,
    ClosedError,
    ConcurrentUseError,
    ConfigError,
    LocalContractError,
)
from tests.support import in_thread, until

from .ends import Sink


def test_elements_come_in_order_as_they_are_wanted():
    queue, sink = stages.source_queue(8), Sink(2)
    queue.subscribe(sink)
    for number in range(5):
        queue.send(number)
    assert (sink.items, len(queue)) == ([0, 1], 3)
    sink.request(2)
    assert (sink.items, len(queue)) == ([0, 1, 2, 3], 1)
    queue.close()
    assert sink.ends == []
    sink.request(1)
    assert (sink.items[-1], sink.ends) == (4, ["complete"])


def test_elements_wait_for_a_subscriber_that_comes_later():
    queue, sink = stages.source_queue(), Sink(9)
    with queue:
        queue.send("a")
        queue.send("b")
    queue.subscribe(sink)
    assert (sink.items, sink.ends) == (["a", "b"], ["complete"])


def test_a_full_queue_makes_send_wait_and_offer_say_no():
    queue, sink = stages.source_queue(2), Sink()
    queue.subscribe(sink)
    assert [queue.offer(number) for number in range(3)] == [True, True, False]
    with pytest.raises(BackPressured, match="2 elements wait"):
        queue.send(2, timeout_s=0.01)
    sender = in_thread(queue.send, 2)
    sender.join(0.05)
    assert sender.is_alive()
    sink.request(1)
    sender.join(5)
    assert not sender.is_alive()
    sink.request(2)
    assert sink.items == [0, 1, 2]


def test_an_error_comes_behind_the_elements():
    queue, sink, error = stages.source_queue(), Sink(), OSError("gone")
    queue.subscribe(sink)
    queue.send(1)
    queue.fail(error)
    assert sink.ends == []
    sink.request(1)
    assert (sink.items, sink.ends) == ([1], [error])


def test_a_block_left_with_an_error_fails_the_subscriber():
    queue, sink = stages.source_queue(), Sink(1)
    queue.subscribe(sink)
    with pytest.raises(ZeroDivisionError), queue:
        raise ZeroDivisionError
    assert isinstance(sink.ends[0], ZeroDivisionError)


@pytest.mark.parametrize("end", ["close", "fail"])
def test_nothing_is_taken_after_the_end(end):
    queue = stages.source_queue()
    queue.close() if end == "close" else queue.fail(OSError())
    for send in (queue.send, queue.offer):
        with pytest.raises(ClosedError, match="it was closed"):
            send(1)


def test_a_subscriber_that_cancels_ends_the_senders():
    queue, sink = stages.source_queue(1), Sink()
    queue.subscribe(sink)
    queue.send(1)
    raised = []

    def send():
        try:
            queue.send(2)
        except ClosedError as error:
            raised.append(str(error))

    sender = in_thread(send)
    sender.join(0.05)
    assert sender.is_alive()
    sink.subscription.cancel()
    sender.join(5)
    assert "its subscriber has cancelled" in raised[0]
    assert len(queue) == 0


def test_close_ends_a_send_that_waits():
    queue = stages.source_queue(1)
    queue.send(1)
    raised = []

    def send():
        try:
            queue.send(2)
        except ClosedError as error:
            raised.append(error)

    sender = in_thread(send)
    sender.join(0.05)
    assert sender.is_alive()
    queue.close()
    sender.join(5)
    assert raised


def test_a_subscriber_that_sends_into_its_own_full_queue_is_told():
    queue, errors = stages.source_queue(1), []

    class Echo(Sink):
        def on_next(self, item):
            super().on_next(item)
            queue.send(item + 1)  # takes the place of the element that is delivered
            try:
                queue.send(item + 2)
            except ConcurrentUseError as error:
                errors.append(error)

    queue.subscribe(Echo(1))
    queue.send(0)
    assert "sends another one" in str(errors[0])


def test_a_second_subscriber_is_refused():
    queue, second = stages.source_queue(), Sink(1)
    queue.subscribe(Sink(1))
    queue.subscribe(second)
    assert isinstance(second.ends[0], LocalContractError)
    assert "broadcast_hub" in str(second.ends[0])


def test_a_subscriber_that_raises_is_cancelled_and_logged(caplog):
    queue = stages.source_queue()

    class Bad(Sink):
        def on_next(self, item):
            raise OSError("disk full")

    queue.subscribe(Bad(5))
    queue.send(1)
    assert "disk full" in caplog.text
    with pytest.raises(ClosedError):
        queue.send(2)


def test_threads_share_it_and_nothing_is_lost():
    queue, sink = stages.source_queue(3), Sink(1, then=1)
    queue.subscribe(sink)
    threads = [
        threading.Thread(target=lambda base=base: [queue.send(base + n) for n in range(500)])
        for base in (0, 1000, 2000)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert until(lambda: len(sink.items) == 1500)
    for base in (0, 1000, 2000):
        assert [n for n in sink.items if base <= n < base + 500] == list(range(base, base + 500))


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
def test_refuses_a_capacity_that_it_cannot_use(bad):
    with pytest.raises(ConfigError, match="capacity"):
        stages.source_queue(bad)


@pytest.mark.parametrize("call", ["send", "offer", "fail"])
def test_refuses_none(call):
    with pytest.raises(TypeError, match="None"):
        getattr(stages.source_queue(), call)(None)
