"""Every stage and hub against the rules for publishers.

Here a signal comes in the thread that requests it, so a hundredth of a second without one shows
that none comes.
"""

from __future__ import annotations

import contextlib
import itertools

from rstream import stages, tck
from rstream.abc import UNBOUNDED
from rstream.errors import ClosedError
from tests.support import in_thread


def failing():
    raise OSError("no elements here")
    yield


class StageVerification(tck.PublisherVerification[int]):
    """A subclass says how its publisher is made from another one."""

    no_signals_s = 0.01

    def behind(self, source):
        raise NotImplementedError

    def create_publisher(self, elements):
        numbers = itertools.count() if elements == UNBOUNDED else range(elements)
        return self.behind(stages.from_iterable(numbers))

    def create_failed_publisher(self):
        return self.behind(stages.from_iterable(failing()))


class TestFromIterable(StageVerification):
    def behind(self, source):
        return source


class TestBuffer(StageVerification):
    def behind(self, source):
        return stages.buffer(4)(source)


class TestBatch(StageVerification):
    def behind(self, source):
        return stages.batch(1)(source)


class TestBatchWeighted(StageVerification):
    def behind(self, source):
        return stages.batch_weighted(1, lambda _: 1)(source)


class TestThrottle(StageVerification):
    def behind(self, source):
        return stages.throttle(1e9, burst=8)(source)


class TestCheckpoint(StageVerification):
    def behind(self, source):
        return stages.checkpoint("here")(source)


class TestChain(StageVerification):
    def behind(self, source):
        return stages.pipe(source, stages.buffer(3), stages.batch(1), stages.checkpoint("here"))


class Late:
    """Connects a hub to its source when its subscriber has come."""

    def __init__(self, hub, connect):
        self.hub, self.connect = hub, connect

    def subscribe(self, subscriber):
        self.hub.subscribe(subscriber)
        connect, self.connect = self.connect, lambda: None
        connect()


class TestMergeHub(StageVerification):
    def behind(self, source):
        hub = stages.merge_hub(4, on_error="fail")

        def connect():
            source.subscribe(hub.sink())
            hub.close()

        return Late(hub, connect)


class TestBroadcastHub(StageVerification):
    def behind(self, source):
        hub = stages.broadcast_hub(4)
        return Late(hub, lambda: source.subscribe(hub))


class TestPartitionHub(StageVerification):
    def behind(self, source):
        hub = stages.partition_hub(capacity=4)
        return Late(hub, lambda: source.subscribe(hub))


class TestSourceQueue(tck.PublisherVerification[int]):
    """A thread sends; it ends when the subscriber cancels."""

    no_signals_s = 0.05

    def create_publisher(self, elements):
        queue = stages.source_queue(4)
        numbers = itertools.count() if elements == UNBOUNDED else range(elements)

        def feed():
            with contextlib.suppress(ClosedError), queue:
                for number in numbers:
                    queue.send(number)

        in_thread(feed)
        return queue

    def create_failed_publisher(self):
        queue = stages.source_queue()
        queue.fail(OSError("no elements here"))
        return queue
