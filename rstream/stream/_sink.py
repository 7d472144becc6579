"""A Reactive Streams subscriber that publishes: on_next → transport, demand and window → request.

Theory of operation. What is asked of the upstream is what the readers want (flow.CrossedDemand), as the
transport tells it, at most a window of it. Whoever notices that more is wanted asks for it: the thread in
on_next, after it has sent, or a loop that waits for readers to ask. One of them at a time is inside
``request`` (§2.7); who comes meanwhile leaves, because the one inside looks again.

While elements come, the loop leaves it to on_next, and no reader has anybody to wake. Has on_next sent the last one
that was wanted, it waits a moment itself before the loop does: one wake-up from a reader to the thread that makes
elements, not two and the interpreter's lock in between.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream.errors import ClosedError, DriverError, DriverLost, ForkedError, RStreamError
from rstream.flow.crossing import CrossedDemand
from rstream.stream.executor import CallerExecutor, Executor, ThreadExecutor

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._publisher import Publisher

__all__ = ("StreamSink",)

log = logging.getLogger("rstream")

T = TypeVar("T")

#: Readers that do not tell what they want within this time cannot: then the window alone decides.
SILENT_S = 1.0
#: When it says that nobody reads.
NOTICE_AFTER_S = 2.0
#: What a loop that cannot wait on the driver waits instead.
PAUSE_S = 0.05
#: How long on_next waits for demand when nothing is left to send.
PATIENCE_S = 0.001
#: How long the loop leaves it to on_next, when elements came since it last looked.
LEAVE_S = 0.005


class StreamSink(abc.Subscriber[T], Generic[T]):
    """Sends every element; made by :func:`rstream.stream.sink`.

    It asks its upstream for what its readers have asked for, and for no element more: on IPC all of them, on
    the network one that reads by rstream. Readers that take what comes (a plain ``for``) want no
    number, groups and raw Aeron peers do not say: then for a window of elements at most. Nothing is asked for while there is no
    reader (a notice is logged after 2 s).

    ``on_next`` waits while the readers have no room, so a slow reader holds the upstream's thread
    (§2.2 is a recommendation; put an executor in front where the upstream must not wait). After the last element
    that was asked for it waits up to 1 ms for the next request, if the loop has a thread of its own.
    Completion completes the stream, an error ends it with its text; a failure to send cancels the
    upstream and is logged.
    """

    def __init__(
        self, publisher: Publisher[T], window: int, executor: Executor | None = None
    ) -> None:
        self.publisher: Publisher[T] = publisher
        self._executor = executor or ThreadExecutor()
        self._upstream: abc.Subscription | None = None
        self._is_done = False
        self._lock = threading.Lock()  # guards the demand and who is inside request
        self._demand = CrossedDemand(window)
        self._is_requesting = False
        self._session_id = publisher.session_id
        self._silent_since_s: float | None = None
        # The publisher is one thread's at a time: on_next sends, the loop joins again. The end may come
        # while on_next waits for room, which it ends, but not in the middle of a join.
        self._sending = threading.Lock()
        self._reviving = threading.Lock()
        # Where one thread runs everything, the readers that would ask cannot while it waits.
        self._watch = None if isinstance(self._executor, CallerExecutor) else _Watch(publisher)
        self._is_hungry = threading.Event()
        self._is_awaiting = False  # on_next, in its watch

    # ---- signals ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        _refuse_none(subscription, "on_subscribe")
        if self._upstream is not None or self._is_done:
            subscription.cancel()  # §2.5
            return
        self._upstream = subscription
        self._ask_upstream()
        name = self.publisher.name or self.publisher.stream_id
        self._executor.start(_Loop(self), f"rstream-demand-{name}")

    def on_next(self, item: T) -> None:
        _refuse_none(item, "on_next")
        if self._is_done:
            return  # §2.8
        try:
            with self._sending:
                position = self.publisher.send(item)
        except Exception as error:
            self.fail(error)
            return
        with self._lock:
            self._note_session()
            self._demand.sent(position)
            is_due = self._demand.is_due() and self._has_more()
        if is_due:
            self._ask_upstream()
            if self._demand.left == 0:
                self._await_demand()

    def on_error(self, error: Exception) -> None:
        _refuse_none(error, "on_error")
        if not self._is_done:
            self._is_done = True
            self._upstream = None
            with self._reviving:
                self.publisher.fail(error)

    def on_complete(self) -> None:
        if not self._is_done:
            self._is_done = True
            self._upstream = None
            with self._reviving:
                self.publisher.close()

    def cancel(self) -> None:
        """Stop taking elements and complete the stream; the owner's call, not a signal."""
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()
        self.on_complete()

    def fail(self, error: Exception) -> None:
        """Cancel the upstream and end the stream with the error; a failure of its own."""
        if self._is_done:
            return
        self._is_done = True
        log.error("%r: sending failed, the upstream is cancelled: %s", self.publisher, error)
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.cancel()
        with self._reviving:
            self.publisher.fail(error)

    # ---- demand ----

    @property
    def is_done(self) -> bool:
        """Whether the stream has ended, one way or another."""
        return self._is_done

    @property
    def sent_count(self) -> int:
        """Elements sent since the start."""
        return self._demand.requested - self._demand.left

    def rest_until_hungry(self, timeout_s: float) -> bool:
        """For the loop: wait until the thread in on_next has nothing to send. False: it had something all the time."""
        is_hungry = self._is_hungry.wait(timeout_s)
        self._is_hungry.clear()
        return is_hungry

    def leave_watch(self) -> None:
        """For the loop, at its end."""
        if self._watch is not None:
            self._watch.leave()

    def _await_demand(self) -> None:
        watch = self._watch
        self._is_awaiting = True
        try:
            # Looked at again: who has asked before that did not wake us.
            is_news = watch is not None and self._demand.left == 0 and watch.wait(PATIENCE_S)
            self._is_awaiting = False
            if is_news:
                self._ask_upstream()
        except (DriverError, ClosedError, ForkedError):
            pass  # the loop, or the next element, sees to that
        finally:
            self._is_awaiting = False
        if self._demand.left == 0:
            self._is_hungry.set()

    def _ask_upstream(self) -> None:
        while True:
            with self._lock:
                upstream = self._upstream
                if self._is_requesting or upstream is None:
                    return
                count = self._demand.take()
                if count == 0 and self._has_more():
                    self._look()
                    count = self._demand.take()
                if count == 0:
                    return
                self._is_requesting = True
            try:
                upstream.request(count)
                if self._is_awaiting and self._watch is not None:
                    self._watch.wake()  # what it waits for has been seen and asked for here
            finally:
                with self._lock:
                    self._is_requesting = False

    def _has_more(self) -> bool:
        """Whether more may be asked for, or may be found to be. Under lock.

        While there is something to send, only news lets one look. Then always: what nobody told as news (somebody else
        has looked, one reader took another's place) must not wait for ever.
        """
        demand = self._demand
        return demand.left == 0 or self.publisher.has_new_demand or demand.ready > 0

    def _note_session(self) -> None:
        if self.publisher.session_id != self._session_id:
            self._session_id = self.publisher.session_id
            self._demand.restarted()

    def _look(self) -> None:
        """What the readers want now. Under lock."""
        told = self.publisher.demand()
        if told is None:
            return  # closed, or without its driver: the loop sees to that
        self._note_session()
        if not told.is_connected:
            self._silent_since_s = None
            self._demand.nobody()
        elif told.reader_count > 0:
            self._silent_since_s = None
            self._demand.wanted_behind(told.position, told.elements)
        elif self._silent_since_s is None:
            self._silent_since_s = time.monotonic()
        elif time.monotonic() - self._silent_since_s >= SILENT_S:
            self._demand.unlimited()

    def _revive(self) -> None:
        """Join again after the driver was lost, unless the thread in on_next is there and does."""
        if self._sending.acquire(blocking=False):
            try:
                with self._reviving:
                    self.publisher.revive()
            finally:
                self._sending.release()


