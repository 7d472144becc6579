"""The demand loop, the publishing subscriber and the processor, run step by step."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from rstream import abc, policy, stream
from rstream.errors import ConfigError, SlowConsumer
from rstream.stream._internal import BufferedReading, sending_of
from tests.support import until


class Recorder(abc.Subscriber):
    """Records signals; requests what it is told to."""

    def __init__(self, *requests):
        self.requests = requests
        self.signals = []
        self.subscription = None

    def on_subscribe(self, subscription):
        self.signals.append("subscribe")
        self.subscription = subscription
        for n in self.requests:
            subscription.request(n)

    def on_next(self, item):
        self.signals.append(item)

    def on_error(self, error):
        self.signals.append(error)

    def on_complete(self):
        self.signals.append("complete")


@pytest.fixture
def caller():
    return stream.CallerExecutor()


def run_until(caller, condition, timeout_s=10.0):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        caller.run_pending(wait_s=0.01)


def settle(caller):
    for _ in range(20):
        caller.run_pending(wait_s=0.005)


def test_only_what_was_requested_is_delivered_and_the_rest_stays_in_the_transport(
    driver_dir, name, caller
):
    recorder = Recorder()
    stream.source(name, dir=driver_dir, executor=caller).subscribe(recorder)
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        pub.send_many(range(10))
        settle(caller)
        assert recorder.signals == ["subscribe"]
        recorder.subscription.request(1)
        settle(caller)
        assert recorder.signals == ["subscribe", 0]
        recorder.subscription.request(2)
        recorder.subscription.request(2)
        settle(caller)
        assert recorder.signals == ["subscribe", 0, 1, 2, 3, 4]
        assert (
            sending_of(pub).session.core.consumed_position <= 64 * 5
        )  # C consumed no more than was requested
        recorder.subscription.request(100)
        run_until(caller, lambda: len(recorder.signals) == 11)
    run_until(caller, lambda: recorder.signals[-1] == "complete")
    assert not caller.run_pending()


def test_completion_needs_no_demand(driver_dir, name, caller):
    recorder = Recorder(2)
    stream.source(name, dir=driver_dir, executor=caller).subscribe(recorder)
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        pub.send_many([1, 2])
    run_until(caller, lambda: recorder.signals == ["subscribe", 1, 2, "complete"])


@pytest.mark.parametrize(
    ("on_slow", "expected"),
    [
        (policy.DropOldest(3), [97, 98, 99]),
        (policy.DropNewest(3), [0, 1, 2]),
        (policy.Buffer(3, "drop_newest"), [0, 1, 2]),
        (policy.Latest(key=lambda n: n % 2), [98, 99]),
        (policy.Conflate(lambda a, b: a + b), [sum(range(100))]),
        (policy.Buffer(3), list(range(100))),
        (policy.Block(), list(range(100))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_demand_takes_from_the_queue_of_a_policy(
    driver_dir, name, caller, monkeypatch, on_slow, expected
):
    queues, start = [], BufferedReading.start
    monkeypatch.setattr(BufferedReading, "start", lambda one: queues.append(one) or start(one))
    recorder = Recorder()
    stream.source(name, dir=driver_dir, executor=caller, on_slow=on_slow).subscribe(recorder)
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        pub.send_many(range(100))
        # The whole stream was read (except under Block and Buffer, whose rest waits in the
        # transport). Without demand nothing is delivered.
        if len(expected) < 100:
            run_until(caller, lambda: queues[0].statistics()["messages"] == 100)
        settle(caller)
        assert recorder.signals == ["subscribe"]
        for count in range(1, len(expected) + 1):
            recorder.subscription.request(1)
            run_until(caller, lambda n=count: len(recorder.signals) >= 1 + n)
            assert recorder.signals == ["subscribe", *expected[:count]]
    run_until(caller, lambda: recorder.signals[-1] == "complete")
    assert recorder.signals == ["subscribe", *expected, "complete"]


def test_fail_calls_on_error_after_the_waiting_items(driver_dir, name, caller):
    recorder = Recorder(1)
    stream.source(name, dir=driver_dir, executor=caller, on_slow=policy.Fail(3)).subscribe(recorder)
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        pub.send(0)
        run_until(caller, lambda: recorder.signals == ["subscribe", 0])
        pub.send_many([1, 2, 3])
        settle(caller)
        # three wait, exactly the limit: that is no failure yet
        assert recorder.signals == ["subscribe", 0]
        pub.send(4)
        run_until(caller, lambda: not pub.is_connected)  # it failed and unsubscribed
        recorder.subscription.request(100)
        run_until(caller, lambda: isinstance(recorder.signals[-1], SlowConsumer))
    assert recorder.signals[:-1] == ["subscribe", 0, 1, 2, 3]


def test_a_queue_without_demand_keeps_the_loop_asleep(driver_dir, name, monkeypatch):
    polls, queues = [], set()
    take = BufferedReading.poll_demanded

    def counted(self, demand):
        polls.append(demand)
        queues.add(self)
        return take(self, demand)

    monkeypatch.setattr(BufferedReading, "poll_demanded", counted)
    recorder = Recorder()
    stream.source(name, dir=driver_dir, on_slow=policy.DropOldest(2)).subscribe(recorder)
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        pub.send_many(range(10))
        until(lambda: [one.statistics()["messages"] for one in queues] == [10])
        before = len(polls)
        time.sleep(0.3)
        assert len(polls) - before < 20  # a loop that spins would poll thousands of times
        recorder.subscription.request(5)
    deadline = time.monotonic() + 10
    while recorder.signals[-1] != "complete" and time.monotonic() < deadline:
        time.sleep(0.005)
    assert recorder.signals == ["subscribe", 8, 9, "complete"]


def test_an_unusable_policy_is_refused_at_once(driver_dir, name):
    with pytest.raises(ConfigError, match="at least 1"):
        stream.source(name, dir=driver_dir, on_slow=policy.Buffer(0))


def test_request_in_on_next_does_not_recurse(driver_dir, name):
    depth = threading.local()
    deepest = []

    class Greedy(Recorder):
        def on_next(self, item):
            depth.now = getattr(depth, "now", 0) + 1
            deepest.append(depth.now)
            self.subscription.request(1)
            depth.now -= 1
            super().on_next(item)

    recorder = Greedy(1)
    stream.source(name, dir=driver_dir).subscribe(recorder)
    with stream.publisher(name, dir=driver_dir) as pub:
        pub.send_many(range(500))
    deadline = time.monotonic() + 10
    while recorder.signals[-1] != "complete" and time.monotonic() < deadline:
        time.sleep(0.005)
    assert recorder.signals == ["subscribe", *range(500), "complete"]
    assert max(deepest) == 1


def test_a_subscriber_that_raises_is_cancelled_and_this_is_logged(driver_dir, name, caller, caplog):
    class Broken(Recorder):
        def on_next(self, item):
            raise RuntimeError("no")

    recorder = Broken(5)
    stream.source(name, dir=driver_dir, executor=caller).subscribe(recorder)
    with stream.publisher(name, dir=driver_dir, linger_s=0) as pub:
        pub.send_many([1, 2])
        run_until(caller, lambda: not caller.run_pending(wait_s=0.01))
    assert recorder.signals == ["subscribe"]
    assert "on_next raised" in caplog.text


def test_refusal_is_on_subscribe_then_on_error(driver_dir, caller):
    recorder = Recorder()
    stream.source(
        5,
        bytes,
        channel="aeron:udp?endpoint=no.such.host.invalid:1",
        dir=driver_dir,
        executor=caller,
    ).subscribe(recorder)
    run_until(caller, lambda: len(recorder.signals) == 2)
    assert recorder.signals[0] == "subscribe"
    assert isinstance(recorder.signals[1], Exception)


def test_cancel_drops_the_subscriber(driver_dir, name, caller):
    recorder = Recorder(1)
    stream.source(name, dir=driver_dir, executor=caller).subscribe(recorder)
    recorder.subscription.cancel()
    settle(caller)
    reference = weakref.ref(recorder)
    del recorder
    gc.collect()
    assert reference() is None


class Source(abc.Subscription):
    """An upstream that the test drives by hand."""

    def __init__(self):
        self.requested = 0
        self.is_cancelled = False

    def request(self, n):
        self.requested += n

    def cancel(self):
        self.is_cancelled = True


def test_sink_sends_and_requests_in_batches(driver_dir, name):
    with stream.subscriber(name, dir=driver_dir) as sub:
        sink = stream.sink(name, dir=driver_dir, window=8)
        source = Source()
        sink.on_subscribe(source)
        until(lambda: source.requested == 8)
        for item in range(8):
            sink.on_next(item)
        assert source.requested == 16
        second = Source()
        sink.on_subscribe(second)
        assert second.is_cancelled
        thread = threading.Thread(target=sink.on_complete)
        thread.start()
        assert list(sub) == list(range(8))
        thread.join(10)
        assert not source.is_cancelled


def test_sink_cancels_when_it_cannot_send(driver_dir, name, caplog):
    sink = stream.sink(name, dir=driver_dir, connect_timeout_s=0.05, linger_s=0)
    source = Source()
    sink.on_subscribe(source)
    sink.on_next(1)
    assert source.is_cancelled
    assert "no subscriber" in caplog.text
    sink.on_next(2)  # §2.8
    sink.on_complete()


def test_none_is_refused_everywhere(driver_dir, name):
    sink = stream.sink(name, dir=driver_dir, linger_s=0)
    for refused in (sink.on_subscribe, sink.on_next, sink.on_error):
        with pytest.raises(TypeError):
            refused(None)
    sink.cancel()
    with pytest.raises(TypeError):
        stream.source(name, dir=driver_dir).subscribe(None)


class Half:
    def request(self, n): ...


@pytest.mark.parametrize("make", [stream.sink, lambda *_, **__: stream.processor(str)])
def test_what_is_no_subscription_is_refused_in_the_call(driver_dir, name, make):
    subscriber = make(name, dir=driver_dir)
    for refused, text in (
        (None, r"§2\.13: on_subscribe\(None\)"),
        (
            5,
            r"on_subscribe\(5\): not a subscription, it has no request, cancel; give an ",
        ),
        (Half(), "it has no cancel; give"),
        (Source, r"a class; give an object: Source\(\)"),
    ):
        with pytest.raises(TypeError, match=text):
            subscriber.on_subscribe(refused)
    source, second = Source(), Source()
    subscriber.on_subscribe(source)  # nothing has come before
    assert not source.is_cancelled
    subscriber.on_subscribe(second)
    assert second.is_cancelled
    subscriber.on_complete()


def test_processor_maps_and_passes_demand_and_end():
    doubled = stream.processor(lambda n: n * 2)
    source, recorder = Source(), Recorder(3)
    doubled.on_subscribe(source)
    doubled.subscribe(recorder)
    assert source.requested == 3
    doubled.on_next(4)
    doubled.on_complete()
    doubled.on_complete()
    assert recorder.signals == ["subscribe", 8, "complete"]


def test_processor_turns_a_failing_function_into_an_error_and_cancels():
    failing = stream.processor(lambda n: 1 / n)
    source, recorder = Source(), Recorder(3)
    failing.subscribe(recorder)
    failing.on_subscribe(source)
    failing.on_next(0)
    assert source.is_cancelled
    assert isinstance(recorder.signals[-1], ZeroDivisionError)
