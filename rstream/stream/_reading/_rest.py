"""What was polled and not handed out yet, and how much of the last poll the program was given.

Whoever polls sets the fields, those that belong together side by side, without a call between
(docs/explanation/architecture.md, "Signal handlers that raise"). So they are not hidden behind
methods.
"""

from __future__ import annotations

from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("NOTHING", "Rest")

T = TypeVar("T")

NOTHING: Final[Iterator[Any]] = iter(())


class Rest(Generic[T]):
    """The rest of the last poll. It stays when a loop is left, or a poll interrupted.

    Args:
        in_hand: as the attribute.

    Attributes:
        left: the objects that were not handed out.
        end: how many objects the poll had.
        base: how many of them were handed out before the last call.
        polled: all of them in the list of the poll, if none was handed out; None: it is not kept.
        is_given: whether what was handed out since then is consumed at a close. A caller of
            ``poll_held`` says itself what is: with ``consume``, or by setting this.
        in_hand: objects that a loop has handed out and that do not count as consumed when it is
            left: 0 or 1.
    """

    __slots__ = ("base", "end", "in_hand", "is_given", "left", "polled")

    def __init__(self, in_hand: int = 0) -> None:
        self.left: Iterator[T] = NOTHING
        self.end: int = 0
        self.base: int = 0
        self.polled: list[T] | None = None
        self.is_given: bool = True
        self.in_hand: int = in_hand

    def has_some(self) -> bool:
        """Whether something was polled and not handed out."""
        return length_hint(self.left) > 0

    def handed_out(self) -> int:
        """How many objects were handed out since the last call of a poll, or of :meth:`take`."""
        return self.end - self.base - length_hint(self.left)

    def given(self) -> int:
        """How many of these are consumed when the stream is left now."""
        return self.handed_out() - self.in_hand if self.is_given else 0

    def put(self, items: list[T]) -> None:
        """Note what a loop has polled, before it hands out the first object."""
        left, end = iter(items), self.base + len(items)
        self.left, self.end, self.is_given = left, end, True

    def take(self, limit: int) -> list[T]:
        """Hand out up to so many objects, which the caller of the poll counts."""
        polled = self.polled
        if polled is not None and len(polled) <= limit:
            self.polled, self.left, self.is_given = None, NOTHING, False
            return polled
        base = self.end - length_hint(self.left)
        chosen = islice(self.left, limit)
        self.base, self.polled, self.is_given = base, None, False
        return [*chosen]  # no signal handler runs before the return

    def drop_used(self) -> None:
        """Forget the objects of the last poll if a loop has handed out all of them."""
        if not self.has_some():
            self.left = NOTHING

    def use_up(self) -> None:
        """Hand nothing more out: a loop that goes on ends."""
        for _ in self.left:
            pass
