"""What the function of a server can learn about the request that it works on."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING

from rstream.errors import DriverError, RequestTimeout, RStreamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.service._asked import Asked

_current: ContextVar[tuple[Asked, Callable[[], object] | None]] = ContextVar("rstream_served_call")


class ServedCall:
    """The request that a server's function works on; :func:`current_call` returns it.

    It belongs to the thread or task of the function.
    """

    __slots__ = ("_asked", "_look")

    def __init__(self, asked: Asked, look: Callable[[], object] | None = None) -> None:
        self._asked = asked
        self._look = look

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for the answer: the caller gave it up, or it has gone, or its
        time-out has passed. Once True, nothing that the function returns is sent. Cost: some
        microseconds.
        """
        asked = self._asked
        if not asked.is_cancelled and self._look is not None:
            try:
                self._look()
            except DriverError:
                asked.is_cancelled = True
        if self.remaining_s <= 0:
            asked.is_cancelled = True  # what the function returns now is no answer
        return asked.is_cancelled

    @property
    def remaining_s(self) -> float:
        """Seconds until the caller gives up; infinite without a time-out, 0 when it has."""
        deadline_s = self._asked.deadline_s
        return float("inf") if deadline_s is None else max(0.0, deadline_s - time.monotonic())

    def raise_if_cancelled(self) -> None:
        """End the function if nobody waits for its answer.

        Raises:
            RequestTimeout: nobody does. It goes to nobody; let it pass.
        """
        if self.is_cancelled:
            raise RequestTimeout("the caller has given this request up")


def current_call() -> ServedCall:
    """The request that this function of a server works on.

    Raises:
        RStreamError: called elsewhere.

    Example::

        @rstream.serve("search")
        def search(query):
            for part in parts:
                rstream.service.current_call().raise_if_cancelled()
                ...
    """
    try:
        return ServedCall(*_current.get())
    except LookupError:
        raise RStreamError(
            "current_call() is for the function of a server, while it answers"
        ) from None


def set_current(asked: Asked, look: Callable[[], object] | None = None) -> None:
    """Note what this thread or task works on from now on."""
    _current.set((asked, look))
