"""``observe_on`` with a bounded queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rstream import policy
from rstream.rx._drain import through_queue
from rstream.rx._queue import check_capacity
from rstream.rx._schedulers import check_scheduler

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactivex import Observable, abc

T = TypeVar("T")


def observe_on_bounded(
    scheduler: abc.SchedulerBase, capacity: int
) -> Callable[[Observable[T]], Observable[T]]:
    """Deliver items on a scheduler; at most ``capacity`` wait, then the source waits.

    Here ``capacity`` is 2 and the observer is slow, so that 4 comes when 1 is done::

        source    -1-2-3- - - - 4- - - - 5--|
                       observe_on_bounded(s, 2)
        observer  -[1    ][2    ][3    ][4    ][5    ]|

    RxPY's own ``observe_on`` queues without a limit. All items arrive, in order, then the end.
    Those that wait when the subscription is disposed are dropped here, and the next reader of the
    stream begins with them: they do not count as consumed.

    Args:
        scheduler: any of RxPY. An ``EventLoopScheduler`` keeps one thread, until its ``dispose()``,
            or while it has something to do (``exit_if_empty=True``). A loop, such as that of
            asyncio, gets its turn after 64 items.
        capacity: most items that wait, at least 1.
    Raises:
        ConfigError: ``capacity`` cannot be used.
        TypeError: no scheduler.

    Threads: the thread that emits waits while the queue is full, also where it is that of an event
    loop. Where it is the thread of ``scheduler`` itself, in virtual time too, it delivers the
    oldest item instead. What the observer raises disposes the source and reaches ``on_error``, not
    the thread that emits.

    Example::

        rx.from_stream("ticks").pipe(rx.observe_on_bounded(EventLoopScheduler(), 1000))
    """
    check_scheduler("observe_on_bounded", scheduler)
    check_capacity("observe_on_bounded", "capacity", capacity)
    return through_queue("observe_on_bounded", scheduler, policy.Buffer(capacity))
