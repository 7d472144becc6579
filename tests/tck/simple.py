"""A small publisher, subscriber and processor that keep the contract, or break one rule of it.

``breaks`` names the rule; None: they keep all of them. They are the subjects of the tests of the
verifications themselves: green there means nothing if a broken subject is green too.
"""

from __future__ import annotations

import threading

from rstream import abc
from rstream.abc import UNBOUNDED


class Simple(abc.Publisher):
    """The numbers below ``count``, in the thread that requests."""

    def __init__(self, count, breaks=None):
        self.count = count
        self.breaks = breaks
        self.kept = []

    def subscribe(self, subscriber):
        if subscriber is None:
            if self.breaks == "1.9 None is taken":
                return
            raise TypeError("§1.9")
        if self.breaks == "3.13 it keeps its subscribers":
            self.kept.append(subscriber)
        link = Link(subscriber, self.count, self.breaks)
        if self.breaks == "1.9 on_subscribe is missing":
            return
        if self.breaks == "1.9 an element comes before on_subscribe":
            subscriber.on_next(0)
        subscriber.on_subscribe(link)
        if self.breaks == "2.12 on_subscribe comes twice":
            subscriber.on_subscribe(link)
        if self.breaks == "1.1 an element comes without a request":
            subscriber.on_next(0)
        link.is_started = True
        link.work()


class Link(abc.Subscription):
    def __init__(self, subscriber, count, breaks):
        self.subscriber = subscriber
        self.count = count
        self.breaks = breaks
        self.sent = 0
        self.demand = 0
        self.is_started = False
        self.is_over = False
        self.is_working = False

    def request(self, n):
        if self.breaks == "3.2 a request in on_subscribe is lost" and not self.is_started:
            return
        if self.is_over:
            if self.breaks == "1.7 signals go on after the end" and self.subscriber:
                self.subscriber.on_complete()
            if self.breaks == "3.6 a request after cancel brings an element":
                self.subscriber.on_next(0)
            return
        if n <= 0:
            return self.refuse(n)
        if self.breaks == "1.1 one more than requested":
            n += 1
        if self.breaks == "3.8 every request is of one element":
            n = 1
        if self.breaks == "3.17 large demand is an error" and self.demand + n > UNBOUNDED:
            return self.end(lambda s: s.on_error(OverflowError()))
        if self.breaks == "3.17 demand overflows":
            self.demand = (self.demand + n + 2**63) % 2**64 - 2**63
        else:
            self.demand = min(UNBOUNDED, self.demand + n)
        if self.breaks != "3.3 on_next nests" and self.is_working:
            return None
        return self.work()

    def refuse(self, n):
        if self.breaks == "3.9 zero is ignored" and n == 0:
            return
        if self.breaks == "3.9 a negative number is ignored" and n < 0:
            return
        if self.breaks == "3.16 a wrong request raises":
            raise ValueError(n)
        error = TypeError if self.breaks == "3.9 another error" else ValueError
        self.end(lambda s: s.on_error(error("3.9")))

    def cancel(self):
        if self.breaks == "3.7 a second cancel raises" and self.is_over:
            raise RuntimeError
        if self.breaks == "3.15 cancel signals an error" and not self.is_over:
            self.end(lambda s: s.on_error(RuntimeError("cancelled")))
        self.is_over = True
        if self.breaks == "1.8 signals go on after cancel":
            for _ in range(100):
                self.subscriber.on_next(0)
        if self.breaks != "3.6 a request after cancel brings an element":
            self.subscriber = None

    def end(self, signal):
        subscriber = self.subscriber
        self.is_over = True
        if self.breaks != "1.7 signals go on after the end":
            self.subscriber = None
        signal(subscriber)

    def work(self):
        if not self.is_started or self.is_over:
            return
        self.is_working = True
        while self.demand > 0 and self.sent < self.count and not self.is_over:
            if self.breaks == "1.1 fewer come for ever" and self.sent == 2:
                break
            self.demand -= 1
            self.sent += 1
            self.give(self.sent - 1)
        self.is_working = False
        if self.sent == self.count and not self.is_over:
            self.complete()

    def give(self, number):
        subscriber = self.subscriber
        if self.breaks == "1.3 signals overlap" and number == 1:
            other = threading.Thread(target=subscriber.on_next, args=(number,))
            received = subscriber.received

            def overlap(item):
                subscriber.received = received
                other.start()
                other.join()

            subscriber.received = overlap
            subscriber.on_next(number)
        else:
            subscriber.on_next(number)

    def complete(self):
        if self.breaks == "1.5 it never completes":
            return
        if self.breaks == "1.5 it completes with an error":
            self.end(lambda s: s.on_error(EOFError()))
        else:
            self.end(lambda s: s.on_complete())


class Failed(abc.Publisher):
    """Refuses every subscriber."""

    def __init__(self, breaks=None):
        self.breaks = breaks

    def subscribe(self, subscriber):
        subscriber.on_subscribe(Again(subscriber, self.breaks))
        if self.breaks != "1.9 a refusal is silent":
            subscriber.on_error(OSError("refused"))
        if self.breaks == "1.4 two errors":
            subscriber.on_error(OSError("again"))


class Again(abc.Subscription):
    def __init__(self, subscriber, breaks):
        self.subscriber = subscriber
        self.breaks = breaks

    def request(self, n):
        if self.breaks == "1.7 signals go on after the error":
            self.subscriber.on_error(OSError("again"))

    def cancel(self):
        pass


