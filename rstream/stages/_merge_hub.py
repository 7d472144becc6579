"""A hub with many sources and one subscriber."""

from __future__ import annotations

import logging
from collections import deque
from enum import Enum, auto
from typing import Any, Generic, Literal, TypeVar

from rstream import abc
from rstream._checks import check_subscriber, check_subscription, is_whole
from rstream.errors import ConfigError, LocalContractError
from rstream.flow.demand import Demand
from rstream.stages._link import end, refuse_none, refuse_subscriber, whole
from rstream.stages._serial import Serial

__all__ = ("MergeHub", "merge_hub")

log = logging.getLogger("rstream")

T = TypeVar("T")


class _Kind(Enum):
    SOURCE = auto()
    ITEM = auto()
    SOURCE_END = auto()
    SUBSCRIBER = auto()
    REQUEST = auto()
    CANCEL = auto()
    CLOSE = auto()


class _Inlet(abc.Subscriber[T], Generic[T]):
    """One source: its own queue, so that a busy source holds none of the others back.

    Attributes:
        upstream: its subscription; None: not yet, or it has ended.
        items: what waits.
        outstanding: requested and not come yet.
        is_ended: nothing more comes.
    """

    def __init__(self, hub: MergeHub[T]) -> None:
        self._hub: MergeHub[T] = hub
        self.upstream: abc.Subscription | None = None
        self.items: deque[T] = deque()
        self.outstanding = 0
        self.is_ended = False

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        self._hub.serial.post((_Kind.SOURCE, (self, subscription)))

    def on_next(self, item: T) -> None:
        refuse_none(item, "on_next")
        self._hub.serial.post((_Kind.ITEM, (self, item)))

    def on_error(self, error: Exception) -> None:
        refuse_none(error, "on_error")
        self._hub.serial.post((_Kind.SOURCE_END, (self, error)))

    def on_complete(self) -> None:
        self._hub.serial.post((_Kind.SOURCE_END, (self, None)))


class _Outgoing(abc.Subscription):
    """The subscription of the hub's subscriber."""

    def __init__(self, hub: MergeHub[Any]) -> None:
        self._hub: MergeHub[Any] = hub

    def request(self, n: int) -> None:
        self._hub.serial.post((_Kind.REQUEST, whole(n)))

    def cancel(self) -> None:
        self._hub.serial.post((_Kind.CANCEL, None))


