"""A stream as a Reactive Streams publisher: transport → on_next, under demand.

Theory of operation. Each ``subscribe`` makes a transport subscription and a loop of its own. So

    taken ≤ requested              the transport's own demand, enforced in C
    delivered ≤ requested          flow.Demand, checked before every on_next (§1.1)

The end of a stream is a message too, but it costs no demand, so it arrives without demand (§2.9).

A message that is not taken stays in the image, fills the window and slows the publisher down.
With a policy that has a queue it stays in that queue, and the policy decides which message is
dropped. ``request`` only adds to the demand and wakes the loop: on_next never runs inside it
(§3.3, §3.4).

One lock guards state, demand and failure. It is held for moments, never in a call of the
subscriber. The states and the legal signals are the table of ``flow/states.py``. ``step`` runs in
one thread at a time; it alone touches the held items and closes the reader.

When the program ends, a subscription that is left is cancelled: its subscriber gets no signal.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, NoReturn, TypeVar

from rstream import abc
from rstream._checks import check_subscriber
from rstream._condition import Event
from rstream._pickling import refuse_pickling
from rstream.driver import watch_loop
from rstream.errors import ClosedError, ForkedError
from rstream.flow.demand import Demand
from rstream.flow.states import Signal, State, next_state
from rstream.stream._reading._reading import Reading
from rstream.stream._tally import Place, Tally, here
from rstream.stream.executor import Executor, ThreadExecutor

__all__ = ("StreamSource",)

log = logging.getLogger("rstream")

T = TypeVar("T")

OpenReader = Callable[[], Reading[T]]


class StreamSource(abc.Publisher[T], Generic[T]):
    """A stream to subscribe to; made by :func:`rstream.stream.source`.

    Each subscriber reads what is sent from the moment when it subscribed, and begins where
    :func:`rstream.subscriber` does. Thread rule: ``subscribe`` from any thread; signals come from
    the executor's thread, serially.

    Example::

        rstream.stream.source("ticks").subscribe(subscriber)  # any Reactive Streams subscriber
    """

    def __init__(self, open_reader: OpenReader[T], name: str, executor: Executor | None) -> None:
        self._open_reader = open_reader
        self._name = name
        self._executor = executor or ThreadExecutor()

    def __repr__(self) -> str:
        return f"<rstream.stream.StreamSource {self._name!r}>"

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "pass the stream's name, and make a source there")

    def subscribe(self, subscriber: abc.Subscriber[T]) -> None:
        check_subscriber(subscriber)
        loop = _SourceLoop(subscriber, self._name)
        failure: Exception | None = None
        try:
            loop.attach(self._open_reader())
        except Exception as error:
            failure = error
        loop.begin()
        if failure is not None:
            loop.fail(failure)
        watch_loop(loop)
        self._executor.start(loop, f"rstream-{self._name}")


class _Subscription(abc.Subscription):
    """The subscription of one subscriber. The loop drops the subscriber at the end (§3.13)."""

    def __init__(self, loop: _SourceLoop[Any]) -> None:
        self._loop = loop

    def request(self, n: int) -> None:
        if type(n) is not int:
            raise TypeError(f"request({n!r}): the number of elements must be an int")
        self._loop.request(n)

    def cancel(self) -> None:
        self._loop.cancel()


class _SourceLoop(Generic[T]):
    """One subscription. ``step`` runs in one thread at a time; ``request`` and ``cancel`` in
    any.
    """

    def __init__(self, subscriber: abc.Subscriber[T], name: str) -> None:
        self._subscriber: abc.Subscriber[T] | None = subscriber
        self._name = name
        self._reader: Reading[T] | None = None
        self._lock = threading.Lock()  # guards state, demand, failure
        self._woken = Event()
        self._step_lock = threading.RLock()  # held by the thread in step
        self._stepping: int | None = None  # the thread that is in step, and looks again by itself
        self._state = State.NEW
        self._demand = Demand()
        self._failure: Exception | None = None
        self._held: deque[T] = deque()
        self._polled = 0  # elements of the last poll
        self._before = 0  # elements of earlier polls
        self._tally: Tally | None = None

    def attach(self, reader: Reading[T]) -> None:
        self._reader = reader
        self._tally = Tally(reader, lambda: self._before, self._count)

    # ---- the subscriber's calls ----

    def request(self, n: int) -> None:
        with self._lock:
            if next_state(self._state, Signal.REQUEST) is None:
                return
            # The transport first: publishers see the demand while the subscriber still works on
            # earlier elements. A poll at this moment takes no more than was requested.
            if n > 0 and self._reader is not None:
                self._reader.raise_demand(n)
            try:
                self._demand.add(n)
            except ValueError as error:
                self._failure = self._failure or error
        if self._stepping != threading.get_ident():
            self._wake()

    def cancel(self) -> None:
        with self._lock:
            state = next_state(self._state, Signal.CANCEL)
            if state is None:
                return
            self._state = state
            if self._tally is not None:
                self._tally.is_ending = True
        self._wake()

    def fail(self, error: Exception) -> None:
        with self._lock:
            self._failure = self._failure or error
        self._wake()

    def _wake(self) -> None:
        self._woken.set()
        reader = self._reader
        if reader is not None:
            # The loop may close the reader at any time; a call that comes too late has no effect.
            with suppress(ClosedError, ForkedError):
                reader.wake()

    # ---- signals ----

    def begin(self) -> None:
        subscriber = self._subscriber
        with self._lock:
            self._state = State.ACTIVE
        assert subscriber is not None
        try:
            subscriber.on_subscribe(_Subscription(self))
        except Exception:
            self._broken("on_subscribe")

    def _broken(self, signal: str) -> None:
        """Cancel a subscriber that raised (§2.13), and log it."""
        log.exception("stream %r: the subscriber's %s raised; it is cancelled", self._name, signal)
        self.cancel()

    def _end(self, signal: Signal, error: Exception | None) -> None:
        with self._lock:
            state = next_state(self._state, signal)
            if state is None:
                return
            self._state = state
        subscriber = self._subscriber
        assert subscriber is not None
        try:
            if error is None:
                subscriber.on_complete()
            else:
                subscriber.on_error(error)
        except Exception:
            log.exception("stream %r: the subscriber's terminal signal raised", self._name)

    # ---- the loop ----

    def step(self, wait_s: float) -> bool:
        """Deliver what demand allows; see :class:`rstream.stream.executor.Loop`."""
        with self._step_lock:
            return self._step(wait_s)

    def stop(self) -> None:
        """At the end of the program: a cancellation, because the stream goes on."""
        self.cancel()

    def join(self, timeout_s: float) -> None:
        """Leave the stream, after the element that is being delivered."""
        if self._step_lock.acquire(timeout=timeout_s):
            try:
                self._step(0.0)
            finally:
                self._step_lock.release()

    def _step(self, wait_s: float) -> bool:
        self._stepping = threading.get_ident()
        try:
            self._woken.clear()
            if not self._state.is_terminal:
                self._advance(wait_s)
        except Exception as error:  # every failure reaches the subscriber (§1.4)
            self._end(Signal.ON_ERROR, error)
        if not self._state.is_terminal:
            return True
        self._finish()
        return False

    def _advance(self, wait_s: float) -> None:
        if self._failure is not None:
            self._end(Signal.ON_ERROR, self._failure)
            return
        self._deliver()
        if self._state.is_terminal or self._failure is not None:
            return
        reader = self._reader
        assert reader is not None
        if self._held:
            # A message is held and there is no demand: only the subscriber can go on.
            if wait_s > 0:
                self._woken.wait(wait_s)
            return
        items = reader.poll_demanded(self._demand.pending)
        self._before += self._polled
        self._polled = len(items)
        if items:
            self._held.extend(items)
            self._deliver()
        elif reader.is_ended:
            self._end(Signal.ON_COMPLETE, None)
        elif wait_s > 0:
            reader.wait(wait_s)

    def _deliver(self) -> None:
        tally = self._tally
        if not self._held or tally is None:
            return
        outer, here.place = here.place, tally.place
        try:
            self._deliver_held(tally.place)
        finally:
            here.place = outer
            self._count()

    def _count(self) -> None:
        """What was delivered counts as consumed; when the subscriber cancels, no more than that."""
        if self._reader is not None:
            self._reader.consume(self._polled - len(self._held))

    def _deliver_held(self, place: Place) -> None:
        while self._held:
            with self._lock:
                # Checked before each element: request(0) or cancel may come in between.
                if self._state is not State.ACTIVE or self._failure is not None:
                    return
                if self._demand.pending == 0:
                    return
                self._demand.take()
            subscriber = self._subscriber
            assert subscriber is not None
            place.number += 1
            try:
                subscriber.on_next(self._held.popleft())
            except Exception:
                self._broken("on_next")

    def _finish(self) -> None:
        """Drop every reference to the subscriber (§3.13) and leave the stream."""
        self._subscriber = None
        self._held.clear()
        reader, self._reader = self._reader, None
        if reader is not None and self._tally is not None:
            self._tally.finish(lambda: self._close(reader))

    def _close(self, reader: Reading[T]) -> None:
        try:
            reader.close()
        except Exception:
            log.exception("stream %r: its reader could not be closed", self._name)