class _Watch:
    """A waiter on what the readers ask for, of the publisher's session of now. One thread at a time."""

    def __init__(self, publisher: Publisher[Any]) -> None:
        self._publisher = publisher
        self._waiter: _core.Waiter | None = None
        self._session_id: int | None = None

    def attach(self) -> None:
        """Make sure that it watches what is there.

        Raises:
            DriverLost: nothing is.
        """
        publisher = self._publisher
        if not publisher.has_session:
            raise DriverLost(f"{publisher!r}: closed, or its driver was lost")
        if self._waiter is None or publisher.session_id != self._session_id:
            self.leave()
            self._session_id = publisher.session_id
            self._waiter = publisher.make_waiter()

    def wait(self, timeout_s: float) -> bool:
        """Whether they ask for something new, or came or went, since :meth:`Publisher.demand` was read last."""
        if self._waiter is None or self._publisher.session_id != self._session_id:
            self.attach()
        waiter = self._waiter
        return waiter is not None and waiter.wait(timeout_s)

    def wake(self) -> None:
        """End a wait that is under way. Any thread."""
        waiter = self._waiter
        if waiter is not None:
            waiter.wake()

    def leave(self) -> None:
        """Give the waiter back; the next call makes another one. Any thread."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.close()


class _Loop:
    """Waits for what readers ask for, and asks the upstream. One thread at a time."""

    def __init__(self, subscriber: StreamSink[Any]) -> None:
        self._subscriber = subscriber
        self._watch = _Watch(subscriber.publisher)
        self._sent_count = 0
        self._alone_since_s: float | None = None
        self._has_noticed = False

    def step(self, wait_s: float) -> bool:
        """Ask for what is wanted, then wait; see :class:`rstream.stream.executor.Loop`."""
        subscriber = self._subscriber
        if subscriber.is_done:
            self._leave()
            return False
        try:
            self._watch.attach()
            subscriber._ask_upstream()  # pyright: ignore[reportPrivateUsage] - same file
            self._check_alone()
            if wait_s > 0 and not self._is_left_to_sender(wait_s):
                # Once more: what on_next was told just now, and others have looked at, is no news for the watch.
                subscriber._ask_upstream()  # pyright: ignore[reportPrivateUsage] - same file
                self._watch.wait(wait_s)
        except (DriverError, ClosedError) as error:
            self._watch.leave()
            if not subscriber.is_done:
                self._revive(error, wait_s)
        except ForkedError:
            return False
        except Exception as error:
            subscriber.fail(error)
        return True

    def _is_left_to_sender(self, wait_s: float) -> bool:
        """Elements come, and on_next looks by itself what more is wanted."""
        before, self._sent_count = self._sent_count, self._subscriber.sent_count
        return before != self._sent_count and not self._subscriber.rest_until_hungry(
            min(wait_s, LEAVE_S)
        )

    def _leave(self) -> None:
        self._watch.leave()
        self._subscriber.leave_watch()

    def _check_alone(self) -> None:
        """Nobody reads: said after a while. Nothing is lost meanwhile, nothing was asked for."""
        publisher = self._subscriber.publisher
        if publisher.is_connected:
            self._alone_since_s = None
            self._has_noticed = False
        elif self._alone_since_s is None:
            self._alone_since_s = time.monotonic()
        elif not self._has_noticed and time.monotonic() - self._alone_since_s >= NOTICE_AFTER_S:
            self._has_noticed = True
            publisher.say_alone("and asks its upstream for nothing meanwhile")

    def _revive(self, error: Exception, wait_s: float) -> None:
        subscriber = self._subscriber
        try:
            subscriber._revive()  # pyright: ignore[reportPrivateUsage] - same file
        except RStreamError as why:
            subscriber.fail(why)
            return
        publisher = subscriber.publisher
        if publisher.is_closed or publisher.is_lost:
            subscriber.fail(error)
        elif wait_s > 0:
            time.sleep(min(wait_s, PAUSE_S))


def _refuse_none(value: Any, signal: str) -> None:
    if value is None:
        raise TypeError(f"§2.13: {signal}(None)")
