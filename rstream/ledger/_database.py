"""An SQLite file that one process at a time owns."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from typing import TYPE_CHECKING

from rstream._waits import Deadline
from rstream.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

#: Seconds that another process may hold the file's lock for.
BUSY_S = 5.0
#: Pause before the next look whether an owner that is about to end has gone.
OWNER_PAUSE_S = 0.05
#: SQLite's log: it is written back to the file at so many bytes (1000 pages), and is cut to them
#: after a larger transaction.
LOG_BYTES = 4 << 20


class Database:
    """Opens with the first use. Several threads may use it, one at a time.

    Args:
        path: the file; its folder must exist, on a local disk.
        kind: what it is, for error texts.
        tables: statements that make the tables where they are missing.
        version: of the tables, in the file's ``user_version``.
        owner: who has it, for error texts.
        wait_s: most seconds to wait for an owner that is about to end.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        kind: str,
        tables: str,
        version: int,
        owner: str,
        wait_s: float = 0.0,
    ) -> None:
        self.path = os.fspath(path)
        self._kind, self._tables, self._version = kind, tables, version
        self._owner, self._wait_s = owner, wait_s
        self._lock_fd = -1
        self._database: sqlite3.Connection | None = None

    def open(self) -> sqlite3.Connection:
        """The open file.

        Raises:
            ConfigError: it cannot be used, or has another owner.
        """
        if self._database is not None:
            return self._database
        try:
            self._take_lock()
            # SQLite would let everyone read it; its log and its index get the rights of the file.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            database = sqlite3.connect(self.path, timeout=BUSY_S, check_same_thread=False)
            self._database = database  # close() closes it if one of the next lines fails
            database.isolation_level = None
            database.execute("PRAGMA journal_mode=WAL")
            database.execute(f"PRAGMA journal_size_limit={LOG_BYTES}")
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version not in (0, self._version):
                raise ConfigError(
                    f"{self._kind} {self.path}: tables of version {version}, this rstream reads "
                    f"{self._version}: use the release that wrote it, or another file"
                )
            database.executescript(self._tables)
            database.execute(f"PRAGMA user_version={self._version}")
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise ConfigError(
                f"{self._kind} {self.path}: {error}",
                hint="give a file in an existing, writable folder",
            ) from error
        except BaseException:
            self.close()
            raise
        return database

    def _take_lock(self) -> None:
        """One owner at a time; the kernel frees the lock of a process that died."""
        self._lock_fd = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = Deadline(self._wait_s)
        while True:
            try:
                return fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if deadline.is_over:
                    raise ConfigError(
                        f"{self._kind} {self.path} belongs to another {self._owner} that is open",
                        hint=f"give each {self._owner} a file of its own, or close the other one",
                    ) from None
            time.sleep(OWNER_PAUSE_S)

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection, None, None]:
        """To ask the file.

        Raises:
            ConfigError: as for :meth:`open`.
            StorageError: the file is damaged.
        """
        database = self.open()
        try:
            yield database
        except sqlite3.Error as error:
            raise failure(f"{self._kind} {self.path}", error) from error

    @contextlib.contextmanager
    def transaction(self, synchronous: str) -> Generator[sqlite3.Connection, None, None]:
        """All or nothing.

        Args:
            synchronous: ``FULL`` waits for the disk, for this and every earlier transaction;
                ``NORMAL`` survives the process, not the machine.
        Raises:
            StorageError: the file cannot be written.
        """
        database = self.open()
        try:
            if database.in_transaction:  # of a call that a signal handler ended
                database.execute("ROLLBACK")
            database.execute(f"PRAGMA synchronous={synchronous}")
            try:
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a damaged file has ended it already
                    if database.in_transaction:
                        database.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise failure(f"{self._kind} {self.path}", error) from error

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._database is not None:
            self._database.close()
            self._database = None
        lock_fd, self._lock_fd = self._lock_fd, -1
        if lock_fd >= 0:
            os.close(lock_fd)


def failure(title: str, error: sqlite3.Error) -> StorageError:
    """What SQLite has against a file. ``title``: which file, for people."""
    is_damaged = type(error) is sqlite3.DatabaseError  # its subclasses mean something else
    return StorageError(
        f"{title}: {error}",
        hint="the file was changed or its disk fails: begin with another file or a copy; what "
        "it remembered is not known any more"
        if is_damaged
        else "make room on its disk; nothing of this step was remembered",
    )
