"""A Reactive Streams subscriber that sends into a stream: on_next -> transport, demand -> request.

Theory of operation. The sink asks its upstream for what its readers want (flow.CrossedDemand), as
the transport tells it, and for at most a window of elements. The states are tables in
``flow/sink_states.py``: the life of the sink, which thread asks, which thread waits.

    _asking.py     what may be requested, and the one thread that requests it
    _watch.py      waiting for demand; how on_next and the loop share that wait
    _sink_loop.py  the loop: waits for demand while no elements come, joins again
    _publisher.py  the publisher, shared by on_next, the loop and the thread that ends the sink
    _sink.py       the signals and the life

Locks and flags, with what each one guards:

    StreamSink._lock            life, upstream, demand, state of asking. Held for moments, never in
                                a call of the upstream; inside it only facts of the publisher
                                are read.
                                Reentrant, for a signal handler that cancels.
    Publisher._lock             the publisher, except during its waits
    Handover._is_waiting        flag of on_next: it waits on its own watch
    Handover._is_hungry         event: on_next has sent all that was asked for, the loop takes over

Inside ``StreamSink._lock`` only facts of the publisher are read, which take no lock.

A thread that notices more demand asks for it: the thread in on_next after it has sent, or the loop.
One of them at a time is inside ``request`` (§2.7). A second one leaves, because the first one looks
again when it returns.

While elements come, the loop rests and on_next looks for demand. So no reader has to wake a thread.
When on_next has sent the last element that was asked for, it waits itself for up to 1 ms before the
loop takes over. This way one wake-up leads from a reader to the thread that makes elements; by way
of the loop it would take two wake-ups and a change of the interpreter's lock.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rstream import abc
from rstream._checks import check_subscription
from rstream.driver import watch_loop
from rstream.flow.sink_states import Life, SinkEvent, next_life
from rstream.stream._reactive._asking import Asker
from rstream.stream._reactive._sink_loop import SinkLoop
from rstream.stream._reactive._watch import Handover, Watch
from rstream.stream.executor import CallerExecutor, Executor, ThreadExecutor

if TYPE_CHECKING:
    from rstream.stream._publisher import Publisher

__all__ = ("StreamSink",)

log = logging.getLogger("rstream")

T = TypeVar("T")


class StreamSink(abc.Subscriber[T], Generic[T]):
    """Sends every element into a stream; made by :func:`rstream.stream.sink`.

    It asks its upstream for what its readers have asked for, and for no element more: on IPC all of
    them, on the network one that reads by rstream. Every face tells a number: what a subscriber has
    requested, else as ``prefetch`` says. Groups and raw Aeron peers do not tell theirs: then it
    asks for a window of elements at most. Without a reader nothing is asked for (a notice is logged
    after 2 s).

    ``on_next`` waits while the readers have no room, so a slow reader holds the upstream's thread
    (§2.2 is a recommendation; put an executor in front where the upstream must not wait). After the
    last element that was asked for it waits up to 1 ms for the next request, if the loop has a
    thread of its own. Completion completes the stream, an error ends it with its text; a failure to
    send cancels the upstream and is logged.

    Thread rules: signals come serially, from any thread; :meth:`cancel` and :meth:`fail` from any.

    Example::

        sink = rstream.stream.sink("ticks")
        upstream.subscribe(sink)  # any Reactive Streams publisher
    """

    def __init__(
        self, publisher: Publisher[T], window: int, executor: Executor | None = None
    ) -> None:
        self.publisher: Publisher[T] = publisher
        self._executor = executor or ThreadExecutor()
        # Reentrant: a signal handler may call cancel() in the thread that holds it.
        self._lock = threading.RLock()
        self._life = Life.NEW
        self._is_done = False  # what ``_life.is_terminal`` says, read without the lock
        is_one_thread = isinstance(self._executor, CallerExecutor)
        self._handover = Handover(None if is_one_thread else Watch(publisher))
        self._asker = Asker(publisher, window, self._lock, self._handover.wake)

    @property
    def is_done(self) -> bool:
        """Whether the stream has ended, one way or another."""
        return self._is_done

    # ---- signals ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        with self._lock:
            is_taken = self._advance(SinkEvent.ON_SUBSCRIBE)
            if is_taken:
                self._asker.begin(subscription)
        if not is_taken:
            subscription.cancel()  # §2.5
            return
        self._asker.ask()
        name = self.publisher.name or self.publisher.stream_id
        loop = SinkLoop(self, self._asker, self._handover)
        watch_loop(loop)
        self._executor.start(loop, f"rstream-demand-{name}")

    def on_next(self, item: T) -> None:
        _refuse_none(item, "on_next")
        if self._is_done:
            return  # §2.8
        try:
            position = self.publisher.send(item)
        except Exception as error:
            self.fail(error)
            return
        if self._asker.sent(position):
            self._asker.ask()
            if self._asker.left == 0:
                self._handover.await_demand(self._asker)

    def on_error(self, error: Exception) -> None:
        _refuse_none(error, "on_error")
        if self._end(SinkEvent.ON_ERROR)[0]:
            self.publisher.fail(error)

    def on_complete(self) -> None:
        if self._end(SinkEvent.ON_COMPLETE)[0]:
            self.publisher.close()

    # ---- calls of the owner ----

    def cancel(self) -> None:
        """Cancel the upstream and complete the stream; the owner's call, not a signal."""
        with self._lock:
            upstream = self._asker.end()
        if upstream is not None:
            upstream.cancel()
        if self._end(SinkEvent.CANCEL)[0]:
            self.publisher.close()

    def fail(self, error: Exception) -> None:
        """Cancel the upstream and end the stream with the error; a failure of its own."""
        is_first, upstream = self._end(SinkEvent.SEND_FAILED)
        if not is_first:
            return
        log.error("%r: sending failed, the upstream is cancelled: %s", self.publisher, error)
        if upstream is not None:
            upstream.cancel()
        self.publisher.fail(error)

    def _leave(self) -> None:
        """At the end of the program: cancel the upstream and send nothing more.

        The stream is not complete, so its readers learn that the publisher has gone.
        """
        _, upstream = self._end(SinkEvent.CANCEL)
        if upstream is not None:
            try:
                upstream.cancel()
            except Exception:
                log.exception("%r: the upstream's cancel raised", self.publisher)

    # ---- life ----

    def _advance(self, event: SinkEvent) -> bool:
        """Go to the next state; False: the event does nothing now. Under lock."""
        life = next_life(self._life, event)
        if life is None:
            return False
        self._life = life
        self._is_done = life.is_terminal
        return True

    def _end(self, event: SinkEvent) -> tuple[bool, abc.Subscription | None]:
        """Reach an end. Returns whether this event is the first to do so, and the upstream."""
        with self._lock:
            if not self._advance(event):
                return False, None
            return True, self._asker.end()


def _refuse_none(value: Any, signal: str) -> None:
    if value is None:
        raise TypeError(f"§2.13: {signal}(None)")
