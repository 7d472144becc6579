"""What reading ends know of a query of which they get rows in some epochs only; no false alarm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rstream.errors import RStreamError
from rstream.ledger import FileLedger
from rstream.ledger._marks import marks_of
from rstream.spark import _ends
from tests.unit.ledger.conftest import End, Job
from tests.unit.ledger.test_delivery import reopened

OpenEnd = Callable[..., End]


@pytest.fixture(autouse=True)
def _close_ends() -> Iterator[None]:
    yield
    _ends.close_ends()


def alarms(end: End) -> tuple[Any, list[bool]]:
    marks = [marks_of(batch) for batch in end.batches]
    return end.end.statistics()["unknown_queries"], [one.may_repeat for one in marks if one]


@pytest.mark.parametrize("has_ledger", [True, False])
def test_rows_that_come_late_are_no_alarm(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_ledger: bool
) -> None:
    """A first micro-batch that is empty, and a reader whose key comes later."""

    def options(number: int) -> dict[str, Any]:
        return {"ledger": FileLedger(tmp_path / f"{number}.ledger")} if has_ledger else {}

    ends = [open_end(f"rows-{number}", **options(number)).start() for number in range(2)]
    handles = [end.end.handle for end in ends]
    job = Job(*handles, partitionBy="value", partitionMap='{"0": 0, "1": 1}')
    job.run(0, range(0))
    job.run(1, range(1))
    assert ends[0].wait_for(1) == [0]
    if has_ledger:
        ends[1].end.close()
        ends[1] = reopened(open_end, ends[1], monkeypatch, name="rows-1", **options(1)).start()
    job.run(2, range(1, 2))
    assert ends[1].wait_for(1) == [1]
    assert [alarms(end) for end in ends] == [(0, [False]), (0, [False])]


def test_a_reader_that_gets_no_rows_need_not_be_there(open_end: OpenEnd) -> None:
    ends = [open_end(f"rows-{number}").start() for number in range(2)]
    job = Job(*(end.end.handle for end in ends), partitionBy="value", partitionMap='{"0": 0}')
    report = job.write(0, range(1))
    assert sorted(report.accounts) == [0, 1]
    ends[1].end.close()
    began_s = time.monotonic()
    job.commit(0, report)
    job.run(1, range(1))
    assert ends[0].wait_for(2) == [0, 0]
    assert time.monotonic() - began_s < 6


@pytest.mark.parametrize("has_restarted", [True, False])
@pytest.mark.parametrize("options", [{"partitionBy": "value"}, {}], ids=["key", "partition"])
def test_a_replay_to_other_handles_is_refused(
    open_end: OpenEnd,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: dict[str, str],
    has_restarted: bool,
) -> None:
    """Rows whose reader had them came to a further one: 3 356 twice."""
    ends = [
        open_end(f"rows-{number}", ledger=FileLedger(tmp_path / f"{number}.ledger")).start()
        for number in range(3)
    ]
    handles = [end.end.handle for end in ends]
    job = Job(*handles[:2], **options)
    job.run(0, range(3))
    job.run(1, range(3, 6))
    for number, end in enumerate(ends if has_restarted else []):
        end.end.close()
        ledger = FileLedger(tmp_path / f"{number}.ledger")
        reopened(open_end, end, monkeypatch, name=f"rows-{number}", ledger=ledger).start()
    for given in (handles, handles[:1], [handles[1], handles[0]]):
        with pytest.raises(RStreamError, match=r"epoch 1 .*as 'by .*, handle . of 2'.*replayed as"):
            Job(*given, **options).run(1, range(3, 6))
    assert Job(*handles[:2], **options).run(1, range(3, 6)).repeated == 2
    assert Job(*handles, **options).run(2, range(6, 9)).repeated == 0
    assert ends[2].batches == [] or has_restarted or min(ends[2].values) >= 6
