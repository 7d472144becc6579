"""The spool: rows in, rows out, rows freed; what a process that died leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rstream.spark  # noqa: F401 - decision 90
from rstream.errors import ConfigError, StorageError
from rstream.ledger._database import LOG_BYTES
from rstream.spark import _spool
from rstream.spark._spool import Spool, stored


def entries(*rows: int) -> list[tuple[int, bytes]]:
    """Record batches of so many rows, of 10 bytes for each row."""
    return [(count, b"x" * 10 * count) for count in rows]


def ranges(spool: Spool, begin: int, end: int) -> list[tuple[int, int, int]]:
    return [(len(data), *rows) for data, *rows in stored(spool.path, spool.id, begin, end)]


def test_rows_are_numbered_on_after_a_restart(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "new"), 1000, "ticks")
    assert (spool.is_reopened, spool.freed, spool.last) == (False, 0, 0)
    spool.add(entries(3, 4), {7: 100, -8: 5})
    spool.free(3)
    spool.close()
    spool.close()
    again = Spool(str(tmp_path / "new"), 1000, "ticks")
    assert (again.is_reopened, again.freed, again.last, again.length_bytes) == (True, 3, 7, 40)
    assert (again.id, again.position(7), again.position(-8)) == (spool.id, 100, 5)
    assert again.position(9) is None
    again.free(7)
    again.add(entries(1), {})
    assert (again.freed, again.last) == (7, 8)
    again.close()


def test_rows_of_another_stream_are_refused(tmp_path: Path) -> None:
    Spool(str(tmp_path), 1000, "ticks").close()
    with pytest.raises(
        ConfigError, match="rows of the stream 'ticks', and this query reads 'bars'"
    ):
        Spool(str(tmp_path), 1000, "bars")
    Spool(str(tmp_path), 1000, "ticks").close()  # the refused one holds it no longer


def test_parts_of_entries_are_read(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 1000, "ticks")
    spool.add(entries(3, 4, 5), {})
    assert ranges(spool, 0, 12) == [(30, 0, 3), (40, 0, 4), (50, 0, 5)]
    assert ranges(spool, 1, 5) == [(30, 1, 3), (40, 0, 2)]
    assert ranges(spool, 4, 6) == [(40, 1, 3)]
    assert ranges(spool, 3, 3) == []
    spool.free(5)  # the entry of rows 3 to 7 stays whole
    assert spool.length_bytes == 90
    assert ranges(spool, 5, 7) == [(40, 2, 4)]
    spool.close()


def test_rows_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 1000, "ticks")
    spool.add(entries(3, 4), {})
    spool.free(3)
    for begin, end, what in ((0, 7, "rows 0 to 7"), (5, 9, "rows 7 to 9"), (8, 9, "rows 8 to 9")):
        with pytest.raises(StorageError, match=what):
            list(stored(spool.path, spool.id, begin, end))
    with pytest.raises(StorageError, match="rows 3 to 7 are not in it"):
        list(stored(spool.path, "another", 3, 7))
    with pytest.raises(StorageError, match="not there for this task"):
        list(stored(spool.path + "x", spool.id, 3, 7))
    spool.close()


def log_bytes(spool: Spool) -> int:
    return Path(f"{spool.path}-wal").stat().st_size


def test_a_slow_task_does_not_let_the_log_grow(tmp_path: Path) -> None:
    """SQLite's log keeps what is written while a read is open: 25 MB here, for 200 kB of rows."""
    spool = Spool(str(tmp_path), 1 << 20, "ticks")
    spool.add(entries(3, 4), {})
    task = stored(spool.path, spool.id, 0, 7)
    assert next(task)[1:] == (0, 3)
    for number in range(2000):
        spool.add(entries(10), {7: number})
    assert log_bytes(spool) < 1.5 * LOG_BYTES
    assert [rows for _, *rows in task] == [[0, 4]]
    spool.close()


def test_the_log_is_cut_after_a_long_message(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 1 << 20, "ticks")
    spool.add([(1, bytes(3 * LOG_BYTES))], {})
    assert log_bytes(spool) > 3 * LOG_BYTES
    spool.free(1)
    spool.add(entries(1), {})
    assert log_bytes(spool) <= LOG_BYTES
    spool.close()


def test_limits_of_bytes_cut_entries_and_give_a_row_at_least(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 1000, "ticks")
    assert spool.end_within(0, 100) == 0
    spool.add(entries(3, 4, 5), {})
    for begin, bytes_max, end in (
        (0, 1000, 12),
        (0, 120, 12),
        (0, 119, 11),
        (0, 30, 3),
        (0, 50, 5),
        (1, 30, 4),
        (0, 1, 1),
        (11, 1, 12),
        (12, 1, 12),
    ):
        assert spool.end_within(begin, bytes_max) == end, (begin, bytes_max)
    assert spool.parts(0, 12, 60) == [(0, 7), (7, 12)]
    assert spool.parts(2, 5, 1) == [(2, 3), (3, 5)]
    assert spool.parts(2, 2, 1) == []
    spool.close()


def test_a_full_spool_waits_until_rows_are_freed(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), 50, "ticks")
    spool.add(entries(3), {})
    spool.await_room(lambda: False)
    spool.add(entries(3), {})
    assert spool.is_full
    passed = threading.Event()
    thread = threading.Thread(target=lambda: (spool.await_room(lambda: False), passed.set()))
    thread.start()
    assert not passed.wait(0.1)
    spool.free(3)
    assert passed.wait(10)
    thread.join()
    spool.close()


def test_the_oldest_positions_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_spool, "SESSIONS_MAX", 2)
    spool = Spool(str(tmp_path), 50, "ticks")
    for session_id, position in ((1, 10), (2, 20), (1, 11), (3, 30)):
        spool.add((), {session_id: position})
    spool.note(3, 25)
    spool.close()
    again = Spool(str(tmp_path), 50, "ticks")
    assert [again.position(session_id) for session_id in (1, 2, 3)] == [11, None, 30]
    again.close()


def test_a_second_query_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spool, "OWNER_WAIT_S", 0.1)
    spool = Spool(str(tmp_path), 50, "ticks")
    with pytest.raises(ConfigError, match="belongs to another query that is open"):
        Spool(str(tmp_path), 50, "ticks")
    spool.close()
    Spool(str(tmp_path), 50, "ticks").close()
    with pytest.raises(ConfigError, match="writable folder"):
        Spool("/proc/none", 50, "ticks")


KILLED = """
import os, signal, sys
import rstream.spark
from rstream.spark._spool import Spool
spool = Spool(sys.argv[1], 1000, "ticks")
for number in range(1, 101):
    spool.add([(1, b"x")], {7: number})
    print(number, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_added_survives_a_kill(tmp_path: Path) -> None:
    """Rows and positions belong together, and none that was reported is missing."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 20:
            process.send_signal(signal.SIGKILL)
            break
    rest = process.stdout.read().split()
    process.wait(10)
    process.stdout.close()
    told = int(rest[-1]) if rest else 20
    spool = Spool(str(tmp_path), 1000, "ticks")
    assert told <= spool.last <= 100
    assert spool.position(7) == spool.last
    assert len(ranges(spool, 0, spool.last)) == spool.last
    spool.close()
