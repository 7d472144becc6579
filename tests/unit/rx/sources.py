"""Observables and observers of these tests."""

from __future__ import annotations

import queue
import threading

from reactivex import Observable
from reactivex.disposable import Disposable

from rstream import abc

WAIT_S = 20.0


class Items:
    """Makes items that count how many of them are alive."""

    def __init__(self):
        self.alive = self.alive_most = self.made = 0
        self._lock = threading.Lock()

    def make(self, number):
        return _Item(self, number)

    def change(self, by):
        with self._lock:
            self.alive += by
            self.made += by > 0
            self.alive_most = max(self.alive_most, self.alive)


class _Item:
    __slots__ = ("_items", "number")

    def __init__(self, items, number):
        self._items = items
        self.number = number
        items.change(1)

    def __del__(self):
        self._items.change(-1)


class ThreadSource:
    """A cold Observable that emits from a thread of its own, as fast as it can.

    ``raised`` has what was thrown into the thread that emits; ``emitted`` counts.
    """

    def __init__(self, iterable, error=None):
        self.raised = []
        self.emitted = 0
        self.is_disposed = threading.Event()
        self.is_done = threading.Event()
        self._iterable = iterable
        self._error = error
        self.observable = Observable(self._subscribe)

    def _subscribe(self, observer, scheduler=None):
        threading.Thread(target=self._emit, args=(observer,), daemon=True).start()
        return Disposable(self.is_disposed.set)

    def _emit(self, observer):
        try:
            for item in self._iterable:
                if self.is_disposed.is_set():
                    return
                self.emitted += 1
                observer.on_next(item)
                del item
            if self._error is None:
                observer.on_completed()
            else:
                observer.on_error(self._error)
        except BaseException as error:
            self.raised.append(error)
        finally:
            self.is_done.set()


class Collector:
    """An observer that keeps what it gets; ``gate`` holds it inside each item."""

    def __init__(self, *, is_slow=False, keep=lambda item: item):
        self.items = []
        self.ends = []
        self.threads = set()
        self.is_in = threading.Event()
        self.done = threading.Event()
        self.gate = threading.Event()
        self._keep = keep
        if not is_slow:
            self.gate.set()

    def on_next(self, item):
        self.is_in.set()
        self.threads.add(threading.current_thread())
        assert self.gate.wait(WAIT_S)
        self.items.append(self._keep(item))

    def on_error(self, error):
        self.ends.append(error)
        self.done.set()

    def on_completed(self):
        self.ends.append(None)
        self.done.set()

    def wait(self):
        assert self.done.wait(WAIT_S), f"no end after {len(self.items)} items"
        return self


class ManualUpstream(abc.Subscription):
    """The upstream of a subscriber under test: counts what is requested."""

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