class MergeHub(abc.Publisher[T], Generic[T]):
    """Merges sources that come and go into one stream; made by :func:`merge_hub`."""

    def __init__(self, capacity: int, on_error: Literal["log", "fail"]) -> None:
        if not is_whole(capacity) or capacity < 1:
            raise ConfigError(f"capacity={capacity!r}: must be a whole number, at least 1")
        if on_error not in ("log", "fail"):
            raise ConfigError(f'on_error={on_error!r}: must be "log" or "fail"')
        self.capacity: int = capacity
        self.serial: Serial[tuple[_Kind, Any]] = Serial(self._handle, self._settle)
        self._fails = on_error == "fail"
        self._inlets: deque[_Inlet[T]] = deque()  # the next one in turn stands first
        self._downstream: abc.Subscriber[T] | None = None
        self._is_taken = False  # it has, or had, its subscriber
        self._demand = Demand()
        self._is_closing = False  # no source may come any more
        self._is_over = False
        self._error: Exception | None = None

    def sink(self) -> abc.Subscriber[T]:
        """A subscriber for one more source; any thread, at any time.

        After :meth:`close`, and when the hub's subscriber has gone, it cancels its source.

        Example::

            prices.subscribe(hub.sink())
        """
        return _Inlet(self)

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        """Set the one subscriber; a second one gets an error (§1.11)."""
        check_subscriber(subscriber)
        self.serial.post((_Kind.SUBSCRIBER, subscriber))

    def close(self) -> None:
        """Take no more sources; complete when those of now have ended."""
        self.serial.post((_Kind.CLOSE, None))

    # ---- the work ----

    def _handle(self, posted: tuple[_Kind, Any]) -> None:
        kind, value = posted
        if kind is _Kind.ITEM:
            inlet, item = value
            if not (inlet.is_ended or self._is_over):
                inlet.outstanding -= 1
                inlet.items.append(item)
        elif kind is _Kind.SOURCE:
            self._add_source(*value)
        elif kind is _Kind.SOURCE_END:
            self._end_source(*value)
        elif kind is _Kind.SUBSCRIBER:
            self._begin(value)
        elif kind is _Kind.REQUEST:
            self._add_demand(value)
        elif kind is _Kind.CLOSE:
            self._is_closing = True
        else:
            self._stop()

    def _add_source(self, inlet: _Inlet[T], upstream: abc.Subscription) -> None:
        if self._is_over or self._is_closing or inlet.is_ended or inlet.upstream is not None:
            upstream.cancel()
            return
        inlet.upstream = upstream
        self._inlets.append(inlet)

    def _end_source(self, inlet: _Inlet[T], error: Exception | None) -> None:
        if inlet.is_ended:
            return
        inlet.is_ended, inlet.upstream = True, None
        if error is None:
            return
        if self._fails:
            self._error = self._error or error
        else:
            log.error("merge_hub: a source failed, the others go on: %r", error)

    def _begin(self, subscriber: abc.Subscriber[T]) -> None:
        if self._is_taken:
            refusal = LocalContractError(
                "§1.11: a merge_hub serves one subscriber; put a broadcast_hub or a partition_hub "
                "behind it"
            )
            refuse_subscriber(subscriber, refusal, "merge_hub")
            return
        self._is_taken, self._downstream = True, subscriber
        try:
            subscriber.on_subscribe(_Outgoing(self))
        except Exception:
            self._broken("on_subscribe")

    def _add_demand(self, n: int) -> None:
        downstream = self._downstream
        if downstream is None:
            return
        try:
            self._demand.add(n)
        except ValueError as error:
            self._stop()
            end(downstream, error, "merge_hub")

    def _broken(self, signal: str) -> None:
        log.exception("merge_hub: the subscriber's %s raised; it is cancelled", signal)
        self._stop()

    def _stop(self) -> None:
        """Leave every source, and drop every reference (§3.13)."""
        self._is_over = True
        self._downstream = None
        inlets = list(self._inlets)
        self._inlets.clear()
        for inlet in inlets:
            upstream, inlet.upstream, inlet.is_ended = inlet.upstream, None, True
            inlet.items.clear()
            if upstream is not None:
                upstream.cancel()

    def _settle(self) -> None:
        while self._demand.pending and not self.serial.has_news and self._give_one():
            pass
        downstream = self._downstream
        if self.serial.has_news or downstream is None:
            return
        # A source that failed, or has ended, goes when everything before was given out.
        if any(inlet.is_ended and not inlet.items for inlet in self._inlets):
            self._inlets = deque(one for one in self._inlets if one.items or not one.is_ended)
        is_empty = not any(inlet.items for inlet in self._inlets)
        if (self._error is not None and is_empty) or (self._is_closing and not self._inlets):
            error = self._error
            self._stop()
            end(downstream, error, "merge_hub")
            return
        if self._error is None:
            self._ask()

    def _give_one(self) -> bool:
        """One element of the next source that has one; False: none has."""
        downstream = self._downstream
        for _ in range(len(self._inlets)):
            inlet = self._inlets[0]
            self._inlets.rotate(-1)
            if not inlet.items or downstream is None:
                continue
            self._demand.take()
            try:
                downstream.on_next(inlet.items.popleft())
            except Exception:
                self._broken("on_next")
            return self._downstream is not None
        return False

    def _ask(self) -> None:
        for inlet in list(self._inlets):
            missing = self.capacity - len(inlet.items) - inlet.outstanding
            if inlet.upstream is None or missing < 1:
                continue
            if inlet.outstanding == 0 or missing * 4 >= self.capacity:
                inlet.outstanding += missing
                inlet.upstream.request(missing)


def merge_hub(capacity: int = 16, *, on_error: Literal["log", "fail"] = "log") -> MergeHub[Any]:
    """A hub that merges sources into one stream; they come and go at any time.

    Sources take turns, so that a busy one holds none of the others back.

    Args:
        capacity: most elements of each source that wait.
        on_error: what happens when a source fails. ``"log"`` (default): it is logged and the
            others go on, because the error of one concerns none of the others. ``"fail"``: the
            hub's subscriber gets the error, behind what waits, and all sources are cancelled.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        hub = stages.merge_hub()
        hub.subscribe(subscriber)
        rstream.stream.source("prices").subscribe(hub.sink())
        rstream.stream.source("trades").subscribe(hub.sink())
    """
    return MergeHub(capacity, on_error)
