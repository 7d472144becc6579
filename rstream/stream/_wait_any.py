"""One thread that reads several streams: wait until one of the subscribers has something."""

from __future__ import annotations

import select
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from rstream._checks import check_timeout
from rstream.errors import ClosedError, ConfigError, DriverLost
from rstream.stream._reader import reading_of
from rstream.stream._subscriber import Subscriber

if TYPE_CHECKING:
    from collections.abc import Sequence

AnySubscriber = TypeVar("AnySubscriber", bound=Subscriber[Any])

#: Longest sleep, so that a subscriber whose descriptor another thread has just closed is noticed.
SLICE_S = 0.5


def wait_any(
    subscribers: Iterable[AnySubscriber], timeout_s: float | None = None
) -> list[AnySubscriber]:
    """Wait until a poll of at least one subscriber may find something, and return those.

    A subscriber that has ended or was closed is always returned, so take it out of the list then;
    otherwise the call never waits again. A poll of a returned subscriber may still find nothing.

    One thread waits for a subscriber or reads it; any thread may close it or call its ``wake``.

    Args:
        subscribers: what :func:`rstream.subscriber` or :func:`rstream.stream.reader` returned; of a
            Ray endpoint its ``source``.
        timeout_s: most seconds to wait; None: as long as it takes. 0: only look.
    Returns:
        Those that are ready, in the order given; empty: none within ``timeout_s``.
    Raises:
        ConfigError: there is no subscriber to wait for, or a bad ``timeout_s``.
        TypeError: an object that is no subscriber; or one alone, not in a list.

    Example::

        reading = [rstream.subscriber("ticks"), rstream.subscriber("news")]
        while reading:
            for sub in rstream.wait_any(reading):
                try:
                    for item in sub.poll():
                        print(sub.name, item)
                except rstream.PublisherLost as error:
                    print(error)
                    sub.close()
                if sub.is_ended or sub.is_closed:
                    sub.close()
                    reading.remove(sub)
    """
    check_timeout(timeout_s)
    if isinstance(subscribers, Subscriber):  # iterable too: its messages would be taken
        raise TypeError("wait_any waits for a list of subscribers: wait_any([subscriber])")
    if not isinstance(subscribers, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _no_subscriber(subscribers)
    waiting = list(subscribers)
    _check(waiting)
    deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
        ready = _wait_once(waiting, left_s)
        if ready or left_s == 0:
            return ready
        for subscriber in waiting:
            with suppress(ClosedError, DriverLost):  # the next turn finds it ready
                reading_of(subscriber).note_quiet()


def _check(waiting: Sequence[object]) -> None:
    for subscriber in waiting:
        if not isinstance(subscriber, Subscriber):
            raise _no_subscriber(subscriber)
    if not waiting:
        raise ConfigError("wait_any: no subscribers were given, so the wait would never end")


def _no_subscriber(given: object) -> TypeError:
    return TypeError(
        "wait_any waits for a list of subscribers, as rstream.subscriber() makes them, not for "
        f"{type(given).__module__}.{type(given).__qualname__}"
    )


def _wait_once(waiting: list[AnySubscriber], left_s: float | None) -> list[AnySubscriber]:
    """Those that are ready now, or after one sleep of at most ``left_s`` seconds."""
    watched: list[tuple[AnySubscriber, int | None]] = []
    poller = select.poll()
    sleep_s = SLICE_S if left_s is None else min(SLICE_S, left_s)
    try:
        for subscriber in waiting:
            descriptor = _descriptor_of(subscriber)
            watched.append((subscriber, descriptor))
            if descriptor is None:
                sleep_s = 0.0
            else:
                poller.register(descriptor, select.POLLIN)
                sleep_s = min(sleep_s, reading_of(subscriber).patience_s())
        rung = {descriptor for descriptor, _ in poller.poll(sleep_s * 1000)}
    finally:
        for subscriber, descriptor in watched:
            if descriptor is not None:
                with suppress(ClosedError, DriverLost):
                    reading_of(subscriber).watched.disarm()
    return [sub for sub, descriptor in watched if descriptor is None or descriptor in rung]


def _descriptor_of(subscriber: Subscriber[Any]) -> int | None:
    """What to watch until the subscriber is ready; None: it is ready."""
    reading = reading_of(subscriber)
    try:
        if reading.is_closed or reading.is_ended or reading.is_ready():
            return None
        watched = reading.watched
        return None if watched.arm() else watched.fileno()
    except (ClosedError, DriverLost):
        return None  # the next poll says so, or joins again
