"""The read loop: poll, hand out, and wait when nothing is there. Every face that reads uses it.

What a loop was given counts as consumed when it asks for more, not before: a reader that dies loses
nothing that it has not been given, and ``wait_consumed`` of a publisher waits for the loop.
"""

from __future__ import annotations

from itertools import islice
from operator import length_hint
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from rstream.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rstream.stream._reading._reading import Reading

T = TypeVar("T")

#: A loop over items counts them in parts. A part is as many as the loop handles in PART_S seconds:
#: a slow loop counts each item, so that its driver sees how fast it is, and a fast one whole polls.
PART_S: Final = 0.002
PART_FIRST: Final = 32
PART_MOST: Final = 256
#: A part is at most so many times as long as the one before.
PART_GROWTH: Final = 4


def next_part(part: int, took_s: float, *, aim_s: float = PART_S, most: int = PART_MOST) -> int:
    """Objects of the next part, when the loop took so many seconds for one of ``part`` objects."""
    wanted = part * aim_s / max(took_s, 1e-9)
    return int(max(1, min(wanted, PART_GROWTH * part, most)))


def batches(
    source: Reading[T],
    is_stopped: Callable[[], bool],
    *,
    limit: Callable[[], int | None] | None = None,
    is_ended: Callable[[], bool] | None = None,
    wait_s: float | None = None,
) -> Iterator[list[T]]:
    """Iterate over what each poll returns, empty polls left out; waits while nothing is there.

    The caller handles one batch before the next poll, so its slowness is the back-pressure. Runs in
    the thread that iterates.

    Args:
        source: what is read.
        is_stopped: looked at before each poll; True ends the iteration. Code that makes it true
            calls ``source.wake()``.
        limit: asked before each poll for the most objects of it; None: the source's ``prefetch``.
        is_ended: asked after an empty poll; True ends the iteration. None: ``source.is_ended``.
        wait_s: most seconds of one wait; None: as long as it takes.
    Raises:
        RStreamError: as :meth:`rstream.stream.Subscriber.poll`. A new iteration goes on after it.
    """
    while not is_stopped():
        try:
            items = source.take_rest(source.prefetch)
            if not items:
                # What it returns is handed out: no signal handler runs before the yield.
                items = source.poll_held(None if limit is None else limit())
            if not items:
                if source.is_ended if is_ended is None else is_ended():
                    return
                source.wait(wait_s)
                continue
        except ClosedError:  # another thread or a signal handler has just closed it
            if is_stopped():
                return
            raise
        source.rest.is_given = True
        try:
            yield items
        finally:  # also when the loop is left: it was given all of them
            source.consume(len(items))


def items(
    source: Reading[T],
    is_stopped: Callable[[], bool],
    *,
    limit: Callable[[], int | None] | None = None,
    is_ended: Callable[[], bool] | None = None,
    wait_s: float | None = None,
) -> Iterator[T]:
    """Iterate over single objects; the rest as :func:`batches`.

    When the iteration is left, the objects that it has not handed out stay with the source: the
    next iteration, poll or, after a close, the next reader begins with them.
    """
    part = 0  # not known yet: a quarter of the first poll
    rest = source.rest
    while not is_stopped():
        left = rest.left
        if length_hint(left) == 0:
            # Nothing here may refer to objects that were handed out: a view holds its publisher.
            rest.drop_used()
            del left
            try:
                source.fill(None if limit is None else limit())
                left = rest.left
                if length_hint(left) == 0:
                    if source.is_ended if is_ended is None else is_ended():
                        return
                    source.wait(wait_s)
                    continue
            except ClosedError:  # as in batches
                if is_stopped():
                    return
                raise
        part = part or max(1, min(PART_FIRST, length_hint(left) // PART_GROWTH, source.part_most))
        counted_s = monotonic()
        # In this generator, not in one below it, which would cost 20 ns for each item.
        try:
            while length_hint(left) > 0 and not is_stopped():
                yield from islice(left, part)
                now_s = monotonic()
                part = next_part(part, now_s - counted_s, most=source.part_most)
                counted_s = now_s
                source.consume(rest.handed_out())
        except GeneratorExit:  # the loop is left
            source.consume(rest.handed_out() - rest.in_hand)
            rest.drop_used()
            raise
