"""One subscriber behind one stage: demand and signals between upstream and downstream.

Theory of operation. A stage is a *logic*: a pure object that takes elements in, and gives elements
out when asked, with the time as an argument. The link does the rest, the same for every stage:

    on_next            -> logic.put
    demand of downstream, and something to give -> logic.take -> on_next
    logic.wanted       -> request(n) of upstream: never more than the logic has room for
    logic.next_ns      -> a call of the clock, where time alone gives something to take

It runs in whichever thread brings a signal (``_serial.py``). No thread belongs to a stage, except
the clock's.

An error of upstream comes after every element before it, as the end does. ``request(0)`` and a
function of the user that raises cancel upstream. A subscriber that raises is cancelled and logged
(§2.13).
"""

from __future__ import annotations

import logging
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from rstream import abc
from rstream._checks import check_subscriber, check_subscription
from rstream.flow.demand import Demand
from rstream.flow.states import Signal, State, next_state
from rstream.stages._serial import Serial

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.stages._clock import Clock

log = logging.getLogger("rstream")

T = TypeVar("T")
R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Nothing(Enum):
    """What ``take`` returns when there is nothing to give now."""

    NOTHING = auto()


NOTHING: Final = Nothing.NOTHING


class Logic(Protocol[T_contra, R_co]):
    """What a stage does. One thread at a time; no call waits."""

    def wanted(self) -> int:
        """How many elements upstream may send in all, beyond those that were put."""
        ...

    def put(self, item: T_contra, now_ns: int) -> None:
        """Take an element in."""
        ...

    def take(self, now_ns: int, is_ended: bool) -> R_co | Nothing:
        """Give an element out, or NOTHING.

        Args:
            now_ns: the time.
            is_ended: upstream has ended: nothing may be kept back for more to come.
        """
        ...

    def next_ns(self) -> int | None:
        """The time from which ``take`` gives something without another ``put``; None: never."""
        ...

    def __len__(self) -> int:
        """Elements that are held; 0: the end may pass."""
        ...


class _LinkEvent(Enum):
    SUBSCRIBED = auto()
    ITEM = auto()
    ERROR = auto()
    COMPLETE = auto()
    REQUEST = auto()
    CANCEL = auto()
    TIME = auto()


class StageLink(abc.Subscriber[T], abc.Subscription, Generic[T, R]):
    """The subscriber of upstream, and the subscription of downstream."""

    def __init__(
        self, downstream: abc.Subscriber[R], logic: Logic[T, R], clock: Clock, name: str
    ) -> None:
        self._downstream: abc.Subscriber[R] | None = downstream
        self._logic: Logic[T, R] = logic
        self._clock = clock
        self._name = name
        self._serial: Serial[tuple[_LinkEvent, Any]] = Serial(self._handle, self._settle)
        self._upstream: abc.Subscription | None = None
        self._state = State.NEW
        self._is_active = False  # what ``_state is State.ACTIVE`` says: looked at for each element
        self._demand = Demand()
        self._outstanding = 0  # requested of upstream, and not come yet
        self._is_ended = False  # upstream has ended, or was left
        self._error: Exception | None = None
        self._called_ns: int | None = None  # when the clock calls next

    # ---- signals of upstream ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        self._serial.post((_LinkEvent.SUBSCRIBED, subscription))

    def on_next(self, item: T) -> None:
        refuse_none(item, "on_next")
        self._serial.post((_LinkEvent.ITEM, item))

    def on_error(self, error: Exception) -> None:
        refuse_none(error, "on_error")
        self._serial.post((_LinkEvent.ERROR, error))

    def on_complete(self) -> None:
        self._serial.post((_LinkEvent.COMPLETE, None))

    # ---- calls of downstream ----

    def request(self, n: int) -> None:
        self._serial.post((_LinkEvent.REQUEST, whole(n)))

    def cancel(self) -> None:
        self._serial.post((_LinkEvent.CANCEL, None))

    # ---- the work ----

    def _handle(self, posted: tuple[_LinkEvent, Any]) -> None:
        event, value = posted
        if event is _LinkEvent.SUBSCRIBED:
            self._subscribed(value)
        elif not self._is_active:
            return  # ended: §2.8, §3.6, §3.7
        elif event is _LinkEvent.ITEM:
            self._take_in(value)
        elif event is _LinkEvent.REQUEST:
            self._add_demand(value)
        elif event is _LinkEvent.TIME:
            if value == self._called_ns:
                self._called_ns = None
        elif event is _LinkEvent.CANCEL:
            self._leave(Signal.CANCEL)
        elif not self._is_ended:
            self._is_ended, self._error, self._upstream = True, value, None

    def _subscribed(self, upstream: abc.Subscription) -> None:
        if self._state is not State.NEW:
            upstream.cancel()  # §2.5, or ended already
            return
        self._upstream = upstream
        self._state, self._is_active = State.ACTIVE, True
        downstream = self._downstream
        assert downstream is not None
        try:
            downstream.on_subscribe(self)
        except Exception:
            self._broken("on_subscribe")

    def _take_in(self, item: T) -> None:
        if self._is_ended:
            return
        self._outstanding -= self._outstanding > 0
        try:
            self._logic.put(item, self._clock.now_ns())
        except Exception as error:
            self._fail(error)

    def _add_demand(self, n: int) -> None:
        try:
            self._demand.add(n)
        except ValueError as error:
            self._leave(Signal.ON_ERROR, error)

    def _fail(self, error: Exception) -> None:
        """End with an error of this stage, behind the elements that it holds."""
        error.add_note(f"in stage {self._name}")
        upstream, self._upstream = self._upstream, None
        self._is_ended, self._error = True, error
        if upstream is not None:
            upstream.cancel()

    def _broken(self, signal: str) -> None:
        log.exception("stage %s: the subscriber's %s raised; it is cancelled", self._name, signal)
        self._leave(Signal.CANCEL)

    def _settle(self) -> None:
        if self._demand.pending and self._is_active:
            self._give_out()
        if self._serial.has_news or not self._is_active:
            return
        if self._is_ended and len(self._logic) == 0:
            error = self._error
            self._leave(Signal.ON_COMPLETE if error is None else Signal.ON_ERROR, error)
            return
        self._ask()
        self._set_time()

    def _give_out(self) -> None:
        downstream, logic, demand = self._downstream, self._logic, self._demand
        assert downstream is not None
        while demand.pending and not self._serial.has_news:
            try:
                item = logic.take(self._clock.now_ns(), self._is_ended)
            except Exception as error:
                self._fail(error)
                return
            if item is NOTHING:
                return
            demand.take()
            try:
                downstream.on_next(item)
            except Exception:
                self._broken("on_next")
                return

    def _ask(self) -> None:
        """Request what there is room for, when that is a quarter of it or nothing is under way."""
        upstream = self._upstream
        if upstream is None or self._outstanding >= abc.UNBOUNDED:
            return
        wanted = self._logic.wanted()
        missing = wanted - self._outstanding
        if missing > 0 and (self._outstanding == 0 or missing * 4 >= wanted):
            self._outstanding += missing
            upstream.request(missing)

    def _set_time(self) -> None:
        """Have the clock call when time gives something that is wanted."""
        if not self._demand.pending:
            return
        when_ns = self._logic.next_ns()
        if when_ns is None:
            return
        if self._called_ns is None or when_ns < self._called_ns:
            self._called_ns = when_ns
            self._clock.call_at(when_ns, lambda: self._serial.post((_LinkEvent.TIME, when_ns)))

    def _leave(self, signal: Signal, error: Exception | None = None) -> None:
        """Reach a terminal state, and drop every reference (§3.13)."""
        state = next_state(self._state, signal)
        if state is None:
            return
        self._state, self._is_active = state, False
        upstream, self._upstream = self._upstream, None
        downstream, self._downstream = self._downstream, None
        self._logic = _NO_LOGIC
        if upstream is not None and not self._is_ended:
            upstream.cancel()
        if signal is not Signal.CANCEL and downstream is not None:
            end(downstream, error, self._name)


