"""An Observable as a publisher against the publisher tests.

Sources have a thread of their own, or emit inside ``subscribe``.
"""

from __future__ import annotations

import itertools
import threading

import pytest

pytest.importorskip("reactivex")
import reactivex
from reactivex.disposable import Disposable

from rstream import rx, tck
from rstream.abc import UNBOUNDED


def numbers(elements):
    return itertools.count() if elements == UNBOUNDED else range(elements)


class TestEmitsInItsThread(tck.PublisherVerification[int]):
    def create_publisher(self, elements):
        def subscribe(observer, scheduler=None):
            is_disposed = threading.Event()

            def emit():
                for number in numbers(elements):
                    if is_disposed.is_set():
                        return
                    observer.on_next(number)
                observer.on_completed()

            threading.Thread(target=emit, daemon=True).start()
            return Disposable(is_disposed.set)

        return reactivex.create(subscribe).pipe(rx.to_publisher(1))

    def create_failed_publisher(self):
        def fail(observer, scheduler=None):
            raise RuntimeError("subscribe failed")

        return reactivex.create(fail).pipe(rx.to_publisher(4))


class TestThroughTwoConversions(tck.PublisherVerification[int]):
    """Observable, publisher, Observable, publisher: demand passes through all of it."""

    def create_publisher(self, elements):
        first = reactivex.from_iterable(numbers(elements)).pipe(rx.to_publisher(2))
        return rx.from_publisher(first, prefetch=2).pipe(rx.to_publisher(2))

    def create_failed_publisher(self):
        first = reactivex.throw(RuntimeError("failed")).pipe(rx.to_publisher(2))
        return rx.from_publisher(first).pipe(rx.to_publisher(2))
