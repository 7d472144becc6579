"""What a reader of shared work hands out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from rstream.errors import ClosedError, RStreamError

if TYPE_CHECKING:
    from rstream.work._taking import Taking

__all__ = ("Job",)

T = TypeVar("T")


class Job(Generic[T]):
    """One message for one reader.

    Thread rule: any thread.

    Attributes:
        item: the object.
        delivery: 1: given to a reader for the first time. More: it may have been given to one
            before, which died, left, or gave it back.
    """

    __slots__ = ("_is_done", "_lane", "_number", "_owner", "delivery", "item")

    def __init__(self, owner: Taking[T], item: T, delivery: int, lane: int, number: int) -> None:
        self.item: T = item
        self.delivery: int = delivery
        self._owner: Taking[T] = owner
        self._lane = lane
        self._number = number
        self._is_done: bool | None = None  # acknowledged, or given back; None: neither

    def __repr__(self) -> str:
        return f"<rstream.work.Job {self.item!r}, delivery {self.delivery}>"

    @property
    def key(self) -> tuple[int, int]:
        """For its reader: lane and number."""
        return self._lane, self._number

    @property
    def is_redelivered(self) -> bool:
        """Whether it may have been given to a reader before."""
        return self.delivery > 1

    def ack(self) -> None:
        """It is done: nobody gets it again. To say so again changes nothing.

        Raises:
            ClosedError: too late: its reader was closed before, and another one gets it again.
            RStreamError: it was given back before.
        """
        if self._settle(is_done=True):
            return
        if self._owner.has_given_up(self._lane, self._number):
            raise ClosedError(
                f"{self._owner!r}: closed before this job was acknowledged; another reader gets it "
                "again",
                hint="acknowledge jobs before the reader's block ends",
            )

    def give_back(self) -> None:
        """It is not done: its publisher gives it to a reader again, marked. To say so again, or
        when its reader was closed, changes nothing.

        Raises:
            RStreamError: it was acknowledged before: nobody gets it again.
        """
        self._settle(is_done=False)

    def _settle(self, *, is_done: bool) -> bool:
        """False: it was settled before, in the same way, or its reader has left with it."""
        if self._owner.settle(self._lane, self._number, is_done=is_done):
            self._is_done = is_done
            return True
        if self._is_done is (not is_done):
            before = "acknowledged" if self._is_done else "given back"
            raise RStreamError(f"{self._owner!r}: this job was {before} before")
        return False
