"""Joining again, and whatever else is tried until it works, in steps (:mod:`rstream._waits`)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rstream._session._links import exchange, release
from rstream._waits import Deadline, Pause, Work
from rstream.errors import DriverError, DriverLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._session._links import Link
    from rstream._waits import Steps

T = TypeVar("T")

log = logging.getLogger("rstream")

#: How long an endpoint that joins again tries to reach a living driver.
REJOIN_TIMEOUT_S = 30.0


def _is_open() -> bool:
    return False


@dataclass(frozen=True)
class Patience:
    """After which errors something is tried again, how soon, and for how long.

    Attributes:
        errors: the class of those errors; others end the attempts.
        pause_s: pause before the next attempt.
        timeout_s: a failure that comes later is the last one.
        unless: a class of errors among them that end the attempts.
    """

    errors: type[Exception] = DriverError
    pause_s: float = 0.1
    timeout_s: float = REJOIN_TIMEOUT_S
    unless: type[Exception] | None = None

    def try_steps(
        self,
        attempt: Callable[[], T],
        *,
        is_closing: Callable[[], bool] = _is_open,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> Steps[T]:
        """Try until it works; the result is that of the attempt.

        Args:
            attempt: one attempt, which may block.
            is_closing: whether a failure is the last one all the same.
            on_failure: is told of each failure after which it goes on.
        Raises:
            Exception: of the last attempt.
        """
        deadline = Deadline(self.timeout_s)
        while True:
            try:
                return (yield Work(attempt))
            except self.errors as error:
                is_hopeless = self.unless is not None and isinstance(error, self.unless)
                if is_hopeless or deadline.is_over or is_closing():
                    raise
                if on_failure is not None:
                    on_failure(error)
            yield Pause(self.pause_s)


PATIENCE = Patience()


class Session:
    """An endpoint's hold on a client, and the next one when the driver was lost.

    An endpoint calls :meth:`lost`, and then performs :meth:`join_steps` with two functions of its
    own: one that opens it with a client, and one that is told that it has joined. No function is
    kept here: an endpoint that nobody refers to any more must be freed at once.

    Args:
        link: the hold of now.
        patience: how it tries.
        tell: the log; gets a text and its arguments.

    Attributes:
        link: as given; another one after :meth:`join_steps`.
        joins: how often it has joined again.
    """

    def __init__(
        self,
        link: Link,
        patience: Patience = PATIENCE,
        tell: Callable[..., object] = log.warning,
    ) -> None:
        self.link = link
        self.joins = 0
        self._patience = patience
        self._tell = tell

    @property
    def directory(self) -> str:
        """The driver directory."""
        return self.link.directory

    @property
    def may_join_again(self) -> bool:
        """Whether the client is the process's, which is made anew; not the caller's own."""
        return self.link.is_shared

    def lost(self, title: str, error: Exception | None = None) -> str:
        """Note that the driver was lost, before joining again; returns why.

        Args:
            title: the endpoint, for people.
            error: tells of it; None: nothing has been raised.
        Raises:
            Exception: ``error``, or DriverLost: it may not join again.
        """
        if not self.may_join_again:
            raise error or DriverLost(
                f"{title}: the driver was lost, and the caller's own client cannot join again"
            )
        why = self.link.why_lost
        self._tell("%s: %s; joining again", title, why)
        return why

    def join_steps(
        self,
        open: Callable[[Link], object],
        on_joined: Callable[[], object] | None = None,
        *,
        title: str,
        is_closing: Callable[[], bool] = _is_open,
    ) -> Steps[None]:
        """Join again by a driver that lives; it is started if need be.

        Args:
            open: opens the endpoint, once for each attempt.
            on_joined: tells of it when that has worked. Both run in one call, which may be one of
                another thread: it goes on when the caller that waits for it is cancelled.
            title: the endpoint, for people.
            is_closing: whether there is no sense in going on.
        Raises:
            Exception: of the last attempt.
        """
        joins = self.joins

        def attempt() -> None:
            if self.joins != joins:
                return  # another thread has joined during a pause
            link = exchange(self.link)
            try:
                open(link)
            finally:
                self.link = link  # not before: other threads must not take it for joined
            self.joins += 1
            if on_joined is not None:
                on_joined()

        def on_failure(error: Exception) -> None:
            self._tell("%s: not yet back: %s", title, error)

        return self._patience.try_steps(attempt, is_closing=is_closing, on_failure=on_failure)

    def release(self) -> None:
        """Let go of the client. It may be called again."""
        release(self.link)
