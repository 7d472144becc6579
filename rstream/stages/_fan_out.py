"""What the hubs with many subscribers share: one upstream, outlets, and one worker for all.

Signals to all outlets come from one thread at a time. A subscriber that may take long holds the
others up; ``buffer`` behind the hub does not help then, because it runs in the same thread.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import deque
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from rstream import abc
from rstream._checks import check_subscriber, check_subscription, is_whole
from rstream.errors import ConfigError
from rstream.flow.demand import Demand
from rstream.stages._link import end, refuse_none, whole
from rstream.stages._serial import Serial

log = logging.getLogger("rstream")

T = TypeVar("T")


class FanOutKind(Enum):
    """What was posted to a hub."""

    UPSTREAM = auto()
    ITEM = auto()
    END = auto()
    OUTLET = auto()
    REQUEST = auto()
    CANCEL = auto()


class Outlet(abc.Subscription, Generic[T]):
    """One subscriber of a hub.

    Attributes:
        downstream: the subscriber; None: it has gone.
        demand: what it has requested and not got yet.
        cursor: of a broadcast hub: the number of the next element.
        waiting: of a partition hub: elements chosen for it.
    """

    def __init__(self, hub: FanOut[T], downstream: abc.Subscriber[T]) -> None:
        self._hub: FanOut[T] = hub
        self.downstream: abc.Subscriber[T] | None = downstream
        self.demand = Demand()
        self.cursor = 0
        self.waiting: deque[T] = deque()

    def request(self, n: int) -> None:
        self._hub.serial.post((FanOutKind.REQUEST, (self, whole(n))))

    def cancel(self) -> None:
        self._hub.serial.post((FanOutKind.CANCEL, self))


class FanOut(abc.Processor[T, T], Generic[T]):
    """A processor with many subscribers. Subclasses say who gets which element."""

    _name = "hub"
    _wait_for_least = 1

    def __init__(self, capacity: int, wait_for: int) -> None:
        least_of = {"capacity": 1, "wait_for": self._wait_for_least}
        for name, value in (("capacity", capacity), ("wait_for", wait_for)):
            if not is_whole(value) or value < least_of[name]:
                raise ConfigError(
                    f"{name}={value!r}: must be a whole number, at least {least_of[name]}"
                )
        self.capacity: int = capacity
        self.wait_for: int = wait_for
        self.serial: Serial[tuple[FanOutKind, Any]] = Serial(self._handle, self._settle)
        self._outlets: list[Outlet[T]] = []
        self._seen = 0  # subscribers that have come so far, up to wait_for
        self._turn = 0  # the subscriber after the one that got the last element
        self._upstream: abc.Subscription | None = None
        self._has_upstream = False
        self._outstanding = 0
        self._is_ended = False
        self._error: Exception | None = None

    # ---- what a hub decides ----

    @abstractmethod
    def _join(self, outlet: Outlet[T]) -> None:
        """A subscriber has come."""

    @abstractmethod
    def _part(self, outlet: Outlet[T]) -> None:
        """A subscriber has gone, and is in the list no more."""

    @abstractmethod
    def _put(self, item: T) -> None:
        """An element has come."""

    @abstractmethod
    def _next(self, outlet: Outlet[T]) -> list[T]:
        """The next element for a subscriber that wants one; empty: there is none."""

    @abstractmethod
    def _has_more(self, outlet: Outlet[T]) -> bool:
        """Whether a subscriber still gets elements before the end."""

    @abstractmethod
    def _room(self) -> int:
        """How many more elements may be held."""

    # ---- signals ----

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        """Add a subscriber; any thread, at any time."""
        check_subscriber(subscriber)
        self.serial.post((FanOutKind.OUTLET, Outlet(self, subscriber)))

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        self.serial.post((FanOutKind.UPSTREAM, subscription))

    def on_next(self, item: T) -> None:
        refuse_none(item, "on_next")
        self.serial.post((FanOutKind.ITEM, item))

    def on_error(self, error: Exception) -> None:
        refuse_none(error, "on_error")
        self.serial.post((FanOutKind.END, error))

    def on_complete(self) -> None:
        self.serial.post((FanOutKind.END, None))

    def close(self) -> None:
        """Cancel upstream and complete the subscribers, after what they have still to get."""
        self.serial.post((FanOutKind.END, self))

    @property
    def subscribers(self) -> int:
        """How many subscribers there are now."""
        return len(self._outlets)

    # ---- the work ----

    def _handle(self, posted: tuple[FanOutKind, Any]) -> None:
        kind, value = posted
        if kind is FanOutKind.ITEM:
            if not self._is_ended:
                self._outstanding = max(0, self._outstanding - 1)
                self._put(value)
        elif kind is FanOutKind.REQUEST:
            self._add_demand(*value)
        elif kind is FanOutKind.CANCEL:
            self._drop(value)
        elif kind is FanOutKind.OUTLET:
            self._add(value)
        elif kind is FanOutKind.UPSTREAM:
            if self._has_upstream or self._is_ended:
                value.cancel()  # §2.5
            else:
                self._has_upstream, self._upstream = True, value
        elif not self._is_ended:
            self._end_input(None if value is self else value, is_left=value is self)

    def _end_input(self, error: Exception | None, *, is_left: bool) -> None:
        upstream, self._upstream = self._upstream, None
        self._is_ended, self._error = True, error
        if is_left and upstream is not None:
            upstream.cancel()

    def _fail(self, error: Exception) -> None:
        """End with the error of a function of the user."""
        error.add_note(f"in stage {self._name}")
        if not self._is_ended:
            self._end_input(error, is_left=True)

    def _add(self, outlet: Outlet[T]) -> None:
        downstream = outlet.downstream
        assert downstream is not None
        self._outlets.append(outlet)
        self._seen = min(self._seen + 1, self.wait_for)
        self._join(outlet)
        try:
            downstream.on_subscribe(outlet)
        except Exception:
            self._broken(outlet, "on_subscribe")

    def _add_demand(self, outlet: Outlet[T], n: int) -> None:
        downstream = outlet.downstream
        if downstream is None:
            return
        try:
            outlet.demand.add(n)
        except ValueError as error:
            self._drop(outlet)
            end(downstream, error, self._name)

    def _drop(self, outlet: Outlet[T]) -> None:
        if outlet.downstream is not None:
            outlet.downstream = None
            self._outlets.remove(outlet)
            self._part(outlet)

    def _broken(self, outlet: Outlet[T], signal: str) -> None:
        log.exception("stage %s: a subscriber's %s raised; it is cancelled", self._name, signal)
        self._drop(outlet)

    def _settle(self) -> None:
        while not self.serial.has_news and self._give_round():
            pass
        if self.serial.has_news:
            return
        if self._is_ended:
            for outlet in [one for one in self._outlets if not self._has_more(one)]:
                downstream = outlet.downstream
                self._drop(outlet)
                if downstream is not None:
                    end(downstream, self._error, self._name)
        self._ask()

    def _give_round(self) -> bool:
        """One element to each subscriber that wants one; False: nobody got any."""
        has_given = False
        begin = self._turn % max(1, len(self._outlets))
        for number, outlet in enumerate(self._outlets[begin:] + self._outlets[:begin], begin + 1):
            if self.serial.has_news:
                break
            if outlet.downstream is None or not outlet.demand.pending:
                continue
            items = self._next(outlet)
            if not items:
                continue
            outlet.demand.take()
            has_given = True
            self._turn = number
            try:
                outlet.downstream.on_next(items[0])
            except Exception:
                self._broken(outlet, "on_next")
        return has_given

    def _ask(self) -> None:
        upstream = self._upstream
        is_wanted = bool(self._outlets) or self.wait_for == 0
        if upstream is None or not is_wanted or self._seen < self.wait_for:
            return
        missing = self._room() - self._outstanding
        if missing > 0 and (self._outstanding == 0 or missing * 4 >= self.capacity):
            self._outstanding += missing
            upstream.request(missing)
