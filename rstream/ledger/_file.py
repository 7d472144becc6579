"""A ledger in an SQLite file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from typing import TYPE_CHECKING

from rstream.errors import ConfigError, StorageError
from rstream.ledger._ledger import Recalled

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

#: Version of the tables, in the file's ``user_version``.
TABLES_VERSION = 1
TABLES = """
CREATE TABLE IF NOT EXISTS committed (query TEXT PRIMARY KEY, epoch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS rows (position INTEGER PRIMARY KEY, batch BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS released (only INTEGER PRIMARY KEY CHECK (only = 0), position INTEGER);
"""
#: Seconds that another process may hold the file's lock for.
BUSY_S = 5.0


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
        end = rstream.ray.reader("rows", codec="arrow", ledger=ledger)
    """

    def __init__(self, path: str | Path) -> None:
        self._path = os.fspath(path)
        self._lock_fd = -1
        self._database: sqlite3.Connection | None = None

    def __repr__(self) -> str:
        return f"<rstream.ledger.FileLedger {self._path!r}>"

    def recall(self) -> Recalled:
        """What the file remembers.

        Raises:
            ConfigError: the file cannot be used, or another reading end has it.
        """
        database = self._open()
        found = database.execute("SELECT position FROM released").fetchone()
        return Recalled(
            dict(database.execute("SELECT query, epoch FROM committed")),
            list(database.execute("SELECT position, batch FROM rows ORDER BY position")),
            found[0] if found else 0,
        )

    def _open(self) -> sqlite3.Connection:
        if self._database is not None:
            return self._database
        try:
            self._take_lock()
            database = sqlite3.connect(self._path, timeout=BUSY_S, check_same_thread=False)
            database.isolation_level = None
            database.execute("PRAGMA journal_mode=WAL")
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version not in (0, TABLES_VERSION):
                raise ConfigError(
                    f"ledger {self._path}: tables of version {version}, this rstream reads "
                    f"{TABLES_VERSION}: use the release that wrote it, or another file"
                )
            database.executescript(TABLES)
            database.execute(f"PRAGMA user_version={TABLES_VERSION}")
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise ConfigError(
                f"ledger {self._path}: {error}", hint="give a file in an existing, writable folder"
            ) from error
        except BaseException:
            self.close()
            raise
        self._database = database
        return database

    def _take_lock(self) -> None:
        """One reading end at a time; the kernel frees the lock of a process that died."""
        self._lock_fd = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"ledger {self._path} belongs to another reading end that is open",
                hint="give each reading end a file of its own, or close the other one",
            ) from None

    @contextlib.contextmanager
    def _transaction(self, synchronous: str) -> Generator[sqlite3.Connection, None, None]:
        """All or nothing.

        Raises:
            StorageError: the file cannot be written.
        """
        database = self._open()
        try:
            database.execute(f"PRAGMA synchronous={synchronous}")
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageError(
                f"ledger {self._path}: {error}",
                hint="make room on its disk; nothing of this step was remembered",
            ) from error

    def commit(
        self, query: str, epoch: int, rows: Sequence[tuple[int, Callable[[], bytes]]]
    ) -> None:
        """Write an epoch and its rows to the disk.

        Raises:
            StorageError: the file cannot be written.
        """
        with self._transaction("FULL") as database:
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
        with self._transaction("NORMAL") as database:
            database.execute("DELETE FROM rows WHERE position <= ?", (position,))

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._database is not None:
            self._database.close()
            self._database = None
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1
