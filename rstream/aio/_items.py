"""The elements of a publisher of this program, such as a hub's, taken in an event loop."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

from rstream import abc
from rstream._checks import is_whole, short
from rstream._condition import Condition
from rstream._waits import FOREVER_S, Bell, News
from rstream.aio._run import Performer, run
from rstream.errors import ConfigError, ContractError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rstream._waits import Steps

T = TypeVar("T")


async def items(publisher: abc.Publisher[T], *, prefetch: int = 16) -> AsyncGenerator[T, None]:
    """Take the elements of a publisher of this program, such as a hub of :mod:`rstream.stages`.

    The publisher may send them in any thread. What it does in ``request`` itself, such as iterating
    over a list, is done in this event loop. A loop that is left cancels the subscription when the
    generator is closed: ``contextlib.aclosing`` does that at once.

    Args:
        publisher: is subscribed to by the first step of the loop.
        prefetch: most elements that wait here.
    Raises:
        ConfigError: an argument cannot be used.
        Exception: with which the publisher ended, after the elements before it.

    Example::

        async for quote in rstream.aio.items(hub):
            print(quote)
    """
    if not isinstance(publisher, abc.Publisher):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"items({short(publisher)}): must be a publisher of Reactive Streams")
    if not is_whole(prefetch) or prefetch < 1:
        raise ConfigError(f"prefetch={prefetch!r}: must be a whole number, 1 or more")
    inbox, perform = _Inbox[T](prefetch), Performer()
    try:
        publisher.subscribe(inbox)
        while await run(inbox.wait_steps(), perform):
            yield inbox.take()
    finally:
        inbox.close()


class _Inbox(abc.Subscriber[T], Generic[T]):
    """What came and was not taken; a :class:`rstream._waits.Listens`."""

    def __init__(self, prefetch: int) -> None:
        self._prefetch = prefetch
        self._changed = Condition()
        self._waiting: deque[T] = deque()
        self._subscription: abc.Subscription | None = None
        self._error: Exception | None = None
        self._is_over = False
        self._taken = 0  # since the last request
        self.watched = Bell(self._changed, self.is_ready)

    # ---- the publisher's thread ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        with self._changed:
            is_wanted = self._subscription is None and not self._is_over
            if is_wanted:
                self._subscription = subscription
        if is_wanted:
            subscription.request(self._prefetch)
        else:
            subscription.cancel()

    def on_next(self, item: T) -> None:
        with self._changed:
            is_too_much = len(self._waiting) >= self._prefetch
            if not (is_too_much or self._is_over):
                self._waiting.append(item)
                self.watched.wake()
        if is_too_much:
            self.on_error(ContractError("§1.1: the publisher sent more than was requested"))

    def on_error(self, error: Exception) -> None:
        with self._changed:
            if not self._is_over:
                self._error, self._is_over = error, True
                self.watched.wake()

    def on_complete(self) -> None:
        with self._changed:
            self._is_over = True
            self.watched.wake()

    # ---- the loop ----

    def is_ready(self) -> bool:
        return bool(self._waiting) or self._is_over

    def wait(self, timeout_s: float | None = None) -> bool:
        raise NotImplementedError  # an event loop watches it

    def wake(self) -> None:
        with self._changed:
            self.watched.wake()

    def wait_steps(self) -> Steps[bool]:
        """Wait for an element. False: there will be none."""
        while not self._waiting:
            if self._error is not None:
                raise self._error
            if self._is_over:
                return False
            yield News(self, FOREVER_S)
        return True

    def take(self) -> T:
        """The next element; half of the prefetch is requested at a time."""
        item = self._waiting.popleft()
        self._taken += 1
        subscription = self._subscription
        if 2 * self._taken >= self._prefetch and subscription is not None and not self._is_over:
            requested, self._taken = self._taken, 0
            subscription.request(requested)
        return item

    def close(self) -> None:
        """Cancel, and forget what is here."""
        with self._changed:
            was_over, self._is_over = self._is_over, True
            self._waiting.clear()
        if not was_over and self._subscription is not None:
            self._subscription.cancel()
        self.watched.close()
