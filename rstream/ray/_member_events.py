"""What groups and pools tell of their members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rstream.ray._handle import StreamHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLost:
    """A member was dropped from its group or pool: it died, left, or failed.

    Attributes:
        handle: which one.
        number: the first item that it may not have consumed, from 1 on. Others of a pool have these
            by now; 0: it had none.
        reason: why, for people.
    """

    handle: StreamHandle
    number: int
    reason: str

    def __str__(self) -> str:
        first = f"; the first item that it may not have consumed is {self.number}"
        return (
            f"member {self.handle.title} was dropped: {self.reason}{first if self.number else ''}; "
            "add(handle) takes it in again"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Items that a member of a group did not get, because it had no room and nobody waits for it;
    or may not have got, because a driver ended, or over UDP a reader died, before it had consumed
    them.

    Attributes:
        handle: which one.
        first, last: numbers of the items, from 1 on.
    """

    handle: StreamHandle
    first: int
    last: int

    def __str__(self) -> str:
        return (
            f"member {self.handle.title} missed items {self.first} to {self.last}, or may have: "
            'send them again; flow_control="min" waits for slow members'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberBack:
    """A member that was dropped because it was away is there again.

    Attributes:
        handle: which one.
        number: the first item that it gets, from 1 on; in a pool 0.
    """

    handle: StreamHandle
    number: int

    def __str__(self) -> str:
        since = f", from item {self.number} on" if self.number else ""
        return f"member {self.handle.title} is back{since}"
