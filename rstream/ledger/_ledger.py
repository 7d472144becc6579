"""Where a reading end remembers which epochs are committed and which rows wait for its consumer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a ledger remembers of an earlier reading end.

    Attributes:
        committed: last committed epoch of each query.
        rows: released record batches that nobody has consumed: position, and Arrow IPC bytes.
        position: of the last released batch.
    """

    committed: dict[str, int] = field(default_factory=dict[str, int])
    rows: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    position: int = 0


class Ledger(Protocol):
    """The memory of a reading end for committed delivery. "Effectively once" is as durable as it.

    One reading end at a time uses a ledger, from one thread at a time.
    """

    def recall(self) -> Recalled:
        """What an earlier reading end with this ledger left."""
        ...

    def commit(
        self, query: str, epoch: int, rows: Sequence[tuple[int, Callable[[], bytes]]]
    ) -> None:
        """Remember that an epoch is committed, and its rows. All or nothing; durable on return.

        Args:
            query, epoch: which micro-batch.
            rows: positions, and functions that make the bytes of the record batches.
        """
        ...

    def consume(self, position: int) -> None:
        """Everything up to this position was consumed. May be remembered after the return."""
        ...

    def close(self) -> None:
        """Give it back. Idempotent."""
        ...


class MemoryLedger:
    """Remembers for as long as the object lives: the default.

    A reading end that is opened anew in the same process with the same object goes on where the
    earlier one ended. With the process everything is forgotten: rows that it held are lost, and if
    Spark replays the epoch that was committed last, its rows come again with ``may_repeat`` in
    their marks.

    Example::

        ledger = rstream.ledger.MemoryLedger()
        end = rstream.ray.committed_reader("rows", ledger=ledger)
    """

    def __init__(self) -> None:
        self._committed: dict[str, int] = {}
        self._rows: dict[int, Callable[[], bytes]] = {}
        self._position = 0

    def recall(self) -> Recalled:
        """What an earlier reading end with this object left."""
        rows = [(position, make()) for position, make in self._rows.items()]
        return Recalled(dict(self._committed), rows, self._position)

    def commit(
        self, query: str, epoch: int, rows: Sequence[tuple[int, Callable[[], bytes]]]
    ) -> None:
        """Remember an epoch and its rows."""
        self._committed[query] = epoch
        self._rows.update(rows)
        if rows:
            self._position = rows[-1][0]

    def consume(self, position: int) -> None:
        """Forget the rows up to this position."""
        while self._rows and (first := next(iter(self._rows))) <= position:
            del self._rows[first]

    def close(self) -> None:
        """Nothing to give back."""
