"""The stages as users write them: each returns a function from publisher to publisher."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from rstream import abc, policy
from rstream._checks import check_function, check_publisher, check_seconds, is_whole
from rstream.errors import ConfigError
from rstream.flow.policies import queue_of
from rstream.flow.spacing import Spacing
from rstream.stages._checkpoint import Checkpoint
from rstream.stages._clock import Clock, SystemClock
from rstream.stages._link import Stage
from rstream.stages._logics import Batching, Queued, Throttling

if TYPE_CHECKING:
    from rstream.policy import Overflow

__all__ = (
    "Buffered",
    "batch",
    "batch_weighted",
    "buffer",
    "checkpoint",
    "conflate",
    "pipe",
    "throttle",
)

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")

#: A stage before it has an upstream.
Step: TypeAlias = Callable[[abc.Publisher[A]], abc.Publisher[B]]


@overload
def pipe(source: abc.Publisher[A], one: Step[A, B], /) -> abc.Publisher[B]: ...
@overload
def pipe(source: abc.Publisher[A], one: Step[A, B], two: Step[B, C], /) -> abc.Publisher[C]: ...
@overload
def pipe(
    source: abc.Publisher[A], one: Step[A, B], two: Step[B, C], three: Step[C, D], /
) -> abc.Publisher[D]: ...
@overload
def pipe(
    source: abc.Publisher[A],
    one: Step[A, B],
    two: Step[B, C],
    three: Step[C, D],
    four: Step[D, E],
    /,
) -> abc.Publisher[E]: ...
@overload
def pipe(source: abc.Publisher[Any], /, *steps: Step[Any, Any]) -> abc.Publisher[Any]: ...
def pipe(source: abc.Publisher[Any], /, *steps: Step[Any, Any]) -> abc.Publisher[Any]:
    """The source behind all steps, the first one nearest to it.

    Nothing runs before somebody subscribes. Any function from publisher to publisher is a step.

    Example::

        stages.pipe(source, stages.buffer(1024), stages.batch(100, within_s=0.1)).subscribe(sink)

    Raises:
        TypeError: the source is no publisher, or a step no function.
    """
    check_publisher("pipe", source)
    for number, step in enumerate(steps, 1):
        check_function(f"pipe: step {number}", step)
        source = step(source)
    return source


def _count(name: str, value: int, least: int = 1) -> int:
    if not is_whole(value) or value < least:
        raise ConfigError(f"{name}={value!r}: must be a whole number, at least {least}")
    return value


def _within_ns(within_s: float | None) -> int | None:
    if within_s is None:
        return None
    check_seconds("within_s", within_s)
    if not 0 <= within_s < math.inf:
        raise ConfigError(f"within_s={within_s!r}: must be 0 or more seconds, or None")
    return round(within_s * 1e9)


def _clocks(clock: Clock | None) -> Callable[[], Clock]:
    """The clock that was given, or a new one for each subscriber."""
    return SystemClock if clock is None else lambda: clock


class Buffered(Stage[T, T]):
    """A publisher behind :func:`buffer`, with a count of what was dropped."""

    def __init__(self, upstream: abc.Publisher[T], on_slow: policy.Buffer) -> None:
        self._lock = threading.Lock()
        self._dropped = 0
        super().__init__(
            upstream,
            lambda: Queued(on_slow, self._note),
            SystemClock,
            "buffer",
        )

    def _note(self, count: int) -> None:
        with self._lock:
            self._dropped += count

    @property
    def dropped(self) -> int:
        """Elements dropped so far, for all subscribers together."""
        return self._dropped


def buffer(
    capacity: int, *, overflow: Overflow = "block"
) -> Callable[[abc.Publisher[T]], Buffered[T]]:
    """Let upstream be up to ``capacity`` elements ahead of downstream.

    Args:
        capacity: most elements that wait, for each subscriber.
        overflow: what happens when it is full. ``"block"`` (default): upstream is asked for no
            more. The others ask upstream for everything at once: ``"drop_newest"`` and
            ``"drop_oldest"`` drop elements and count them (:attr:`Buffered.dropped`), ``"fail"``
            ends with :class:`rstream.errors.SlowConsumer` behind the elements that wait.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        stages.pipe(source, stages.buffer(1024, overflow="drop_oldest"))
    """
    _count("capacity", capacity)
    on_slow = policy.Buffer(capacity, overflow)
    queue_of(on_slow)  # refuses an unknown overflow now, not at the first subscriber
    return lambda upstream: Buffered(upstream, on_slow)


def conflate(
    merge: Callable[[T, T], T],
) -> Callable[[abc.Publisher[T]], abc.Publisher[T]]:
    """Merge the elements that come while downstream is busy into one.

    Upstream is asked for everything; at most one element waits. Downstream gets an element that
    nothing was merged into as it is.

    Args:
        merge: ``merge(waiting, new)`` returns the element that waits from then on. If it raises,
            the stream ends with that error.

    Example::

        stages.pipe(ticks, stages.conflate(lambda old, new: new))  # only the newest one
    """
    on_slow = policy.Conflate(merge)
    queue_of(on_slow)  # refuses what is no function now
    return lambda upstream: Stage(
        upstream,
        lambda: Queued(on_slow),
        SystemClock,
        "conflate",
    )


def batch(
    count_max: int, *, within_s: float | None = 0.0, clock: Clock | None = None
) -> Callable[[abc.Publisher[T]], abc.Publisher[list[T]]]:
    """Gather elements into lists; one list is one element downstream.

    Args:
        count_max: most elements of a list. As many wait at most, for each subscriber.
        within_s: how long an element waits for others, in seconds. 0 (default): a list goes out as
            soon as downstream wants one, with what has come meanwhile. None: only full lists go
            out, except the last one.
        clock: measures ``within_s``; None: the real time.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        stages.pipe(rows, stages.batch(500, within_s=0.2))  # for a bulk insert
    """
    _count("count_max", count_max)
    within_ns = _within_ns(within_s)
    return lambda upstream: Stage(
        upstream, lambda: Batching[T](count_max, within_ns), _clocks(clock), "batch"
    )


def batch_weighted(
    weight_max: float,
    weight: Callable[[T], float],
    *,
    count_max: int = 1024,
    within_s: float | None = 0.0,
    clock: Clock | None = None,
) -> Callable[[abc.Publisher[T]], abc.Publisher[list[T]]]:
    """As :func:`batch`, but a list also weighs at most ``weight_max``.

    An element that weighs more goes out alone.

    Args:
        weight_max: most weight of a list, above 0.
        weight: the weight of an element, 0 or more. If it raises, the stream ends with that error.
        count_max: most elements of a list. As many wait at most, whatever they weigh.
        within_s: as for :func:`batch`.
        clock: measures ``within_s``; None: the real time.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        stages.pipe(blobs, stages.batch_weighted(1 << 20, len))  # lists of at most 1 MiB
    """
    given: Any = weight_max  # untyped callers
    if not isinstance(given, Real) or not weight_max > 0:
        raise ConfigError(f"weight_max={weight_max!r}: must be a number above 0")
    _count("count_max", count_max)
    within_ns = _within_ns(within_s)
    return lambda upstream: Stage(
        upstream,
        lambda: Batching(count_max, within_ns, weight, weight_max),
        _clocks(clock),
        "batch_weighted",
    )


def throttle(
    per_s: float, *, burst: int = 1, clock: Clock | None = None
) -> Callable[[abc.Publisher[T]], abc.Publisher[T]]:
    """Let at most ``per_s`` elements a second pass; upstream waits.

    In any ``d`` seconds at most ``per_s * d + burst`` elements pass.

    Args:
        per_s: elements per second, above 0.
        burst: elements that may pass at once after a pause. As many wait at most, for each
            subscriber.
        clock: the time; None: the real one. Elements that waited come from its thread.
    Raises:
        ConfigError: an argument cannot be used.

    Example::

        stages.pipe(requests, stages.throttle(50, burst=10))  # an API that allows 50 a second
    """
    check_seconds("per_s", per_s)
    if not 0 < per_s < math.inf:
        raise ConfigError(f"per_s={per_s!r}: must be elements per second, above 0")
    _count("burst", burst)
    return lambda upstream: Stage(
        upstream, lambda: Throttling[T](Spacing(per_s, burst), burst), _clocks(clock), "throttle"
    )


def checkpoint(name: str) -> Callable[[abc.Publisher[T]], abc.Publisher[T]]:
    """Note on every error that it passed here; everything else passes as it is.

    The note shows below the traceback (``error.__notes__``), as
    ``passed checkpoint 'prices parsed'``.

    Args:
        name: says where, for people.

    Example::

        stages.pipe(source, parse, stages.checkpoint("prices parsed"), stages.batch(100))
    """
    return lambda upstream: Checkpoint(upstream, name)
