"""Manual subscriber and upstream of the tests, with their deadlines.

A signal may take up to SIGNAL_S (a limit, not a pause); NOTHING_S without a signal shows that none
comes.
"""

from __future__ import annotations

import queue
import threading

from rstream import abc

SIGNAL_S = 10.0
NOTHING_S = 0.1
COMPLETE = object()


class ManualSubscriber(abc.Subscriber):
    """Queues every signal; records violations of the signal order as faults."""

    def __init__(self):
        self.signals = queue.Queue()
        self.faults = []
        self.subscription = None
        self._subscribed = threading.Event()
        self._inside = threading.Lock()
        self._owner = None
        self.has_ended = False

    def _serially(self, what):
        if self._owner not in (None, threading.get_ident()):
            self.faults.append(f"§1.3: {what} overlaps with a signal in another thread")
        if self.has_ended:
            self.faults.append(f"§1.7: {what} after the end")

    def on_subscribe(self, subscription):
        self._serially("on_subscribe")
        if self.subscription is not None:
            self.faults.append("§2.12: a second on_subscribe")
        self.subscription = subscription
        self._subscribed.set()
        self.subscribed()

    def subscribed(self):
        """For tests that request at once."""

    def on_next(self, item):
        self._serially("on_next")
        self._owner = threading.get_ident()
        if self.subscription is None:
            self.faults.append("§1.9: on_next before on_subscribe")
        self.signals.put(item)
        self.received(item)
        self._owner = None

    def received(self, item):
        """For tests that request from on_next."""

    def on_error(self, error):
        self._serially("on_error")
        self.has_ended = True
        self.signals.put(error)

    def on_complete(self):
        self._serially("on_complete")
        self.has_ended = True
        self.signals.put(COMPLETE)

    # ---- what tests ask ----

    def expect_subscription(self):
        assert self._subscribed.wait(SIGNAL_S), "§1.9: no on_subscribe"
        return self.subscription

    def next(self):
        """The next signal, which must be an element."""
        signal = self.signals.get(timeout=SIGNAL_S)
        assert signal is not COMPLETE, "complete instead of an element"
        assert not isinstance(signal, Exception), f"error instead of an element: {signal!r}"
        return signal

    def request_next(self):
        self.expect_subscription().request(1)
        return self.next()

    def expect_completion(self):
        assert self.signals.get(timeout=SIGNAL_S) is COMPLETE

    def expect_error(self):
        signal = self.signals.get(timeout=SIGNAL_S)
        assert isinstance(signal, Exception), f"{signal!r} instead of an error"
        return signal

    def expect_none(self, within_s=NOTHING_S):
        try:
            signal = self.signals.get(timeout=within_s)
        except queue.Empty:
            return
        raise AssertionError(f"{signal!r} though nothing was requested")

    def check(self):
        assert not self.faults, self.faults


class ManualUpstream(abc.Subscription):
    """An upstream driven by hand: counts the requests."""

    def __init__(self):
        self.requested = 0
        self.requests = queue.Queue()
        self.cancelled = threading.Event()
        self.calls_after_end = []
        self.has_ended = False

    def request(self, n):
        if self.has_ended:
            self.calls_after_end.append("request")
        self.requested += n
        self.requests.put(n)

    def cancel(self):
        if self.has_ended:
            self.calls_after_end.append("cancel")
        self.cancelled.set()
