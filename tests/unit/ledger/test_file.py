"""The ledger in a file: what it remembers after a close, and after a kill in the middle."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rstream.errors import ConfigError, StorageError
from rstream.ledger import FileLedger
from rstream.ledger._ledger import Recalled


def rows(*positions: int) -> list[tuple[int, object]]:
    return [(position, lambda position=position: b"row %d" % position) for position in positions]


def recall(path: Path) -> Recalled:
    with contextlib.closing(FileLedger(path)) as ledger:
        return ledger.recall()


def test_it_remembers_commits_and_what_was_not_consumed(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = FileLedger(path)
    assert ledger.recall().committed == {}
    ledger.commit("a", 0, rows(1, 2, 3))  # type: ignore[arg-type]
    ledger.commit("b", 4, rows(4))  # type: ignore[arg-type]
    ledger.commit("a", 1, [])
    ledger.consume(2)
    ledger.close()
    ledger.close()
    again = FileLedger(path)
    recalled = again.recall()
    assert recalled.committed == {"a": 1, "b": 4}
    assert recalled.rows == [(3, b"row 3"), (4, b"row 4")]
    assert recalled.position == 4
    again.consume(4)
    again.close()
    recalled = recall(path)
    assert (recalled.rows, recalled.position) == ([], 4), "positions go on"


def test_a_commit_is_all_or_nothing(tmp_path: Path) -> None:
    ledger = FileLedger(tmp_path / "ledger")
    ledger.commit("a", 0, rows(1))  # type: ignore[arg-type]

    def broken() -> bytes:
        raise RuntimeError("cannot be written")

    with pytest.raises(RuntimeError, match="cannot be written"):
        ledger.commit("a", 1, [*rows(2), (3, broken)])  # type: ignore[list-item]
    with pytest.raises(StorageError, match=r"ledger .*ledger: UNIQUE"):
        ledger.commit("a", 1, rows(1))  # type: ignore[arg-type]
    recalled = ledger.recall()
    ledger.close()
    assert (recalled.committed, [position for position, _ in recalled.rows]) == ({"a": 0}, [1])


KILLED = """
import os, signal, sys
from rstream.ledger import FileLedger
ledger = FileLedger(sys.argv[1])
ledger.recall()
ledger.commit("a", 0, [(1, lambda: b"one")])
print("committed", flush=True)
ledger.commit("a", 1, [(2, lambda: b"two"), (3, lambda: os.kill(os.getpid(), signal.SIGKILL))])
"""


def test_a_process_that_is_killed_in_a_commit_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "committed\n"), done.stderr
    recalled = recall(path)
    assert (recalled.committed, recalled.rows) == ({"a": 0}, [(1, b"one")])


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_text("a text that is longer than the head of a database file, " * 20)
    with pytest.raises(ConfigError, match="not a database"):
        recall(path)
    os.unlink(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version=99")
    with pytest.raises(ConfigError, match="tables of version 99"):
        recall(path)


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = FileLedger(path)
    ledger.recall()
    ledger.commit("a", 0, rows(1))  # type: ignore[arg-type]
    modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    ledger.close()
    assert {"ledger", "ledger-wal", "ledger.lock"} <= modes.keys()
    assert set(modes.values()) == {0o600}, modes


def test_a_damaged_page_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    ledger = FileLedger(path)
    ledger.recall()
    many = [(position, lambda: b"x" * 3000) for position in range(1, 100)]
    ledger.commit("a", 0, many)
    ledger.close()
    data = bytearray(path.read_bytes())
    page = 4096
    for begin in range(4 * page, len(data), page):
        data[begin : begin + 8] = b"\xff" * 8
    path.write_bytes(data)
    with pytest.raises(StorageError, match=rf"ledger {path}: .*malformed") as caught:
        recall(path)
    assert "begin with another file" in str(caught.value)
    ledger = FileLedger(path)
    with contextlib.closing(ledger), pytest.raises(StorageError, match="malformed"):
        ledger.consume(50)
