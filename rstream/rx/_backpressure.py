"""What happens to items that come faster than the observer takes them: one operator per policy.

Each delivers on another thread, so that the source goes on while the observer works. The names
``overflow``, ``key`` and the counts mean the same as in :mod:`rstream.policy`. As behind
:func:`rstream.rx.observe_on_bounded`, what the observer raises disposes the source and reaches
``on_error``; items that wait are delivered before the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rstream import policy
from rstream.rx._drain import through_queue
from rstream.rx._queue import check_capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from reactivex import Observable, abc

T = TypeVar("T")


def on_backpressure_buffer(
    capacity: int,
    *,
    overflow: policy.Overflow = "block",
    scheduler: abc.SchedulerBase | None = None,
    on_lost: Callable[[int], object] | None = None,
) -> Callable[[Observable[T]], Observable[T]]:
    """Up to ``capacity`` items wait; ``overflow`` says what happens beyond.

    Here with ``capacity`` 2 and ``overflow="drop_oldest"``::

        source    -1-2-3-4-5- - - - - - |
                  on_backpressure_buffer(2, overflow="drop_oldest")
        observer   -[1        ][4  ][5  ]|

    Args:
        capacity: most items that wait.
        overflow: ``"block"``: the source waits. ``"drop_newest"``, ``"drop_oldest"``: an item is
            lost. ``"fail"``: ``on_error(SlowConsumer)`` after the items that wait.
        scheduler: delivers; None: a thread of its own, which ends while nothing comes.
        on_lost: called in the thread that emits when items were lost, with their number so far.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        interval.pipe(rx.on_backpressure_buffer(100, overflow="drop_oldest", on_lost=print))
    """
    check_capacity("on_backpressure_buffer", "capacity", capacity)
    return through_queue(
        "on_backpressure_buffer",
        scheduler,
        policy.Buffer(capacity, overflow),
        on_lost=on_lost,
    )


def on_backpressure_drop(
    capacity: int = 1,
    *,
    scheduler: abc.SchedulerBase | None = None,
    on_lost: Callable[[int], object] | None = None,
) -> Callable[[Observable[T]], Observable[T]]:
    """Items that come while ``capacity`` items wait are dropped; the source never waits.

    With ``capacity`` 1::

        source    -1-2-3-4-5- - - |
                   on_backpressure_drop()
        observer   -[1        ][2  ]|

    Args:
        capacity: most items that wait; 1: the first that came while the observer worked.
        scheduler, on_lost: as for :func:`on_backpressure_buffer`.
    Raises:
        ConfigError: ``capacity`` cannot be used.

    Example::

        clicks.pipe(rx.on_backpressure_drop(), ops.map(work))
    """
    check_capacity("on_backpressure_drop", "capacity", capacity)
    return through_queue(
        "on_backpressure_drop", scheduler, policy.DropNewest(capacity), on_lost=on_lost
    )


def on_backpressure_latest(
    *,
    key: Callable[[T], Hashable] | None = None,
    keys_max: int = 65_536,
    scheduler: abc.SchedulerBase | None = None,
    on_lost: Callable[[int], object] | None = None,
) -> Callable[[Observable[T]], Observable[T]]:
    """Only the newest item waits, or the newest of each key; the source never waits.

    Without a key::

        source    -1-2-3-4-5- - - |
                  on_backpressure_latest()
        observer   -[1        ][5  ]|

    Args:
        key: function from item to key. None: all items have one key.
        keys_max: most keys that wait; beyond it the key that has waited longest is dropped.
        scheduler, on_lost: as for :func:`on_backpressure_buffer`.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        ticks.pipe(rx.on_backpressure_latest(key=lambda tick: tick["symbol"]), ops.map(draw))
    """
    return through_queue(
        "on_backpressure_latest", scheduler, policy.Latest(key, keys_max), on_lost=on_lost
    )


def on_backpressure_error(
    capacity: int = 1, *, scheduler: abc.SchedulerBase | None = None
) -> Callable[[Observable[T]], Observable[T]]:
    """Fail when more than ``capacity`` items wait; the source never waits.

    The items that wait are delivered first. With ``capacity`` 1::

        source    -1-2-3
                   on_backpressure_error()
        observer   -[1        ][2  ]X

    Args:
        capacity: most items that wait.
        scheduler: as for :func:`on_backpressure_buffer`.
    Raises:
        ConfigError: ``capacity`` cannot be used. The observer gets ``SlowConsumer``.

    Example::

        ticks.pipe(rx.on_backpressure_error(1000), ops.map(score))
    """
    check_capacity("on_backpressure_error", "capacity", capacity)
    return through_queue("on_backpressure_error", scheduler, policy.Fail(capacity))
