"""A publisher as the answer to a request: demand, order, every end, and late callers."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

import rstream
from rstream import abc, service, stages
from rstream.errors import RemoteError, RequestTimeout, ServerLost
from tests.support import in_thread, until

SOON_S = 5.0


class Source(abc.Publisher, abc.Subscription):
    """Counts demand; a test sends, in any thread."""

    def __init__(self):
        self.demand = 0
        self.cancelled = threading.Event()
        self.subscriber = None

    def subscribe(self, subscriber):
        subscriber.on_subscribe(self)
        self.subscriber = subscriber

    def request(self, n):
        assert n > 0
        self.demand += n

    def cancel(self):
        self.cancelled.set()

    def send(self, *items):
        for item in items:
            assert until(lambda: self.demand > 0), f"{item!r} was not requested"
            self.demand -= 1
            self.subscriber.on_next(item)


@pytest.fixture
def ask(driver_dir, name):
    with service.requester(name, dir=driver_dir) as asks:
        yield asks


def is_async(way):
    return way == "async"


@pytest.fixture(params=["threads", "pool", "async"])
def serve(request, name, driver_dir):
    """Serves a function that returns a publisher, in each of the three ways."""

    def begin(function):
        if request.param == "async":

            async def answer(query):
                return function(query)

            return rstream.serve(name, dir=driver_dir)(answer).start()
        count = 2 if request.param == "pool" else 0
        return rstream.serve(name, dir=driver_dir, threads=count)(function).start()

    served = []
    yield lambda function: served.append(begin(function)) or served[-1]
    for one in served:
        one.close()


def test_all_elements_come_in_order(ask, serve):
    serve(lambda count: stages.from_iterable(range(count)))
    assert list(ask.request_stream(3000)) == list(range(3000))
    assert list(ask.request_stream(0)) == []


def test_the_demand_of_the_caller_is_that_of_the_publisher(ask, serve):
    source = Source()
    serve(lambda _: source)
    with ask.request_stream(None, prefetch=0) as stream:
        assert until(lambda: source.subscriber)
        assert source.demand == 0
        stream.request(3)
        assert until(lambda: source.demand == 3)
        source.send("a", "b")
        assert [next(stream), next(stream)] == ["a", "b"]
        assert source.demand == 1
        stream.request(1)
        assert until(lambda: source.demand == 2)
    assert source.cancelled.wait(SOON_S)


def test_a_caller_that_wants_all_does_not_have_it_all_held(ask, serve):
    made = []

    def numbers():
        for n in range(10_000):
            made.append(n)
            yield n

    serve(lambda _: stages.from_iterable(numbers()))
    with ask.request_stream(None, prefetch=0) as stream:
        stream.request(10**9)
        for n in range(10_000):
            assert next(stream) == n
        assert list(stream) == []
    assert len(made) == 10_000


def test_the_end_comes_without_demand(ask, serve):
    source = Source()
    serve(lambda _: source)
    with ask.request_stream(None, prefetch=0, timeout_s=SOON_S) as stream:
        assert until(lambda: source.subscriber)
        in_thread(source.subscriber.on_complete)
        assert list(stream) == []


def test_an_error_comes_behind_the_elements(ask, serve):
    source = Source()
    serve(lambda _: source)
    with ask.request_stream(None, timeout_s=SOON_S) as stream:
        assert until(lambda: source.subscriber)
        source.send(1, 2)
        source.subscriber.on_error(ValueError("no more"))
        assert [next(stream), next(stream)] == [1, 2]
        with pytest.raises(ValueError, match="no more") as caught:
            next(stream)
    assert isinstance(caught.value, RemoteError)


def test_a_closing_server_cancels_the_publisher(ask, serve):
    source = Source()
    served = serve(lambda _: source)
    stream = ask.request_stream(None, timeout_s=60)
    assert until(lambda: source.subscriber)
    in_thread(served.close)
    with pytest.raises(ServerLost):
        next(stream)
    assert source.cancelled.wait(SOON_S)


def test_a_publisher_that_cannot_be_subscribed_fails_the_request(ask, serve):
    class Bad(abc.Publisher):
        def subscribe(self, subscriber):
            raise OSError("no source")

    serve(lambda _: Bad())
    with pytest.raises(OSError, match="no source"):
        next(ask.request_stream(None, timeout_s=SOON_S))


def test_a_request_for_one_answer_is_told_to_ask_for_a_stream(ask, serve):
    serve(lambda _: stages.from_iterable("abc"))
    with pytest.raises(TypeError, match="use request_stream"):
        ask.request(None, timeout_s=SOON_S)


def test_late_callers_get_the_last_value_first(name, driver_dir, serve):
    queue, hub = stages.source_queue(), stages.broadcast_hub(replay=1, wait_for=0)
    queue.subscribe(hub)
    serve(lambda _: hub)
    for level in ("low", "middle", "high"):
        queue.send(level)
    callers = [service.requester(name, dir=driver_dir) for _ in range(3)]
    streams = [caller.request_stream(None, timeout_s=SOON_S) for caller in callers]
    assert [next(stream) for stream in streams] == ["high"] * 3
    queue.send("low")
    assert [next(stream) for stream in streams] == ["low"] * 3
    streams[0].close()
    assert until(lambda: hub.subscribers == 2)
    queue.close()
    assert [list(stream) for stream in streams[1:]] == [[], []]
    for caller in callers:
        caller.close()


def test_a_caller_that_stands_still_holds_no_other(name, driver_dir, serve):
    queue = stages.source_queue()
    hub = stages.broadcast_hub(4, replay=1, wait_for=0)
    queue.subscribe(hub)
    newest = stages.buffer(1, overflow="drop_oldest")
    serve(lambda _: newest(hub))
    with (
        service.requester(name, dir=driver_dir) as one,
        service.requester(name, dir=driver_dir) as other,
    ):
        still = one.request_stream(None, prefetch=2, timeout_s=SOON_S)
        loop = other.request_stream(None, timeout_s=SOON_S)
        queue.send(-1)
        assert (next(still), next(loop)) == (-1, -1)
        for n in range(500):
            queue.send(n, timeout_s=SOON_S)
            if n % 50 == 0:
                while next(loop) != n:
                    pass
        last = next(still)
        while last != 499:
            last = next(still)


@pytest.mark.parametrize("cost_s", [0.0, 0.01])
def test_a_closing_server_lets_callers_have_the_last_value(ask, serve, cost_s):
    """Also a caller that is slow, and a value that a stage held when the server was closed."""
    queue, hub = stages.source_queue(), stages.broadcast_hub(replay=1, wait_for=0)
    queue.subscribe(hub)
    newest = stages.buffer(1, overflow="drop_oldest")
    served, got = serve(lambda _: newest(hub)), []
    stream = ask.request_stream(None, prefetch=1, timeout_s=SOON_S)

    def read():
        for value in stream:
            got.append(value)
            time.sleep(cost_s)
        got.append("end")

    reading = in_thread(read)
    assert until(lambda: hub.subscribers)
    for n in range(50):
        queue.send(n)
    queue.close()
    served.close()
    reading.join(SOON_S)
    assert got[-2:] == [49, "end"]


def test_a_closing_server_waits_for_nobody_whose_publisher_goes_on(ask, serve):
    hub = stages.broadcast_hub(replay=1, wait_for=0)
    served = serve(lambda _: hub)
    stream = ask.request_stream(None, timeout_s=60)
    assert until(lambda: hub.subscribers)
    began_s = time.monotonic()
    served.close()
    assert time.monotonic() - began_s < 2.5  # not the five seconds
    with pytest.raises(ServerLost):
        next(stream)


def test_a_server_that_is_left_by_an_error_does_not_linger(name, driver_dir, ask):
    source = Source()
    with (
        pytest.raises(ZeroDivisionError),
        rstream.serve(name, dir=driver_dir)(lambda _: source),
    ):
        stream = ask.request_stream(None, prefetch=0, timeout_s=60)  # asks for nothing
        assert until(lambda: source.subscriber)
        began_s = time.monotonic()
        raise ZeroDivisionError
    assert time.monotonic() - began_s < 2.5
    del stream


def test_a_wait_for_what_was_not_requested_says_so(ask, serve):
    serve(lambda _: stages.from_iterable(range(9)))
    with pytest.raises(RequestTimeout, match="no answer was requested: call request"):
        next(ask.request_stream(None, prefetch=0, timeout_s=0.05))


def test_an_event_loop_reads_it_too(name, driver_dir, serve):
    serve(lambda count: stages.from_iterable(range(count)))

    async def main():
        async with rstream.aio.requester(name, dir=driver_dir) as asks:
            return [item async for item in asks.request_stream(200)]

    assert anyio.run(main) == list(range(200))
