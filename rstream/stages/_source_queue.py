"""A publisher whose elements a program sends by hand."""

from __future__ import annotations

import threading
from collections import deque
from enum import Enum, auto
from typing import Any, Generic, Self, TypeVar

from rstream import abc
from rstream._checks import check_subscriber, check_timeout, is_whole
from rstream._condition import Condition
from rstream._waits import Deadline
from rstream.errors import (
    BackPressured,
    ClosedError,
    ConcurrentUseError,
    ConfigError,
    LocalContractError,
)
from rstream.flow.demand import Demand
from rstream.stages._link import end, log, refuse_none, refuse_subscriber, whole
from rstream.stages._serial import Serial

__all__ = ("SourceQueue", "source_queue")

T = TypeVar("T")

_CLOSED = "source_queue: it was closed"
_LEFT = "source_queue: its subscriber has cancelled, so nobody takes elements"


class _QueueEvent(Enum):
    SUBSCRIBER = auto()
    NEWS = auto()
    REQUEST = auto()
    CANCEL = auto()


class _Taking(abc.Subscription):
    """The subscription of the queue's subscriber."""

    def __init__(self, queue: SourceQueue[Any]) -> None:
        self._queue: SourceQueue[Any] = queue

    def request(self, n: int) -> None:
        self._queue.serial.post((_QueueEvent.REQUEST, whole(n)))

    def cancel(self) -> None:
        self._queue.serial.post((_QueueEvent.CANCEL, None))


