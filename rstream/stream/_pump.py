"""The read loop: poll, hand out, and wait when nothing is there. Every face that reads uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rstream.stream._subscriber import Subscriber

T = TypeVar("T")


def batches(
    source: Subscriber[T],
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
        RStreamError: as :meth:`Subscriber.poll`. A new iteration goes on after it.
    """
    while not is_stopped():
        items = source.poll(None if limit is None else limit())
        if items:
            yield items
        elif source.is_ended if is_ended is None else is_ended():
            return
        else:
            source.wait(wait_s)
