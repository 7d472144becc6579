"""A handler raises at each place of reading committed rows: each comes once, the ledger agrees."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from rstream.errors import ReadTimeout
from rstream.ledger import FileLedger, MemoryLedger
from tests.interrupts import at_each_place
from tests.support import in_thread, until
from tests.unit.ledger.conftest import Job

COUNT = 6

# CPython prints and drops what a handler raises while a generator ends that nobody holds any more.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("face", ["get", "poll", "for"])
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_an_interrupted_read_of_committed_rows(
    open_end: Any, tmp_path: Any, kind: str, face: str
) -> None:
    ledger = MemoryLedger() if kind == "memory" else FileLedger(tmp_path / "ledger")
    end = open_end(ledger=ledger).end
    job = Job(end.handle)
    reader = end.source
    got: list[int] = []
    epoch = 0

    def note(batch: Any) -> None:
        got.extend(batch.column(0).to_pylist())

    def begin() -> None:
        nonlocal epoch
        got.clear()
        reports = [
            job.write(epoch, range(epoch * COUNT + at, epoch * COUNT + at + 1), partition=at)
            for at in range(COUNT)
        ]
        job.commit(epoch, *reports)
        epoch += 1

    def read() -> None:
        if face == "get":
            note(reader.get(timeout_s=5))
        elif face == "poll":
            for batch in reader.poll(4):
                note(batch)
        else:
            for batch in reader:
                note(batch)
                if len(got) == COUNT:
                    return

    def after(where: str) -> None:
        def read_on() -> None:
            with suppress(ReadTimeout):
                while len(got) < COUNT:
                    note(reader.get(timeout_s=1))

        thread = in_thread(read_on)
        thread.join(10)
        assert not thread.is_alive(), where
        assert sorted(got) == list(range((epoch - 1) * COUNT, epoch * COUNT)), (where, got)
        reader.poll()  # counts them
        until(lambda: not ledger.recall().rows)
        begin()

    with suppress(ReadTimeout):
        reader.get(timeout_s=0)
    writing = in_thread(begin)
    while not got:
        with suppress(ReadTimeout):
            note(reader.get(timeout_s=0.1))
    writing.join(10)
    after("the start")
    assert at_each_place(read, after, step=2 if face == "get" else 7) >= 8
