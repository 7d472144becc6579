"""Taking from a source in rounds, between two marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rstream import policy
from rstream._checks import is_whole
from rstream.errors import ConfigError
from rstream.rx._drain import through_queue
from rstream.rx._queue import check_capacity

if TYPE_CHECKING:
    from collections.abc import Callable

    from reactivex import Observable, abc

T = TypeVar("T")


def limit_rate(
    high: int, low: int | None = None, *, scheduler: abc.SchedulerBase | None = None
) -> Callable[[Observable[T]], Observable[T]]:
    """Let the source emit until ``high`` items wait, and again when only ``low`` are left.

    Here with ``high`` 4 and ``low`` 1::

        source    -1234- - - - - - -567- - - - - - -89..
                           limit_rate(4, 1)
        observer   -[1 ][2 ][3 ][4 ][5 ][6 ][7 ][8 ]..

    So the source works in rounds of ``high - low`` items and rests between them. The observer is
    called on another thread, as by :func:`observe_on_bounded`; order, end and errors are the same.

    Args:
        high: most items that wait.
        low: a source that waits goes on when so few are left; None: a quarter of ``high``.
        scheduler: delivers; None: a thread of its own, which ends while nothing comes.
    Raises:
        ConfigError: not ``0 <= low < high``.

    Example::

        rx.from_stream("ticks").pipe(rx.limit_rate(1000, 100), ops.map(score))
    """
    check_capacity("limit_rate", "high", high)
    left = high // 4 if low is None else low
    if not is_whole(left) or not 0 <= left < high:
        raise ConfigError(f"limit_rate: low={low!r}: must be at least 0, and less than high={high}")
    return through_queue("limit_rate", scheduler, policy.Buffer(high), low=left)