class _NoLogic:
    """The logic of a link that has ended: it holds nothing."""

    def wanted(self) -> int:
        return 0

    def put(self, item: Any, now_ns: int) -> None:
        """Nothing."""

    def take(self, now_ns: int, is_ended: bool) -> Any:
        return NOTHING

    def next_ns(self) -> int | None:
        return None

    def __len__(self) -> int:
        return 0


_NO_LOGIC: Final = _NoLogic()


def end(downstream: abc.Subscriber[Any], error: Exception | None, name: str) -> None:
    """Send the terminal signal; a subscriber that raises is logged."""
    try:
        if error is None:
            downstream.on_complete()
        else:
            downstream.on_error(error)
    except Exception:
        log.exception("stage %s: the subscriber's terminal signal raised", name)


class _RefusedLink(abc.Subscription):
    """The subscription of a subscriber that is refused."""

    def request(self, n: int) -> None:
        """Nothing comes."""

    def cancel(self) -> None:
        """Nothing to stop."""


def refuse_subscriber(subscriber: abc.Subscriber[Any], error: Exception, name: str) -> None:
    """Tell a subscriber that it gets nothing, and why (§1.9)."""
    subscriber.on_subscribe(_RefusedLink())
    end(subscriber, error, name)


def refuse_none(value: object, signal: str) -> None:
    """Refuse a signal without a value.

    Raises:
        TypeError: ``value`` is None (§2.13).
    """
    if value is None:
        raise TypeError(f"§2.13: {signal}(None)")


def whole(n: object) -> int:
    """The argument of ``request``.

    Raises:
        TypeError: no int.
    """
    if type(n) is not int:
        raise TypeError(f"request({n!r}): the number of elements must be an int")
    return n


class Stage(abc.Publisher[R], Generic[T, R]):
    """A publisher behind a stage; each subscriber subscribes to upstream anew."""

    def __init__(
        self,
        upstream: abc.Publisher[T],
        make_logic: Callable[[], Logic[T, R]],
        make_clock: Callable[[], Clock],
        name: str,
    ) -> None:
        self._upstream = upstream
        self._make_logic = make_logic
        self._make_clock = make_clock
        self._name = name

    def subscribe(self, subscriber: abc.Subscriber[R]) -> None:
        check_subscriber(subscriber)
        link = StageLink(subscriber, self._make_logic(), self._make_clock(), self._name)
        self._upstream.subscribe(link)

    def __repr__(self) -> str:
        return f"<rstream stage {self._name} behind {self._upstream!r}>"
