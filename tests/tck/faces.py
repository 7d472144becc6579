"""The faces of the matrix as publishers and subscribers of the contract.

A loop over ``rstream.aio.subscriber`` waits until there is demand. Faces that are called (``send``,
``to_stream``) ask for one element after the other.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time

import anyio
import anyio.from_thread
import reactivex

from rstream import abc, aio, rx, stream
from rstream.abc import UNBOUNDED
from rstream.errors import RStreamError
from rstream.flow.demand import Demand
from rstream.ray import reader
from tests.support import until

from .media import numbers

#: A feed begins when so many seconds have passed since the last subscriber came.
SETTLE_S = 0.03


class Feed:
    """Sends the numbers below ``elements`` when the readers are there, in a thread of its own."""

    def __init__(self, open_publisher, elements):
        self.open_publisher = open_publisher
        self.elements = elements
        self.stopped = threading.Event()
        self.begins_s = 0.0
        self.thread = None

    def subscribed(self):
        """Another subscriber has come."""
        self.begins_s = time.monotonic() + SETTLE_S
        if self.thread is None:
            self.thread = threading.Thread(target=self.send, name="tck-feed")
            self.thread.start()

    def send(self):
        publisher = self.open_publisher()
        try:
            while time.monotonic() < self.begins_s or not publisher.is_connected:
                if self.stopped.wait(0.001):
                    return
            for number in itertools.count() if self.elements == UNBOUNDED else range(self.elements):
                publisher.send(number)
                if self.stopped.is_set():
                    return
        except RStreamError:
            pass  # the subscriber has gone, which many tests want
        finally:
            publisher.close(linger_s=0)

    def stop(self):
        self.stopped.set()
        if self.thread is not None:
            self.thread.join(30)
            assert not self.thread.is_alive(), "a feed is stuck"


class Fed(abc.Publisher):
    """A publisher with its feed."""

    def __init__(self, publisher, feed):
        self.publisher = publisher
        self.feed = feed

    def subscribe(self, subscriber):
        self.publisher.subscribe(subscriber)
        self.feed.subscribed()


class Demanded(abc.Subscription):
    """Holds the thread that brings an element in ``on_item`` until it is wanted."""

    def __init__(self, subscriber):
        self.subscriber = subscriber
        self.changed = threading.Condition()
        self.signals = threading.RLock()  # one signal at a time; nested in its own thread
        self.demand = Demand()
        self.is_over = False
        self.stop = None

    def stop_with(self, stop):
        with self.changed:
            self.stop = stop
            is_over = self.is_over
        if is_over:
            stop()

    def request(self, n):
        with self.changed:
            if self.is_over:
                return
            try:
                self.demand.add(n)
            except ValueError as error:
                wrong = error
            else:
                self.changed.notify_all()
                return
        self.on_end(wrong)
        self.cancel()

    def cancel(self):
        with self.changed:
            self.is_over = True
            self.subscriber = None
            self.changed.notify_all()
            stop = self.stop
        if stop is not None:
            stop()

    def on_item(self, item):
        with self.changed:
            self.changed.wait_for(lambda: self.is_over or self.demand.pending > 0)
            if self.is_over:
                return
            self.demand.take()
            subscriber = self.subscriber
        with self.signals:
            subscriber.on_next(item)

    def on_end(self, error=None):
        with self.changed:
            if self.is_over:
                return
            self.is_over = True
            subscriber, self.subscriber = self.subscriber, None
            self.changed.notify_all()
        with self.signals:
            if error is None:
                subscriber.on_complete()
            else:
                subscriber.on_error(error)


class AioReading(abc.Publisher):
    """``rstream.aio.subscriber``: a task for each subscriber, which waits while nothing is wanted.

    Args:
        portal: of the event loop.
    """

    def __init__(self, portal, name, **options):
        self.portal = portal
        self.name = name
        self.options = options

    def subscribe(self, subscriber):
        refuse_none(subscriber)
        link = Demanded(subscriber)
        subscriber.on_subscribe(link)
        link.stop_with(self.portal.start_task_soon(self.read, link).cancel)

    async def read(self, link):
        try:
            async with aio.subscriber(self.name, **self.options) as sub:
                async for item in sub:
                    await anyio.to_thread.run_sync(link.on_item, item)
        except RStreamError as error:
            link.on_end(error)
        else:
            link.on_end()


class Endpoints(abc.Publisher):
    """Ray endpoints: each subscriber has one of its own, with a feed of its own."""

    def __init__(self, medium, drivers, elements, feeds):
        self.medium = medium
        self.drivers = drivers
        self.elements = elements
        self.feeds = feeds

    def subscribe(self, subscriber):
        refuse_none(subscriber)
        medium, near = self.medium, self.drivers.dir_of(self.medium)
        writer = near if medium.name == "ipc" else self.drivers.dir_of(medium, far=True)
        endpoint = reader(f"tck-endpoint-{next(numbers)}", dir=near)
        feed = Feed(
            lambda: endpoint.handle.publisher(driver_dir=writer, connect_timeout_s=1, linger_s=0),
            self.elements,
        )
        self.feeds.append(feed)
        rx.from_endpoint(endpoint).pipe(rx.to_publisher()).subscribe(subscriber)
        feed.subscribed()


# ---- subscribers ----


class Sending(abc.Subscriber):
    """A face that is called, as a subscriber: it asks for one element after the other.

    Args:
        send, complete, fail: pass a signal on to the face.
    """

    def __init__(self, send, complete, fail):
        self.send = send
        self.complete = complete
        self.fail = fail
        self.subscription = None
        self.is_over = False

    def on_subscribe(self, subscription):
        refuse_none(subscription)
        if self.subscription is not None:
            subscription.cancel()
            return
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, item):
        refuse_none(item)
        if not self.is_over:
            self.send(item)
            self.subscription.request(1)

    def on_error(self, error):
        refuse_none(error)
        self.is_over = True
        self.fail(error)

    def on_complete(self):
        self.is_over = True
        self.complete()


def refuse_none(value):
    if value is None:
        raise TypeError("§2.13")


def to_stream(name, **options):
    """RxPY's operator ``to_stream``."""
    subject = reactivex.Subject()
    subject.pipe(rx.to_stream(name, **options)).subscribe(on_error=logging.debug)
    return Sending(subject.on_next, subject.on_completed, subject.on_error)


