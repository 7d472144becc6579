"""How a sink asks its upstream: the demand of its readers becomes ``request(n)``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rstream.flow.crossing import CrossedDemand
from rstream.flow.sink_states import Asking, AskingEvent, next_asking

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from rstream import abc
    from rstream.stream._publisher import Publisher

#: Readers that do not tell their demand within this time cannot: then the window alone decides.
SILENT_S = 1.0


class Asker:
    """Asks the upstream for what the readers want; any thread, one at a time inside ``request``.

    Args:
        publisher: tells the readers' demand.
        window: most elements requested and not yet sent.
        lock: guards the demand, the upstream and the state of asking. Never held in ``request``.
        on_asked: called after each ``request``, without the lock.
    """

    def __init__(
        self,
        publisher: Publisher[Any],
        window: int,
        lock: threading.RLock,
        on_asked: Callable[[], None],
    ) -> None:
        self._publisher = publisher
        self._lock = lock
        self._on_asked = on_asked
        self._upstream: abc.Subscription | None = None
        self._state = Asking.IDLE
        self._demand = CrossedDemand(window)
        self._session_id = publisher.session_id
        self._silent_since_s: float | None = None

    @property
    def left(self) -> int:
        """Elements requested and not yet sent."""
        return self._demand.left

    @property
    def sent_count(self) -> int:
        """Elements sent since the start."""
        return self._demand.requested - self._demand.left

    def begin(self, upstream: abc.Subscription) -> None:
        """Ask this subscription from now on. Under lock."""
        self._upstream = upstream

    def end(self) -> abc.Subscription | None:
        """Ask no upstream any more; returns the last one. Under lock."""
        upstream, self._upstream = self._upstream, None
        return upstream

    def sent(self, position: int) -> bool:
        """Note that one element was sent; whether :meth:`ask` may find something now.

        Args:
            position: of the stream, in bytes, after the element.
        """
        with self._lock:
            self._note_session()
            self._demand.sent(position)
            return self._demand.is_due() and self._has_more()

    def ask(self) -> None:
        """Request from the upstream until nothing more is wanted. Returns at once when another
        thread is inside ``request``: that one looks again.
        """
        while True:
            with self._lock:
                upstream = self._upstream
                asking = next_asking(self._state, AskingEvent.FOUND)
                if asking is None or upstream is None:
                    return
                count = self._demand.take()
                if count == 0 and self._has_more():
                    self._look()
                    count = self._demand.take()
                if count == 0:
                    return
                self._state = asking
            try:
                upstream.request(count)
                self._on_asked()
            finally:
                with self._lock:
                    self._state = next_asking(self._state, AskingEvent.RETURNED) or Asking.IDLE

    def _has_more(self) -> bool:
        """Whether more may be requested, or a look may find more. Under lock.

        While elements are left to send, a look needs news. With none left it always pays: a change
        that came without news (another thread has looked, one reader took another's place) must not
        wait for ever.
        """
        demand = self._demand
        return demand.left == 0 or self._publisher.has_new_demand or demand.ready > 0

    def _note_session(self) -> None:
        if self._publisher.session_id != self._session_id:
            self._session_id = self._publisher.session_id
            self._demand.restarted()

    def _look(self) -> None:
        """Read what the readers want now. Under lock."""
        told = self._publisher.demand()
        if told is None:
            return  # closed, or without its driver: the loop deals with it
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