class SourceQueue(abc.Publisher[T], Generic[T]):
    """Gives what :meth:`send` takes to one subscriber; made by :func:`source_queue`.

    Threads may share it. Elements of one thread stay in its order. They reach the subscriber in the
    thread that sends them or the one that requests them. ``with`` closes it.
    """

    def __init__(self, capacity: int) -> None:
        if not is_whole(capacity) or capacity < 1:
            raise ConfigError(f"capacity={capacity!r}: must be a whole number, at least 1")
        self.capacity: int = capacity
        self.serial: Serial[tuple[_QueueEvent, Any]] = Serial(self._handle, self._settle)
        self._items: deque[T] = deque()
        # Guards the elements and why no more may come; nobody calls a subscriber under it.
        self._room = Condition()
        self._refusal: str | None = None
        self._is_ended = False
        self._error: Exception | None = None
        self._is_taken = False  # it has, or had, its subscriber
        self._downstream: abc.Subscriber[T] | None = None
        self._demand = Demand()
        self._worker: int | None = None  # the thread that may be in a call of the subscriber

    # ---- for the program ----

    def send(self, item: T, *, timeout_s: float | None = None) -> None:
        """Send one element; wait while ``capacity`` elements wait for the subscriber.

        Args:
            item: not None (§2.13).
            timeout_s: most seconds to wait for room; None: as long as it takes.
        Raises:
            BackPressured: no room within ``timeout_s``. ClosedError: it was closed, or its
                subscriber has cancelled. ConcurrentUseError: there is no room, and its subscriber
                itself sends, so nobody would ever make room.
        """
        refuse_none(item, "send")
        check_timeout(timeout_s)
        deadline = Deadline(timeout_s)
        with self._room:
            while not self._put(item):
                if self._worker == threading.get_ident():
                    raise ConcurrentUseError(
                        f"source_queue: {self.capacity} elements wait, and the subscriber that "
                        "would take them sends another one",
                        hint="use offer() there, or enlarge the capacity",
                    )
                if deadline.is_over:
                    raise BackPressured(
                        f"source_queue: {self.capacity} elements wait, and none was taken within "
                        f"{timeout_s} s",
                        hint="take them faster, enlarge the capacity, or use offer()",
                    )
                self._room.wait(deadline.left_s())
        self.serial.post((_QueueEvent.NEWS, None))

    def offer(self, item: T) -> bool:
        """Send one element if there is room; False: there is none. Never waits.

        Raises:
            ClosedError: it was closed, or its subscriber has cancelled.
        """
        refuse_none(item, "offer")
        with self._room:
            is_taken = self._put(item)
        if is_taken:
            self.serial.post((_QueueEvent.NEWS, None))
        return is_taken

    def _put(self, item: T) -> bool:
        """Take an element in, if there is room. Under the lock."""
        if self._refusal is not None:
            raise ClosedError(self._refusal)
        if len(self._items) >= self.capacity:
            return False
        self._items.append(item)
        return True

    def close(self) -> None:
        """Complete the subscriber, behind the elements that wait. Idempotent."""
        self._end(None)

    def fail(self, error: Exception) -> None:
        """End with an error, behind the elements that wait."""
        refuse_none(error, "fail")
        self._end(error)

    def _end(self, error: Exception | None) -> None:
        with self._room:
            if self._refusal is not None:
                return
            self._refusal, self._error, self._is_ended = _CLOSED, error, True
            self._room.notify_all()
        self.serial.post((_QueueEvent.NEWS, None))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        error = exc_info[1]
        if isinstance(error, Exception):
            self.fail(error)
        else:
            self.close()

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        return True  # also while nothing waits

    # ---- for the subscriber ----

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        """Give the elements to ``subscriber``; a second one is refused, by ``on_error``."""
        check_subscriber(subscriber)
        self.serial.post((_QueueEvent.SUBSCRIBER, subscriber))

    def _handle(self, posted: tuple[_QueueEvent, Any]) -> None:
        self._worker = threading.get_ident()
        event, value = posted
        if event is _QueueEvent.SUBSCRIBER:
            self._add(value)
        elif event is _QueueEvent.CANCEL:
            self._leave()
        elif event is _QueueEvent.REQUEST and (downstream := self._downstream) is not None:
            try:
                self._demand.add(value)
            except ValueError as error:
                self._leave()
                end(downstream, error, "source_queue")

    def _add(self, subscriber: abc.Subscriber[T]) -> None:
        if self._is_taken:
            refusal = LocalContractError(
                "§1.11: a source_queue serves one subscriber; put a broadcast_hub behind it"
            )
            refuse_subscriber(subscriber, refusal, "source_queue")
            return
        self._is_taken, self._downstream = True, subscriber
        try:
            subscriber.on_subscribe(_Taking(self))
        except Exception:
            self._broken("on_subscribe")

    def _settle(self) -> None:
        try:
            while not self.serial.has_news and self._give():
                pass
        finally:
            self._worker = None

    def _give(self) -> bool:
        """Give one element, or the end; False: there is nothing to give now."""
        downstream = self._downstream
        if downstream is None:
            return False
        if not self._items:
            if self._is_ended and not self._items:  # no element comes after the end
                self._downstream = None
                end(downstream, self._error, "source_queue")
            return False
        if not self._demand.pending:
            return False
        self._demand.take()
        with self._room:
            item = self._items.popleft()
            self._room.notify_all()
        try:
            downstream.on_next(item)
        except Exception:
            self._broken("on_next")
        return True

    def _broken(self, signal: str) -> None:
        log.exception("source_queue: the subscriber's %s raised; it is cancelled", signal)
        self._leave()

    def _leave(self) -> None:
        """The subscriber takes no more: what waits is dropped, and senders are told."""
        self._downstream = None
        with self._room:
            self._refusal = self._refusal or _LEFT
            self._items.clear()
            self._room.notify_all()


def source_queue(capacity: int = 256) -> SourceQueue[Any]:
    """A publisher of what a program sends by hand, in front of a stage, a hub or a stream's sink.

    ``send`` waits while ``capacity`` elements wait, so the demand of the other end slows the
    program down.

    Args:
        capacity: most elements that wait for the subscriber's demand, also before it has come.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        with stages.source_queue() as queue:
            queue.subscribe(rstream.stream.sink("ticks"))
            queue.send({"px": 1.0})
    """
    return SourceQueue(capacity)
