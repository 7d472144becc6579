"""Which endpoints there are, by seat and by name: pure, the owner holds a lock.

Law: one seat has one record, that of its newest incarnation; one name has one living holder. A
record is dropped when its endpoint is closed, when its holder is dead for good, or when a restarted
actor has not opened the endpoint again for ``STALE_S``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rstream.ray._cluster import EndpointHolder, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rstream.ray._handle import StreamHandle

#: Seconds that the name and the place of a restarted actor wait until it opens its endpoint again.
STALE_S = 60.0

#: Actor id, label, number: see :mod:`rstream.ray._places`.
SeatKey: TypeAlias = tuple[str, str, int]


@dataclass(slots=True, kw_only=True)
class Record:
    """One open endpoint.

    Attributes:
        token: unique to this opening.
        seat: whose place it is.
        name: under which others find it; empty: none.
        holder: who has it open.
        handle: its address.
    """

    token: str
    seat: SeatKey
    name: str
    holder: EndpointHolder
    handle: StreamHandle


class Roster:
    """The records.

    Args:
        standing: says how a holder is now.
    """

    def __init__(self, standing: Callable[[EndpointHolder], Standing]) -> None:
        self._standing = standing
        self._records: dict[str, Record] = {}  # by token
        self._away_since_s: dict[str, float] = {}  # by token

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: Record) -> tuple[list[Record], Record | None]:
        """Take a record in.

        Returns:
            Records that it replaces, and the one that stands in its way: a newer incarnation, or
            another living holder of its name. Then nothing was taken in.
        """
        old: list[Record] = []
        for other in self._records.values():
            if other.seat == record.seat:
                if other.holder.restarts > record.holder.restarts:
                    return [], other
                old.append(other)
            elif self._has_name(other, record):
                if self._standing(other.holder) is not Standing.GONE:
                    return [], other
                old.append(other)
        for other in old:
            self.drop(other.token)
        self._records[record.token] = record
        return old, None

    @staticmethod
    def _has_name(other: Record, record: Record) -> bool:
        same = other.name == record.name and other.holder.scope == record.holder.scope
        return bool(record.name) and same

    def of_seat(self, seat: SeatKey) -> Record | None:
        """The record of a seat, also when its holder is away."""
        return next((record for record in self._records.values() if record.seat == seat), None)

    def find(self, scope: str, name: str) -> Record | None:
        """The record of a name whose holder is alive in the same incarnation."""
        for record in self._records.values():
            if (record.holder.scope, record.name) == (scope, name):
                return record if self._standing(record.holder) is Standing.ALIVE else None
        return None

    def names(self, scope: str) -> list[str]:
        """The names of a scope, sorted."""
        records = self._records.values()
        return sorted({one.name for one in records if one.name and one.holder.scope == scope})

    def drop(self, token: str) -> None:
        """Forget a record. Idempotent."""
        self._records.pop(token, None)
        self._away_since_s.pop(token, None)

    def holders(self) -> set[EndpointHolder]:
        """Who holds the records."""
        return {record.holder for record in self._records.values()}

    def sweep(self, standings: Mapping[EndpointHolder, Standing], now_s: float) -> list[Record]:
        """Drop and return what nobody will use again.

        Args:
            standings: how holders are now; the records of others stay.
            now_s: monotonic time.
        """
        dropped: list[Record] = []
        for token, record in list(self._records.items()):
            standing = standings.get(record.holder, Standing.ALIVE)
            if standing is Standing.ALIVE:
                self._away_since_s.pop(token, None)
                continue
            away_s = now_s - self._away_since_s.setdefault(token, now_s)
            if standing is Standing.GONE or away_s > STALE_S:
                self.drop(token)
                dropped.append(record)
        return dropped
