"""A ledger in an SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.ledger._database import Database
from rstream.ledger._ledger import Recalled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

#: Version of the tables, in the file's ``user_version``.
TABLES_VERSION = 1
TABLES = """
CREATE TABLE IF NOT EXISTS committed (query TEXT PRIMARY KEY, epoch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS rows (position INTEGER PRIMARY KEY, batch BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS released (only INTEGER PRIMARY KEY CHECK (only = 0), position INTEGER);
"""


class FileLedger:
    """Remembers in an SQLite file: survives the reading process.

    A commit is on the disk before Spark hears of it. That a batch was consumed is written without
    waiting for the disk: when the *machine* fails, batches that were consumed just before may be
    handed out again. So may the batch that was in hand when the *process* died; who must not count
    it twice stores ``(marks.query, marks.epoch, marks.partition, marks.sequence)`` with its result.

    Args:
        path: the file; its folder must exist, on a local disk. One reading end at a time.

    Example::

        ledger = rstream.ledger.FileLedger("/var/lib/rows.ledger")
        end = rstream.ray.committed_reader("rows", ledger=ledger)
    """

    def __init__(self, path: str | Path) -> None:
        self._file = Database(
            path, kind="ledger", tables=TABLES, version=TABLES_VERSION, owner="reading end"
        )

    def __repr__(self) -> str:
        return f"<rstream.ledger.FileLedger {self._file.path!r}>"

    def recall(self) -> Recalled:
        """What the file remembers.

        Raises:
            ConfigError: the file cannot be used, or another reading end has it.
            StorageError: the file is damaged.
        """
        with self._file.reading() as database:
            found = database.execute("SELECT position FROM released").fetchone()
            return Recalled(
                dict(database.execute("SELECT query, epoch FROM committed")),
                list(database.execute("SELECT position, batch FROM rows ORDER BY position")),
                found[0] if found else 0,
            )

    def commit(
        self, query: str, epoch: int, rows: Sequence[tuple[int, Callable[[], bytes]]]
    ) -> None:
        """Write an epoch and its rows to the disk.

        Raises:
            StorageError: the file cannot be written.
        """
        with self._file.transaction("FULL") as database:
            database.execute("INSERT OR REPLACE INTO committed VALUES (?, ?)", (query, epoch))
            database.executemany(
                "INSERT INTO rows VALUES (?, ?)", ((position, make()) for position, make in rows)
            )
            if rows:
                database.execute("INSERT OR REPLACE INTO released VALUES (0, ?)", (rows[-1][0],))

    def consume(self, position: int) -> None:
        """Delete the rows up to this position.

        Raises:
            StorageError: the file cannot be written.
        """
        with self._file.transaction("NORMAL") as database:
            database.execute("DELETE FROM rows WHERE position <= ?", (position,))

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()
