"""Waiting for the demand of the readers: the watch, and how two threads share the wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rstream._condition import Event
from rstream._greenlets import check_may_wait
from rstream.errors import ClosedError, DriverError, DriverLost, ForkedError
from rstream.stream._publisher_facts import sending_of

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._publisher import Publisher
    from rstream.stream._reactive._asking import Asker

#: How long on_next waits for demand when nothing is left to send.
PATIENCE_S = 0.001


class Watch:
    """A waiter on the demand of a publisher's readers, renewed when the publisher has joined again.

    One thread at a time attaches and waits; :meth:`wake` and :meth:`leave` from any.
    """

    def __init__(self, publisher: Publisher[Any]) -> None:
        self._publisher = publisher
        self._waiter: _core.Waiter | None = None
        self._session_id: int | None = None

    def attach(self) -> None:
        """Make sure that it watches the publisher's session of now.

        Raises:
            DriverLost: there is none: closed, or the driver was lost.
        """
        publisher = self._publisher
        if not publisher.has_session:
            raise DriverLost(f"{publisher!r}: closed, or its driver was lost")
        if self._waiter is None or publisher.session_id != self._session_id:
            self.leave()
            self._session_id = publisher.session_id
            session = sending_of(publisher).session
            self._waiter = session.link.client.core.waiter()
            self._waiter.attach_demand(session.core)

    def wait(self, timeout_s: float) -> bool:
        """Wait until the readers' demand has changed, or a reader came or went, since
        :meth:`Publisher.demand` was read last. False: not within ``timeout_s``.
        """
        if self._waiter is None or self._publisher.session_id != self._session_id:
            self.attach()
        check_may_wait()
        waiter = self._waiter
        return waiter is not None and waiter.wait(timeout_s)

    def wake(self) -> None:
        """End a wait that is under way. Any thread."""
        waiter = self._waiter
        if waiter is not None:
            waiter.wake()

    def leave(self) -> None:
        """Close the waiter; the next wait makes another one. Any thread."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.close()


class Handover:
    """Which of two threads waits for demand: the one in ``on_next``, or the loop.

    Args:
        watch: the watch of the thread in ``on_next``; None where one thread runs everything: there
            on_next must not wait, because the readers that would ask run in the same thread.
    """

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch
        self._is_waiting = False  # written by the thread in on_next alone
        self._is_hungry = Event()  # on_next has nothing to send: the loop may go on

    def await_demand(self, asker: Asker) -> None:
        """For on_next, when nothing is left to send: wait for demand, at most ``PATIENCE_S``."""
        watch = self._watch
        self._is_waiting = True
        try:
            # ``left`` is read after the flag is set: a later request sees the flag and wakes us.
            is_news = watch is not None and asker.left == 0 and watch.wait(PATIENCE_S)
            self._is_waiting = False
            if is_news:
                asker.ask()
        except (DriverError, ClosedError, ForkedError):
            pass  # the loop, or the next element, deals with it
        finally:
            self._is_waiting = False
        if asker.left == 0:
            self._is_hungry.set()

    def wake(self) -> None:
        """For a thread that has asked the upstream: on_next waits for what was just found."""
        if self._is_waiting and self._watch is not None:
            self._watch.wake()

    def rest(self, timeout_s: float) -> bool:
        """For the loop: wait until on_next has nothing to send. False: it had all the time."""
        is_hungry = self._is_hungry.wait(timeout_s)
        self._is_hungry.clear()
        return is_hungry

    def leave(self) -> None:
        """For the loop, at its end: close the watch of on_next."""
        if self._watch is not None:
            self._watch.leave()
