"""Subscribing an Observable into a queue, where the caller must not be held by what it emits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.rx._queue import BoundedQueue

T = TypeVar("T")

#: How long the caller waits for a ``subscribe`` that does not return.
BEGIN_S: Final = 0.1


def subscribe_into(
    queue: BoundedQueue[T], source: Observable[T], put: Callable[[T], None] | None = None
) -> None:
    """Subscribe in this thread. ``queue.leave`` leaves the source.

    Args:
        put: takes the items; None: ``queue.put``.
    """
    upstream = SingleAssignmentDisposable()
    queue.leave = upstream.dispose

    # Inside another Observable: RxPY then runs a source such as ``range`` only after this has
    # returned, so that dispose reaches it while it emits.
    def connect(
        observer: abc.ObserverBase[T], _scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        upstream.disposable = source.subscribe(observer)
        return upstream

    try:
        Observable[T](connect).subscribe(put or queue.put, queue.end, lambda: queue.end(None))
    except Exception as error:
        queue.end(error)


class ApartSubscription(Generic[T]):
    """A subscription made in a thread of its own, so that the source may hold that thread.

    A source such as ``range`` emits inside ``subscribe``, and waits there while the queue is full.
    The caller goes on when ``subscribe`` has returned (so it misses nothing of a hot source), when
    the source waits for room, or after 0.1 s. The thread ends with ``subscribe``; it is a daemon.
    """

    def __init__(
        self,
        queue: BoundedQueue[T],
        source: Observable[T],
        put: Callable[[T], None] | None = None,
    ) -> None:
        self._queue = queue
        self._source = source
        self._put = put
        self._begun = threading.Event()
        queue.can_wait = self._can_wait
        threading.Thread(
            target=self._subscribe, name=f"rstream-rx-{queue.what}", daemon=True
        ).start()
        self._begun.wait(BEGIN_S)

    def dispose(self) -> None:
        """Leave the source; a thread of it that waits for room goes on. Idempotent."""
        self._queue.close()
        self._queue.leave()

    def _can_wait(self) -> bool:
        self._begun.set()
        return True

    def _subscribe(self) -> None:
        subscribe_into(self._queue, self._source, self._put)
        self._begun.set()
