"""The elements of a Reactive Streams publisher as the answers to one request."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

from rstream import abc
from rstream._checks import check_subscription
from rstream._waits import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rstream.service._asked import Asked

#: Most elements requested and not answered yet, however many the caller has asked for.
AHEAD: Final = 64
#: Elements requested at once, unless the caller wants fewer.
STEP: Final = AHEAD // 4
#: Most seconds that a closing server gives its callers to take what publishers have for them.
DRAIN_S: Final = 5.0
#: A publisher that has given nothing for so many seconds has nothing more just now.
QUIET_S: Final = 0.05


class PublishedAnswers(abc.Subscriber[Any]):
    """An iterator over a publisher's elements, which never waits: look at :meth:`may_make` first.

    The publisher is subscribed to by :meth:`begin`, when its owner can close this. It is asked for
    what the caller wants, at most ``AHEAD`` elements at a time; so many are held at most. The end
    needs no demand. Signals come from any thread, everything else from the one that serves.

    Args:
        publisher: whose elements.
        wake: is called, from any thread, when something can be made again.
    """

    def __init__(self, publisher: abc.Publisher[Any], wake: Callable[[], object]) -> None:
        self._publisher = publisher
        self._wake = wake
        self._items: deque[Any] = deque()
        self._subscription: abc.Subscription | None = None
        self._is_closed = self._is_ended = False
        self._error: Exception | None = None
        self._requested = self._taken = 0

    # ---- signals ----

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        check_subscription(subscription)
        if self._subscription is not None or self._is_closed:
            subscription.cancel()  # §2.5
            return
        self._subscription = subscription
        self._wake()

    def on_next(self, item: Any) -> None:
        if item is None:
            raise TypeError("§2.13: on_next(None)")
        if self._is_closed:
            return  # §2.8
        self._items.append(item)
        if len(self._items) == 1:
            self._wake()

    def on_error(self, error: Exception) -> None:
        if error is None:  # pyright: ignore[reportUnnecessaryComparison] - §2.13
            raise TypeError("§2.13: on_error(None)")
        self._error = error
        self.on_complete()

    def on_complete(self) -> None:
        self._is_ended = True
        self._wake()

    # ---- for the thread that serves ----

    def begin(self) -> None:
        """Subscribe to the publisher, once."""
        self._publisher.subscribe(self)

    def may_make(self, asked: Asked) -> bool:
        """Whether the next answer, or the end, is here and may be sent. Asks for more."""
        if self._items:
            return asked.may_make
        if self._is_ended:  # written after the last element
            return not self._items or asked.may_make
        self._ask(asked.granted)
        return bool(self._items) and asked.may_make

    def _ask(self, granted: int) -> None:
        subscription = self._subscription
        if subscription is None:
            return
        missing = min(granted, self._taken + AHEAD) - self._requested
        if missing >= STEP or (missing > 0 and self._requested + missing == granted):
            self._requested += missing
            subscription.request(missing)

    def __next__(self) -> Any:
        if self._items:
            self._taken += 1
            return self._items.popleft()
        error, self._error = self._error, None
        if error is not None:
            raise error
        raise StopIteration

    def close(self) -> None:
        """Cancel, and drop what was not answered."""
        self._is_closed = True
        subscription = self._subscription
        if subscription is not None and not self._is_ended:
            subscription.cancel()
        self._items.clear()


def answers_of(result: Any, wake: Callable[[], object]) -> Any:
    """What makes the answers of a stream: the iterator that the function has returned, or one over
    the elements of its publisher, which is to :meth:`~PublishedAnswers.begin`.
    """
    if isinstance(result, abc.Publisher):
        return PublishedAnswers(cast("abc.Publisher[Any]", result), wake)
    return result


def may_make(answers: object, asked: Asked) -> bool:
    """Whether the next answer may be made now."""
    if isinstance(answers, PublishedAnswers):
        return answers.may_make(asked)
    return asked.may_make


class Draining:
    """How long a closing server goes on with the answers of publishers.

    A publisher that has ended still owes its callers the last elements and the end. Whether it has
    ended does not show while a stage before it holds an element. So a server goes on while anything
    comes, while a caller must first ask for more, and ``DRAIN_S`` at most.
    """

    def __init__(self) -> None:
        self._deadline = Deadline(DRAIN_S)
        self._changed_s = time.monotonic()
        self._seen = (-1, -1, -1)

    def goes_on(self, streams: Sequence[Asked]) -> bool:
        """Whether to go on.

        Args:
            streams: the requests that publishers answer, and have not answered in full.
        """
        now_s = time.monotonic()
        made, granted = sum(one.made for one in streams), sum(one.granted for one in streams)
        if (len(streams), made, granted) != self._seen:
            self._seen, self._changed_s = (len(streams), made, granted), now_s
        is_owed = any(not (asked.is_cancelled or asked.may_make) for asked in streams)
        is_quiet = now_s - self._changed_s >= QUIET_S
        return bool(streams) and not self._deadline.is_over and (is_owed or not is_quiet)
