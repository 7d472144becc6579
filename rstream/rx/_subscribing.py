"""Subscribing an Observable into a queue, where the caller must not be held by what it emits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

from rstream._condition import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.rx._queue import BoundedQueue

T = TypeVar("T")

#: How long the caller waits for a ``subscribe`` that does not return.
BEGIN_S: Final = 0.1


class Gate:
    """Holds a thread that delivers until RxPY has taken what ``subscribe`` returns.

    Only then does a dispose reach it, such as that of ``take`` after its last item. Without it a
    thread delivers thousands of items before the caller of ``subscribe`` gets its turn.

    Make it in ``subscribe``, in the thread that calls it.
    """

    def __init__(self) -> None:
        self._is_open = Event()
        run_when_subscribed(self._is_open.set)

    def wait(self) -> None:
        """Wait, but not for long: the caller may have other work before it, such as ``range``."""
        if not self._is_open.is_set():
            self._is_open.wait(BEGIN_S)


def run_when_subscribed(action: Callable[[], object]) -> None:
    """Have RxPY run an action when it has taken what the present ``subscribe`` returns.

    The outermost ``subscribe`` of this thread runs it before it returns.
    """

    def run(_scheduler: abc.SchedulerBase, _state: object) -> None:
        action()

    CurrentThreadScheduler.singleton().schedule(run)


def subscribe_into(
    queue: BoundedQueue[T], source: Observable[T], put: Callable[[T], None] | None = None
) -> None:
    """Subscribe in this thread. ``queue.leave`` leaves the source.

    Args:
        put: takes the items; None: ``queue.put``.
    """
    upstream = SingleAssignmentDisposable()
    queue.leave = upstream.dispose
    if queue.is_closed:
        return

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


def subscribe_apart(
    queue: BoundedQueue[T],
    source: Observable[T],
    put: Callable[[T], None] | None = None,
    *,
    begin_s: float = BEGIN_S,
) -> None:
    """Subscribe in a thread of its own, so that the source may hold that thread.

    A source such as ``range`` emits inside ``subscribe``, and waits there while the queue is full.
    The caller goes on when ``subscribe`` has returned (so it misses nothing of a hot source), when
    the source waits for room, or after ``begin_s`` seconds. The thread ends with ``subscribe``; it
    is a daemon.
    """
    begun = Event()

    def can_wait() -> bool:
        begun.set()
        return True

    def subscribe() -> None:
        subscribe_into(queue, source, put)
        begun.set()

    queue.can_wait = can_wait
    name = f"rstream-rx-{queue.what}"
    threading.Thread(target=subscribe, name=name, daemon=True).start()
    begun.wait(begin_s)
