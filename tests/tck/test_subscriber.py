"""StreamSink against the required white- and black-box subscriber tests of the TCK."""

from __future__ import annotations

import itertools
import threading

import pytest

from rstream import stream
from rstream.errors import RemoteError

from .environment import ManualUpstream

_numbers = itertools.count()


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture
def pair(driver_dir):
    """A stream subscriber under test and a reader of its output."""
    name = f"tck-subscriber-{next(_numbers)}"
    with stream.subscriber(name, dir=driver_dir) as reader:
        subscriber = stream.sink(name, dir=driver_dir, window=4, linger_s=0)
        yield subscriber, reader
        subscriber.cancel()


def take(reader, count):
    items = []
    while len(items) < count:
        batch = reader.poll()
        items += batch
        if not batch:
            assert reader.wait(10)
    return items


def test_required_exercise_happy_path(pair):
    subscriber, reader = pair
    upstream = ManualUpstream()
    subscriber.on_subscribe(upstream)
    for item in range(4):
        subscriber.on_next(item)
    assert take(reader, 4) == [0, 1, 2, 3]


def test_required_spec201_must_signal_demand_via_subscription_request(pair):
    subscriber, reader = pair
    upstream = ManualUpstream()
    subscriber.on_subscribe(upstream)
    assert upstream.requests.get(timeout=1) == 4
    sent = 0
    while sent < 40:  # it keeps requesting as it sends
        assert upstream.requested > sent
        subscriber.on_next(sent)
        sent += 1
    assert take(reader, 40) == list(range(40))


@pytest.mark.parametrize("signal", ["on_complete", "on_error"])
def test_required_spec203_must_not_call_the_subscription_in_terminal_signals(pair, signal):
    subscriber, _ = pair
    upstream = ManualUpstream()
    subscriber.on_subscribe(upstream)
    upstream.has_ended = True
    if signal == "on_complete":
        subscriber.on_complete()
    else:
        subscriber.on_error(RuntimeError("upstream"))
    assert upstream.calls_after_end == []


def test_required_spec205_must_cancel_a_second_subscription(pair):
    subscriber, _ = pair
    first, second = ManualUpstream(), ManualUpstream()
    subscriber.on_subscribe(first)
    subscriber.on_subscribe(second)
    assert second.cancelled.is_set()
    assert second.requested == 0
    assert not first.cancelled.is_set()


def test_required_spec208_must_be_prepared_to_receive_on_next_after_cancel(pair):
    subscriber, _ = pair
    upstream = ManualUpstream()
    subscriber.on_subscribe(upstream)
    subscriber.cancel()
    assert upstream.cancelled.is_set()
    subscriber.on_next(1)


@pytest.mark.parametrize("has_subscription", [True, False])
def test_required_spec209_must_be_prepared_to_receive_on_complete(pair, has_subscription):
    subscriber, reader = pair
    if has_subscription:
        subscriber.on_subscribe(ManualUpstream())
    threading.Thread(target=subscriber.on_complete).start()
    assert list(reader) == []


@pytest.mark.parametrize("has_subscription", [True, False])
def test_required_spec210_must_be_prepared_to_receive_on_error(pair, has_subscription):
    subscriber, reader = pair
    if has_subscription:
        subscriber.on_subscribe(ManualUpstream())
    subscriber.on_error(RuntimeError("why"))
    with pytest.raises(RemoteError, match="RuntimeError: why"):
        list(reader)


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_required_spec213_must_throw_when_parameters_are_null(pair, signal):
    subscriber, _ = pair
    with pytest.raises(TypeError):
        getattr(subscriber, signal)(None)