class Captured(abc.Publisher):
    """Keeps its subscriber for the test."""

    subscriber = None

    def subscribe(self, subscriber):
        self.subscriber = subscriber


def from_publisher():
    """What RxPY's ``from_publisher`` subscribes with."""
    captured = Captured()
    rx.from_publisher(captured, prefetch=4).subscribe(on_error=logging.debug)
    return captured.subscriber


class AioSending(Sending):
    """``rstream.aio.publisher`` in a loop of its own: asyncio or trio."""

    def __init__(self, backend, name, **options):
        self.portal_manager = anyio.from_thread.start_blocking_portal(backend)
        self.portal = self.portal_manager.__enter__()

        async def open_it():
            return await aio.publisher(name, **options)

        self.publisher = self.portal.call(open_it)
        super().__init__(
            lambda item: self.portal.call(self.publisher.send, item),
            lambda: self.portal.call(self.publisher.close),
            lambda error: self.portal.call(self.publisher.fail, error),
        )

    def close(self):
        self.portal.call(self.publisher.close)
        self.portal_manager.__exit__(None, None, None)


class FarEnd(abc.Subscriber):
    """The reader at the far end of a sink; reports what arrives to the probe."""

    def __init__(self, probe):
        self.probe = probe
        self.subscription = None

    def on_subscribe(self, subscription):
        self.subscription = subscription

    def on_next(self, item):
        self.probe.on_next(item)

    def on_error(self, error):
        self.probe.on_error(error)

    def on_complete(self):
        self.probe.on_complete()


class Driven(abc.Subscriber):
    """A sink whose readers' demand the probe drives, and whose output the probe sees."""

    def __init__(self, sink, far, probe):
        self.sink = sink
        self.far = far
        self.probe = probe
        self.is_subscribed = False

    def on_subscribe(self, subscription):
        self.sink.on_subscribe(subscription)
        if not self.is_subscribed:
            self.is_subscribed = True
            self.probe.on_subscribe(
                trigger_request=self.far.subscription.request, signal_cancel=self.sink.cancel
            )

    def on_next(self, item):
        self.sink.on_next(item)

    def on_error(self, error):
        self.sink.on_error(error)

    def on_complete(self):
        self.sink.on_complete()


class Bridge(abc.Processor):
    """A stream as a processor: a sink at one end, a source at the other.

    ``subscribe`` returns when the two have met, because what is sent before is not for that reader.
    """

    def __init__(self, name, window, **options):
        self.sink = stream.sink(name, window=window, linger_s=1, **options)
        self.source = stream.source(name, **options)

    def subscribe(self, subscriber):
        self.source.subscribe(subscriber)
        until(lambda: self.sink.is_done or self.sink.publisher.is_connected)

    def on_subscribe(self, subscription):
        self.sink.on_subscribe(subscription)

    def on_next(self, item):
        self.sink.on_next(item)

    def on_error(self, error):
        self.sink.on_error(error)

    def on_complete(self):
        self.sink.on_complete()