class SimpleSubscriber(abc.Subscriber):
    """Takes what comes; requests one at a time when ``probe`` is None, else when the probe says."""

    def __init__(self, breaks=None, probe=None):
        self.breaks = breaks
        self.probe = probe
        self.subscription = None
        self.is_cancelled = False
        self.has_requested = False

    def check(self, value, signal):
        if value is None and self.breaks != f"2.13 {signal}(None) is taken":
            raise TypeError(f"§2.13 {signal}")

    def request(self, n):
        self.has_requested = True
        if self.breaks == "2.1 it never requests":
            return
        if self.breaks == "3.8 it requests twice as many":
            n *= 2
        self.subscription.request(n)

    def cancel(self):
        self.is_cancelled = True
        if self.breaks != "2.6 it does not cancel":
            self.subscription.cancel()

    def on_subscribe(self, subscription):
        self.check(subscription, "on_subscribe")
        if subscription is None:
            return
        if self.subscription is not None:
            if self.breaks == "2.5 a second subscription is used":
                subscription.request(1)
            if self.breaks == "2.5 the first one is cancelled instead":
                self.subscription.cancel()
            elif self.breaks != "2.5 a second subscription is kept":
                subscription.cancel()
            return
        self.subscription = subscription
        if self.probe is not None:
            self.probe.on_subscribe(trigger_request=self.request, signal_cancel=self.cancel)
        else:
            self.request(1)

    def on_next(self, item):
        self.check(item, "on_next")
        if self.breaks == "2.8 on_next after cancel raises" and self.is_cancelled:
            raise RuntimeError
        if self.probe is not None:
            if self.breaks != "2.1 elements are lost":
                self.probe.on_next(item)
        else:
            self.request(1)

    def on_error(self, error):
        self.check(error, "on_error")
        if self.breaks == "2.10 on_error raises":
            raise RuntimeError
        if self.breaks == "2.3 on_error cancels":
            self.subscription.cancel()
        if self.breaks == "2.10 on_error without a request raises" and not self.has_requested:
            raise RuntimeError
        if self.breaks == "2.10 on_error after a request raises" and self.has_requested:
            raise RuntimeError
        if self.probe is not None:
            if self.breaks == "2.10 another error is reported":
                error = RuntimeError("another one")
            self.probe.on_error(error)

    def on_complete(self):
        if self.breaks == "2.9 on_complete raises":
            raise RuntimeError
        if self.breaks == "2.3 on_complete requests":
            self.subscription.request(1)
        if self.breaks == "2.9 on_complete without a request raises" and not self.has_requested:
            raise RuntimeError
        if self.breaks == "2.9 on_complete after a request raises" and self.has_requested:
            raise RuntimeError
        if self.probe is not None:
            self.probe.on_complete()


class SimpleProcessor(abc.Processor):
    """Gives each element to those who have asked for it; asks for as much as the greediest."""

    def __init__(self, breaks=None):
        self.breaks = breaks
        self.upstream = None
        self.links = []
        self.requested = 0
        self.end = None

    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError("§1.9")
        link = Downstream(self, subscriber)
        self.links.append(link)
        if self.breaks == "old demand is forgotten":
            for other in self.links:
                other.demand = 0
        subscriber.on_subscribe(link)
        link.is_started = True
        if self.end is not None and link in self.links:
            self.links.remove(link)
            self.end(subscriber)
        self.ask()

    def ask(self):
        most = max((link.demand for link in self.links if link.is_started), default=0)
        if self.upstream is not None and most > self.requested:
            n, self.requested = most - self.requested, most
            self.upstream.request(n)

    def on_subscribe(self, subscription):
        if subscription is None:
            raise TypeError("§2.13")
        if self.upstream is not None:
            subscription.cancel()
            return
        self.upstream = subscription
        self.ask()

    def on_next(self, item):
        if item is None:
            raise TypeError("§2.13")
        self.requested -= self.requested < UNBOUNDED
        for link in list(self.links):
            if link.demand > 0:
                link.demand -= link.demand < UNBOUNDED
                link.subscriber.on_next(item)

    def conclude(self, end):
        self.upstream = None
        self.end = end
        links, self.links = self.links, []
        if self.breaks == "1.4 one subscriber alone gets the error":
            links = links[:1]
        for link in links:
            if self.breaks == "4.2 an error waits for a request" and link.demand == 0:
                continue
            end(link.subscriber)

    def on_error(self, error):
        if error is None:
            raise TypeError("§2.13")
        self.conclude(lambda subscriber: subscriber.on_error(error))

    def on_complete(self):
        self.conclude(lambda subscriber: subscriber.on_complete())


class Downstream(abc.Subscription):
    def __init__(self, processor, subscriber):
        self.processor = processor
        self.subscriber = subscriber
        self.demand = 0
        self.is_started = False  # on_subscribe has returned

    def request(self, n):
        if self not in self.processor.links:
            return
        if n <= 0:
            self.processor.links.remove(self)
            self.subscriber.on_error(ValueError("3.9"))
            return
        self.demand = min(UNBOUNDED, self.demand + n)
        self.processor.ask()

    def cancel(self):
        if self in self.processor.links:
            self.processor.links.remove(self)
        if not self.processor.links and self.processor.upstream is not None:
            self.processor.upstream.cancel()
        self.subscriber = None
