"""The spool of a query that reads: what has arrived and is not processed yet, in an SQLite file.

A transport keeps nothing that was read, and Spark reads a micro-batch again after a failure. So the
reading process writes what arrives into the spool before the publisher hears that it was consumed.
Spark's offsets are row numbers of the spool; they never begin anew. Beside the rows the spool knows
up to which position it has each publisher's stream: a message that comes again is recognised, and
so is a gap.

The spool has a bound. While it is full, nothing is read, and publishers have to wait.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import uuid
from typing import TYPE_CHECKING, Any, Final

from rstream._condition import Condition
from rstream.errors import ConfigError, StorageError
from rstream.ledger._internal import BUSY_S, Database, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TABLES_VERSION: Final = 1
TABLES: Final = """
CREATE TABLE IF NOT EXISTS about (
    only INTEGER PRIMARY KEY CHECK (only = 0), id TEXT NOT NULL,
    freed INTEGER NOT NULL, last INTEGER NOT NULL, planned INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    begin INTEGER PRIMARY KEY, end INTEGER NOT NULL, bytes INTEGER NOT NULL, batch BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (session INTEGER PRIMARY KEY, position INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS source (only INTEGER PRIMARY KEY CHECK (only = 0), stream TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS failures (only INTEGER PRIMARY KEY CHECK (only = 0), text TEXT NOT NULL);
"""
#: The entry that has a row, and those behind it; by the key, so that no other one is looked at.
FROM_ROW: Final = "begin >= coalesce((SELECT max(begin) FROM entries WHERE begin <= ?), 0)"
FILE_NAME: Final = "rows.spool"
#: Most publishers whose positions are remembered; who has been silent longest is forgotten first.
SESSIONS_MAX: Final = 1024
#: Seconds that a query waits for the process of its earlier run to end.
OWNER_WAIT_S: Final = 15.0
WAIT_S: Final = 0.5


class Spool:
    """The reading process's side: rows in, rows freed. Any thread.

    Args:
        folder: it is made if need be; on a local disk. One query at a time.
        bytes_max: the spool is full with so many bytes.
        stream: the name of the stream whose rows it holds.
    Raises:
        ConfigError: the folder cannot be used, another query has it, or it has the rows of another
            stream.

    Attributes:
        id: of this spool; another one in the same folder has another.
        is_reopened: an earlier run has used it.
        freed, last: rows 0 to ``freed`` are processed and gone; rows up to ``last`` are there.
        length_bytes: of the entries that are there.
        failure: the text of an error about skipped messages that Spark has not heard; empty: none.
    """

    def __init__(self, folder: str, bytes_max: int, stream: str) -> None:
        self.path = os.path.join(folder, FILE_NAME)
        self._bytes_max = bytes_max
        self._file = Database(
            self.path, kind="spool", tables=TABLES, version=TABLES_VERSION, owner="query",
            wait_s=OWNER_WAIT_S,
        )  # fmt: skip
        self._changed = Condition()
        with contextlib.suppress(OSError):  # the file cannot be opened then, which says more
            os.makedirs(folder, mode=0o700, exist_ok=True)
        with self._file.reading() as database:
            found = database.execute("SELECT id, freed, last, planned FROM about").fetchone()
        self.is_reopened = found is not None
        if found is None:
            found = uuid.uuid4().hex, 0, 0, 0
            with self._file.transaction("FULL") as database:
                database.execute("INSERT INTO about VALUES (0, ?, 0, 0, 0)", found[:1])
        self._note_stream(stream)
        self.id: str = found[0]
        self.freed: int = found[1]
        self.last: int = found[2]
        self._planned: int = found[3]  # what an earlier run had beyond it may not be on the disk
        with self._file.reading() as database:
            self._positions: dict[int, int] = dict(
                database.execute("SELECT session, position FROM sessions")
            )
            (self.length_bytes,) = database.execute(
                "SELECT coalesce(sum(bytes), 0) FROM entries"
            ).fetchone()
            untold = database.execute("SELECT text FROM failures").fetchone()
        self.failure: str = "" if untold is None else untold[0]

    def _note_stream(self, stream: str) -> None:
        """Write down whose rows these are, or compare it."""
        with self._file.reading() as database:
            known = database.execute("SELECT stream FROM source").fetchone()
        if known is None:
            with self._file.transaction("FULL") as database:
                database.execute("INSERT INTO source VALUES (0, ?)", (stream,))
        elif known[0] != stream:
            self._file.close()
            raise ConfigError(
                f"rstream source: spoolDir={os.path.dirname(self.path)!r} has rows of the stream "
                f"{known[0]!r}, and this query reads {stream!r}",
                hint="give each query a spoolDir of its own, or remove the folder if its rows are "
                "not wanted any more",
            )

    def __repr__(self) -> str:
        return f"<spool {self.path!r}, rows {self.freed} to {self.last}>"

    # ---- what arrives ----

    @property
    def is_full(self) -> bool:
        return self.length_bytes >= self._bytes_max

    def await_room(self, is_stopped: Callable[[], bool]) -> None:
        """Wait while the spool is full; :meth:`wake` after a change of ``is_stopped``."""
        with self._changed:
            while self.is_full and not is_stopped():
                self._changed.wait(WAIT_S)

    def wake(self) -> None:
        """Have :meth:`await_room` look again."""
        with self._changed:
            self._changed.notify_all()

    def position(self, session_id: int) -> int | None:
        """Up to where the spool has a publisher's stream; None: it knows nothing of it."""
        return self._positions.get(session_id)

    def add(
        self,
        batches: Sequence[tuple[int, bytes]],
        positions: Mapping[int, int],
        failure: str = "",
    ) -> None:
        """Append rows, and note up to where they are the publishers' streams.

        When it returns, the rows survive the process. That they survive the machine is what
        :meth:`plan` waits for.

        Args:
            batches: number of rows (at least 1) and bytes of each record batch.
            positions: for each session the position behind its last message.
            failure: why messages before these positions are skipped. It is kept, if none is, until
                :meth:`forget_failure`.
        Raises:
            StorageError: the disk is full, or fails; nothing was appended.
        """
        with self._changed:
            entries: list[tuple[int, int, int, bytes]] = []
            last = self.last
            for rows, data in batches:
                entries.append((last, last + rows, len(data), data))
                last += rows
            with self._file.transaction("NORMAL") as database:
                database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", entries)
                database.execute("UPDATE about SET last = ?", (last,))
                self._write_positions(database, positions)
                if failure:
                    database.execute("INSERT OR IGNORE INTO failures VALUES (0, ?)", (failure,))
            self.last = last
            self.failure = self.failure or failure
            self.length_bytes += sum(entry[2] for entry in entries)
            for session_id, position in positions.items():
                self._positions.pop(session_id, None)  # the dict is in the order of use
                self._positions[session_id] = position

    def _write_positions(self, database: sqlite3.Connection, positions: Mapping[int, int]) -> None:
        database.executemany("INSERT OR REPLACE INTO sessions VALUES (?, ?)", positions.items())
        surplus = len(self._positions.keys() | positions.keys()) - SESSIONS_MAX
        silent = (one for one in list(self._positions) if one not in positions)
        for session_id in itertools.islice(silent, max(surplus, 0)):
            del self._positions[session_id]
            database.execute("DELETE FROM sessions WHERE session = ?", (session_id,))

    def note(self, session_id: int, position: int, failure: str = "") -> None:
        """Note a position up to which nothing more is wanted of a publisher; as :meth:`add`."""
        if position > self._positions.get(session_id, -1):
            self.add((), {session_id: position}, failure)

    def forget_failure(self) -> None:
        """Note that Spark hears the failure.

        Raises:
            StorageError: the file cannot be written.
        """
        with self._changed:
            if self.failure:
                with self._file.transaction("NORMAL") as database:
                    database.execute("DELETE FROM failures")
                self.failure = ""

    # ---- what Spark asks for ----

    def plan(self, end: int) -> None:
        """Wait until the rows up to ``end`` are on the disk: Spark is about to log the number.

        Raises:
            StorageError: the disk is full, or fails.
        """
        with self._changed:
            if end > self._planned:
                with self._file.transaction("FULL") as database:
                    database.execute("UPDATE about SET planned = ?", (end,))
                self._planned = end

    def end_within(self, begin: int, bytes_max: int) -> int:
        """The end of the rows from ``begin`` that have at most so many bytes, and one row at
        least if there is one.
        """
        with self._changed, self._file.reading() as database:
            end, left_bytes = begin, bytes_max
            for first, last, length_bytes in database.execute(
                f"SELECT begin, end, bytes FROM entries WHERE {FROM_ROW} ORDER BY begin", (begin,)
            ):
                rows = max(last - max(first, begin), 0)
                fit = left_bytes * (last - first) // length_bytes
                if fit < rows:
                    return max(end + fit, min(begin + 1, self.last))
                end += rows
                left_bytes -= length_bytes * rows // (last - first)
            return end

    def parts(self, begin: int, end: int, bytes_wanted: int) -> list[tuple[int, int]]:
        """Cut rows into parts of whole entries, each of so many bytes or a bit more.

        The same rows are cut the same way each time.
        """
        with self._changed, self._file.reading() as database:
            cuts, length_bytes = [begin], 0
            for last, entry_bytes in database.execute(
                f"SELECT end, bytes FROM entries WHERE {FROM_ROW} AND begin < ? ORDER BY begin",
                (begin, end),
            ):
                length_bytes += entry_bytes
                if length_bytes >= bytes_wanted and last < end:
                    cuts.append(last)
                    length_bytes = 0
        return list(zip(cuts, [*cuts[1:], end], strict=True)) if begin < end else []

    def free(self, end: int) -> None:
        """Drop the rows up to ``end``: Spark will not ask for them again.

        Raises:
            StorageError: the file cannot be written.
        """
        with self._changed:
            if end <= self.freed:
                return
            done = "FROM entries WHERE begin < ? AND end <= ?"  # the first of them by the key
            with self._file.transaction("NORMAL") as database:
                freed_bytes = database.execute(
                    f"SELECT coalesce(sum(bytes), 0) {done}", (end, end)
                ).fetchone()[0]
                database.execute(f"DELETE {done}", (end, end))
                database.execute("UPDATE about SET freed = ?", (end,))
            self.freed = end
            self.length_bytes -= freed_bytes
            self._changed.notify_all()

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._changed:
            self._file.close()
            self._changed.notify_all()


def stored(path: str, spool_id: str, begin: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Read rows of a spool, in any process of its host.

    All of them are read before the first is handed out: SQLite's log keeps everything that is
    written while a read is under way, and a slow task would let it grow beyond every bound.

    Args:
        path, spool_id: of the spool.
        begin, end: the rows.
    Yields:
        The bytes of each record batch, and which rows of it.
    Raises:
        StorageError: not every row is there.
    """
    if not os.path.exists(path):
        raise StorageError(
            f"spool {path}: it is not there for this task",
            hint="a task on another host than the program that drives Spark needs tasks=anywhere",
        )
    try:
        entries = _entries(path, spool_id, begin, end)
    except sqlite3.Error as error:
        raise failure(f"spool {path}", error) from error
    next_row = begin
    for first, last, data in entries:
        if not first <= next_row < last:
            break
        yield data, next_row - first, min(last, end) - first
        next_row = min(last, end)
    if next_row < end:
        raise StorageError(
            f"spool {path}: rows {next_row} to {end} are not in it",
            hint="it was replaced, or freed: Spark asks for rows that it had reported as processed",
        )


def _entries(path: str, spool_id: str, begin: int, end: int) -> list[Any]:
    with contextlib.closing(
        sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=BUSY_S)
    ) as database:
        found: Any = database.execute("SELECT id FROM about").fetchone()
        if found is None or found[0] != spool_id:
            return []
        return database.execute(
            f"SELECT begin, end, batch FROM entries WHERE {FROM_ROW} AND begin < ? ORDER BY begin",
            (begin, end),
        ).fetchall()
