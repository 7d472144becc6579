"""A publisher and a subscriber that a test drives by hand, in its own thread."""

from __future__ import annotations

from rstream import abc


class Source(abc.Publisher, abc.Subscription):
    """Sends what the test says; counts demand, and refuses to send more than was requested."""

    def __init__(self):
        self.demand = 0
        self.requests = []
        self.is_cancelled = False
        self.subscriber = None

    def subscribe(self, subscriber):
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n):
        assert not self.is_cancelled
        self.demand += n
        self.requests.append(n)

    def cancel(self):
        self.is_cancelled = True

    def send(self, *items):
        for item in items:
            assert self.demand > 0, f"{item!r} was not requested"
            self.demand -= 1
            self.subscriber.on_next(item)

    def complete(self):
        self.subscriber.on_complete()

    def fail(self, error):
        self.subscriber.on_error(error)


class Sink(abc.Subscriber):
    """Records signals; requests ``first`` at once, and ``then`` after each element."""

    def __init__(self, first=0, then=0):
        self.items = []
        self.ends = []
        self.subscription = None
        self._first, self._then = first, then

    def on_subscribe(self, subscription):
        self.subscription = subscription
        if self._first:
            subscription.request(self._first)

    def on_next(self, item):
        assert not self.ends
        self.items.append(item)
        if self._then:
            self.subscription.request(self._then)

    def on_error(self, error):
        self.ends.append(error)

    def on_complete(self):
        self.ends.append("complete")

    def request(self, n):
        self.subscription.request(n)

    def take(self):
        items, self.items = self.items, []
        return items


def joined(stage, first=0, then=0):
    """A source and a sink with the stage between them."""
    source, sink = Source(), Sink(first, then)
    stage(source).subscribe(sink)
    return source, sink
