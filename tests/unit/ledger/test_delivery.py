"""Committed delivery from end to end, without Spark: each row once, whatever fails."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rstream
from rstream.errors import ConfigError, RStreamError, ServerLost
from rstream.ledger import FileLedger, MemoryLedger, marks_of
from rstream.service import Requester, Service
from rstream.spark import _commit, _ends, _task
from rstream.stream._internal import reading_of
from tests.support import in_thread, until
from tests.unit.ledger.conftest import TIMEOUT_S, End, Job, batch_of

OpenEnd = Callable[..., End]


@pytest.fixture(autouse=True)
def _close_ends() -> Any:
    yield
    _ends.close_ends()


def reopened(open_end: OpenEnd, end: End, monkeypatch: pytest.MonkeyPatch, **options: Any) -> End:
    """A reading end at the address of one that is closed, as a restarted Ray actor has it."""
    from rstream.ray import _open

    port = int(end.end.handle.endpoint.rpartition(":")[2])
    stream_id = end.end.handle.stream_id
    with monkeypatch.context() as patch:
        patch.setattr(_open, "new_stream_id", lambda: stream_id)
        return open_end(port=port, **options)


def test_rows_are_handed_out_at_the_commit_and_not_before(open_end: OpenEnd) -> None:
    end = open_end().start()
    job = Job(end.end.handle)
    reports = [job.write(0, range(100), partition=0), job.write(0, range(100, 200), partition=1)]
    time.sleep(0.1)
    assert end.values == []
    job.commit(0, *reports)
    assert end.wait_for(200) == list(range(200))
    marks = [marks_of(batch) for batch in end.batches]
    assert [(one.query, one.epoch, one.partition) for one in marks if one] == [
        ("q", 0, 0), ("q", 0, 1),
    ]  # fmt: skip
    assert end.end.statistics()["staged_bytes"] == 0


def test_a_replayed_micro_batch_is_written_once(open_end: OpenEnd) -> None:
    """Users of other sinks find its rows twice."""
    end = open_end().start()
    job = Job(end.end.handle)
    job.run(0, range(50))
    report = job.run(0, range(50))  # Spark's log did not have the commit
    assert (report.repeated, report.rows, report.messages) == (1, 50, 0)
    job.run(1, range(50, 60))
    assert end.wait_for(60) == list(range(60))
    assert end.end.statistics()["repeated_epochs"] == 1


def test_a_task_attempted_twice_counts_once(open_end: OpenEnd) -> None:
    end = open_end().start()
    job = Job(end.end.handle)
    job.write(0, range(30))
    job.commit(0, job.write(0, range(30)))
    job.run(1, range(30, 31))
    assert end.wait_for(31) == list(range(31))


def test_a_new_query_is_a_new_stream(open_end: OpenEnd) -> None:
    """As with a new checkpoint directory."""
    end = open_end().start()
    Job(end.end.handle, query="one").run(0, range(5))
    Job(end.end.handle, query="two").run(0, range(5))
    assert Counter(end.wait_for(10)) == Counter([*range(5), *range(5)])


def test_a_reader_that_restarts_before_the_commit_makes_it_fail(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replay then sends everything again, and nothing was handed out before."""
    end = open_end().start()
    job = Job(end.end.handle, commitTimeout="10")
    report = job.write(0, range(40))
    end.end.close()
    again = reopened(open_end, end, monkeypatch).start()
    with pytest.raises(RStreamError, match=r"does not answer 'commit'|nothing is staged"):
        Job(end.end.handle, commitTimeout="1").commit(0, report)
    job.run(0, range(40))
    assert again.wait_for(40) == list(range(40))
    assert end.values == []


def test_a_reader_that_restarts_in_the_middle_of_a_task_makes_it_fail(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first rows are gone; Spark's retry sends all of them to the new reader."""
    end = open_end().start()
    job = Job(end.end.handle, offerTimeout="10")
    again: list[End] = []

    def batches() -> Any:
        yield batch_of(range(10))
        end.end.close()
        again.append(reopened(open_end, end, monkeypatch).start())
        yield batch_of(range(10, 20))

    began_s = time.monotonic()
    with pytest.raises(RStreamError, match=r"nothing is staged") as raised:
        _task.run(job.config, job.origin(0, 0, "t"), batches())
    assert time.monotonic() - began_s < 5, raised.value
    job.commit(0, job.write(0, range(20)))
    assert again[0].wait_for(20) == list(range(20))
    assert end.values == []


def test_a_commit_ends_by_its_time_out_when_the_reader_is_dead(open_end: OpenEnd) -> None:
    end = open_end().start()
    job = Job(end.end.handle, commitTimeout="0.5")
    report = job.write(0, range(4))
    end.end.close()
    began_s = time.monotonic()
    with pytest.raises(RStreamError, match=r"reading end of 'rows' .*does not answer 'commit'"):
        job.commit(0, report)
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize("how", ["closed", "failed"])
def test_a_reader_that_goes_before_it_answers_is_noticed(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The task ends soon, not after ``offerTimeout``: Spark tries it four times."""
    end = open_end().start()
    job = Job(end.end.handle, offerTimeout="60")
    _ends.publisher_of(job.config, 0).connect_timeout_s = 1.0
    wait_consumed = _task._Task._wait_consumed

    def wait_and_leave(task: Any, publisher: Any) -> None:
        wait_consumed(task, publisher)
        if how == "closed":
            end.end.close()
        else:
            end.end._leave(ValueError("a bug"))

    monkeypatch.setattr(_task._Task, "_wait_consumed", wait_and_leave)
    began_s = time.monotonic()
    with pytest.raises(RStreamError, match="is gone" if how == "closed" else "a bug|is gone"):
        job.write(0, range(10))
    if how == "failed":  # and another attempt hears of it, too
        with pytest.raises(RStreamError, match="ValueError: a bug"):
            job.write(0, range(10))
    assert time.monotonic() - began_s < 10


def test_a_reader_that_restarts_before_it_answers_is_asked_again(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earlier one took the message that opens committed delivery with it."""
    end = open_end().start()
    job = Job(end.end.handle, offerTimeout="60")
    ask, again = _task.ask, []

    def ask_late(config: Any, index: int, question: Any, **options: Any) -> Any:
        if not again:
            assert question.do == "begin"
            until(lambda: reading_of(end.end.source)._stage._services)
            end.end.close()
            again.append(reopened(open_end, end, monkeypatch).start())
        return ask(config, index, question, **options)

    monkeypatch.setattr(_task, "ask", ask_late)
    began_s = time.monotonic()
    job.commit(0, job.write(0, range(20)))
    assert time.monotonic() - began_s < 10
    assert again[0].wait_for(20) == list(range(20))


def test_a_reader_that_is_closed_while_it_begins_to_answer_does_not_answer(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would answer in place of the one that is opened next at its address."""
    end, began, go = open_end().start(), threading.Event(), threading.Event()
    start, close, closed = Service.start, Service.close, []

    def start_late(service: Any) -> Any:
        began.set()
        assert go.wait(TIMEOUT_S)
        return start(service)

    monkeypatch.setattr(Service, "start", start_late)
    monkeypatch.setattr(Service, "close", lambda one: (close(one), closed.append(one)))
    job = Job(end.end.handle)
    task = _task._Task(job.config, job.origin(0, 0, "t"))
    publisher = _ends.publisher_of(job.config, 0)
    publisher.send(task._opening(_task._Target(publisher, "ipc")))
    assert began.wait(TIMEOUT_S)
    closing = in_thread(end.end.close)
    until(lambda: end.end.source.is_closed)
    go.set()
    closing.join(TIMEOUT_S)
    assert len(closed) == 1


def test_a_commit_is_asked_again_when_its_reader_dies_before_the_answer(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one opened after it says by its ledger what was done already."""
    end = open_end().start()
    job = Job(end.end.handle)
    request, lost = Requester.request, []

    def lose_the_first(self: Any, question: Any, **options: Any) -> Any:
        answer = request(self, question, **options)
        if question.do == "commit" and not lost:
            lost.append(answer)
            raise ServerLost("its server has died before it answered")
        return answer

    monkeypatch.setattr(Requester, "request", lose_the_first)
    job.run(0, range(20))
    assert len(lost) == 1
    assert end.wait_for(20) == list(range(20))
    assert end.end.statistics()["repeated_epochs"] == 1


def test_rows_of_a_task_that_failed_are_not_kept(open_end: OpenEnd) -> None:
    """An error of the user's own function; Spark's worker lives on and serves other tasks."""
    end = open_end().start()
    job = Job(end.end.handle)

    def batches() -> Any:
        yield batch_of(range(10))
        raise ValueError("a bug of the user")

    for attempt in range(3):
        with pytest.raises(ValueError, match="a bug of the user"):
            _task.run(job.config, job.origin(0, 0, f"t{attempt}"), batches())
    statistics = end.end.statistics()
    assert (statistics["staged_bytes"], statistics["staged_attempts"]) == (0, 0)


def test_a_job_that_failed_leaves_nothing_at_readers_of_its_tasks(open_end: OpenEnd) -> None:
    end = open_end().start()
    job = Job(end.end.handle)
    origin = job.origin(0, 0, "t")
    _task.run(job.config, origin, iter([batch_of(range(10))]))
    assert end.end.statistics()["staged_attempts"] == 1
    _commit.abort(job.config, query=origin.query, epoch=0, token=origin.token)
    assert end.end.statistics()["staged_attempts"] == 0


def test_a_task_ends_by_its_time_out_when_the_reader_does_not_consume(open_end: OpenEnd) -> None:
    end = open_end()
    end.gate.clear()
    end.start()
    job = Job(end.end.handle, offerTimeout="0.5")
    for epoch in range(2):
        job.run(epoch, range(10 * epoch, 10 * epoch + 10))
    with pytest.raises(RStreamError, match=r"stream 'rows': epochs \[0, 1\].*offerTimeout"):
        job.run(2, range(20, 30))
    end.gate.set()
    job.run(2, range(20, 30))
    assert end.wait_for(30) == list(range(30))


def test_a_micro_batch_above_the_staging_bound_fails_early(open_end: OpenEnd) -> None:
    end = open_end(staging_bytes=100_000).start()
    job = Job(end.end.handle)
    with pytest.raises(RStreamError, match=r"no room to stage epoch 0.*staging_bytes"):
        job.write(0, range(100_000))
    job.run(0, range(10))
    assert end.wait_for(10) == list(range(10))


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_committed_rows_survive_a_restart_with_a_ledger(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    """What was not consumed is handed out again, and a replay is recognised."""

    def ledger() -> Any:
        return FileLedger(tmp_path / "rows.ledger") if kind == "file" else kept

    kept = MemoryLedger()
    first = open_end(ledger=ledger())
    first.gate.clear()
    first.start()
    job = Job(first.end.handle, rowsPerMessage="10")
    job.run(0, range(30))
    report = job.write(1, range(30, 40))
    deadline_s = time.monotonic() + TIMEOUT_S
    while first.end.statistics()["waiting"] == 3 and time.monotonic() < deadline_s:
        time.sleep(0.005)
    # It dies with a batch in hand.
    with contextlib.suppress(TimeoutError), monkeypatch.context() as patch:
        patch.setattr("rstream.ray._endpoint.CLOSE_TIMEOUT_S", 0.05)
        first.end.close()
    second = reopened(open_end, first, monkeypatch, ledger=ledger()).start()
    assert second.wait_for(30) == list(range(30))
    with pytest.raises(RStreamError, match="nothing is staged"):  # at once, by its service
        job.commit(1, report)
    assert job.run(0, range(30)).repeated == 1
    job.run(1, range(30, 40))
    assert second.wait_for(40) == list(range(40))
    second.end.close()
    third = reopened(open_end, first, monkeypatch, ledger=ledger()).start()
    job.run(2, range(40, 45))
    assert third.wait_for(5) == list(range(40, 45))


def may_repeat(end: End) -> list[tuple[int, bool]]:
    marks = [marks_of(batch) for batch in end.batches]
    return [(one.epoch, one.may_repeat) for one in marks if one]


def test_what_a_killed_reader_without_a_ledger_had_handed_out_is_marked(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Spark died as well before it had noted the commit, and replays the micro-batch."""
    first = open_end().start()
    job = Job(first.end.handle)
    job.run(0, range(10))
    job.run(1, range(10, 20))
    assert first.wait_for(20) == list(range(20))
    first.end.close()
    second = reopened(open_end, first, monkeypatch).start()
    job.run(1, range(10, 20))
    job.run(2, range(20, 30))
    assert second.wait_for(20) == list(range(10, 30))
    assert may_repeat(first) == [(0, False), (1, False)]
    assert may_repeat(second) == [(1, True), (2, False)]
    assert "query q from epoch 1 on: this reading end knows no earlier epoch" in caplog.text


def test_what_a_ledger_hands_out_anew_is_marked(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ledger = tmp_path / "rows.ledger"
    first = open_end(ledger=FileLedger(ledger))
    job = Job(first.end.handle, rowsPerMessage="5")
    first.gate.clear()
    first.start()
    job.run(3, range(10))
    with contextlib.suppress(TimeoutError), monkeypatch.context() as patch:
        patch.setattr("rstream.ray._endpoint.CLOSE_TIMEOUT_S", 0.05)
        first.end.close()
    second = reopened(open_end, first, monkeypatch, ledger=FileLedger(ledger)).start()
    assert second.wait_for(10) == list(range(10))
    job.run(4, range(10, 20))
    assert second.wait_for(20) == list(range(20))
    assert may_repeat(second) == [(3, True), (3, True), (4, False), (4, False)]


@pytest.mark.parametrize("face", ["start", "for", "async for"])
def test_only_the_batch_in_hand_is_handed_out_again(
    open_end: OpenEnd, tmp_path: Path, face: str
) -> None:
    """However fast the consumer is: what the ledger holds is what a killed one gets again."""
    path, count = tmp_path / "rows.ledger", 120
    end = open_end(ledger=FileLedger(path)).end
    held: list[int] = []

    def on_batch(_: Any) -> None:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            held.append(database.execute("SELECT count(*) FROM rows").fetchone()[0])

    def read() -> None:
        for batch in end:
            on_batch(batch)
            if len(held) == count:
                return

    async def await_all() -> None:
        async with end.aio_subscriber() as batches:
            async for batch in batches:
                on_batch(batch)
                if len(held) == count:
                    return

    if face == "start":
        end.start(on_batch)
    else:
        in_thread(read if face == "for" else lambda: asyncio.run(await_all()))
    Job(end.handle, rowsPerMessage="1").run(0, range(count))
    until(lambda: len(held) == count)
    assert held == list(range(count, 0, -1))


def test_a_ledger_file_belongs_to_one_reading_end(open_end: OpenEnd, tmp_path: Path) -> None:
    open_end(ledger=FileLedger(tmp_path / "a"))
    with pytest.raises(ConfigError, match="belongs to another reading end"):
        open_end("other", ledger=FileLedger(tmp_path / "a"))
    with pytest.raises(ConfigError, match=r"unable to open|No such file"):
        open_end("other", ledger=FileLedger(tmp_path / "none" / "a"))


def test_other_writers_are_read_as_before(open_end: OpenEnd) -> None:
    end = open_end().start()
    job = Job(end.end.handle)
    with end.end.handle.publisher() as other:
        other.send(batch_of(range(1000, 1003)))
        assert end.wait_for(3) == [1000, 1001, 1002]
        report = job.write(0, range(5))
        for number in range(200):  # more than may wait
            other.send(batch_of(range(2000 + number, 2001 + number)))
        job.commit(0, report)
        assert Counter(end.wait_for(208)) == Counter(
            [*range(1000, 1003), *range(5), *range(2000, 2200)]
        )
        assert other.wait_consumed(timeout_s=TIMEOUT_S)


def test_handed_out_rows_may_be_sent_on(open_end: OpenEnd) -> None:
    """Their marks name a commit that is over: the next reading end must not wait for one."""
    end, job_end = open_end("next").start(), open_end()
    writer = end.end.handle.publisher()
    job_end.end.start(lambda batch: writer.send(batch.slice(1)))  # keeps the marks
    job = Job(job_end.end.handle)
    for epoch in range(3):
        job.run(epoch, range(10 * epoch, 10 * epoch + 10))
    assert end.wait_for(27) == [value for value in range(30) if value % 10]
    writer.close()
    marks = [marks_of(batch) for batch in end.batches]
    assert [(one.epoch, one.delivery) for one in marks if one] == [
        (epoch, "committed") for epoch in range(3)
    ]
    assert end.end.statistics()["unstaged"] == 0


def test_eager_delivery_hands_out_at_once_and_marks(open_end: OpenEnd) -> None:
    end = open_end().start()
    Job(end.end.handle, delivery="eager").write(3, range(5))
    assert end.wait_for(5) == list(range(5))
    marks = marks_of(end.batches[0])
    assert marks is not None
    assert (marks.epoch, marks.delivery) == (3, "eager")
    assert "staged_bytes" in end.end.statistics()
    assert reading_of(end.end.source)._pump is None  # type: ignore[attr-defined]


def test_a_reader_that_does_not_commit_is_refused_before_a_row_is_sent(
    driver: Any, driver_dir: str
) -> None:
    with rstream.ray.reader("plain", codec="arrow", dir=driver_dir, udp=False) as end:
        with pytest.raises(ConfigError, match=r"rstream.ray.committed_reader\('plain'\)"):
            Job(end.handle)
        got: list[Any] = []
        end.start(got.append)
        Job(end.handle, delivery="eager").write(0, range(5))
        until(lambda: [batch.num_rows for batch in got] == [5])


@pytest.mark.parametrize("option", [{"ledger": None}, {"staging_bytes": 1}], ids=repr)
def test_a_plain_reader_names_the_one_for_committed_rows(option: dict[str, Any]) -> None:
    """Both were options of ``rstream.ray.reader`` before 0.1.0."""
    with pytest.raises(ConfigError, match="for the rows of Spark's sink") as refused:
        rstream.ray.reader(codec="arrow", **option)
    assert "rstream.ray.committed_reader(" in refused.value.hint


@pytest.mark.parametrize("package", ["pandas.DataFrame", "pyarrow.Table", "polars.DataFrame"])
def test_committed_rows_are_record_batches(package: str) -> None:
    module, _, name = package.partition(".")
    type_ = getattr(pytest.importorskip(module), name)
    with pytest.raises(ConfigError, match="objects, and Spark's rows are record batches"):
        rstream.ray.committed_reader(codec=type_)
    with pytest.raises(ConfigError, match="hands out msgpack objects"):
        rstream.ray.committed_reader(codec="msgpack")


def test_a_policy_that_drops_is_no_option_of_committed_rows() -> None:
    options: Any = {"on_slow": rstream.policy.DropOldest(4)}
    with pytest.raises(TypeError, match=r"committed_reader\(\) got an unexpected .*'on_slow'"):
        rstream.ray.committed_reader(**options)


def test_over_udp(open_end: OpenEnd, make_driver_dir: Callable[[], str]) -> None:
    """The writer is on another host, as far as both can tell."""
    end = open_end().start()
    with rstream.Driver(dir=make_driver_dir()) as far:
        job = Job(end.end.handle, driverDir=far.dir)
        job.run(0, range(20_000))
        job.run(0, range(20_000))
        job.run(1, range(20_000, 20_010))
        assert end.wait_for(20_010) == list(range(20_010))
        _ends.close_ends()


def test_broadcast_and_routing_by_key_and_by_partition(open_end: OpenEnd) -> None:
    ends = [open_end(f"rows-{number}").start() for number in range(2)]
    handles = [end.end.handle for end in ends]
    Job(*handles, routing="broadcast", query="b").run(0, range(10))
    assert [end.wait_for(10) for end in ends] == [list(range(10))] * 2
    job = Job(*handles, partitionBy="value", partitionMap='{"0": 1, "1": 0}', query="k")
    job.run(0, range(2))
    assert [end.wait_for(11)[10:] for end in ends] == [[1], [0]]
    job = Job(*handles, query="p")
    job.commit(0, *(job.write(0, range(part, part + 1), partition=part) for part in (6, 7)))
    assert [end.wait_for(12)[11:] for end in ends] == [[6], [7]]


def test_work_goes_to_readers_that_have_room(open_end: OpenEnd) -> None:
    """A reader that stands still holds what fits its window; the other one gets the rest."""
    ends = [open_end(f"rows-{number}", term_length=1 << 16) for number in range(2)]
    ends[0].gate.clear()
    for end in ends:
        end.start()
    job = Job(*(end.end.handle for end in ends), routing="work", delivery="eager", ack="sent",
              rowsPerMessage="100")  # fmt: skip
    report = job.write(0, range(50_000))
    assert (report.rows, report.messages) == (50_000, 500)
    assert len(ends[1].wait_for(45_000)) >= 45_000
    ends[0].gate.set()
    ends[0].wait_for(50_000 - len(ends[1].values))
    assert sorted(ends[0].values + ends[1].values) == list(range(50_000))
    assert ends[0].values
    stuck = Job(ends[0].end.handle, routing="work", delivery="eager", offerTimeout="0.2")
    ends[0].gate.clear()
    with pytest.raises(RStreamError, match="none of 1 readers has room"):
        stuck.write(0, range(100_000))


def test_with_several_readers_none_releases_rows_when_one_has_lost_them(
    open_end: OpenEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [open_end("rows").start(), open_end("others").start()]
    job = Job(*(end.end.handle for end in ends), routing="broadcast", commitTimeout="1")
    report = job.write(0, range(10))
    ends[1].end.close()
    with pytest.raises(RStreamError, match="does not answer 'prepare'"):
        job.commit(0, report)
    assert ends[0].values == []


def test_a_row_above_the_largest_message_is_no_error(open_end: OpenEnd) -> None:
    import pyarrow as pa

    end = open_end().start()
    job = Job(end.end.handle)
    data = b"x" * 3_000_000
    origin = dataclasses.replace(job.origin(0, 0, "t"))
    job.commit(0, _task.run(job.config, origin, [pa.record_batch({"data": [data, b"y"]})]))
    deadline_s = time.monotonic() + TIMEOUT_S
    while len(end.batches) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.005)
    assert [value for batch in end.batches for value in batch.column(0).to_pylist()] == [data, b"y"]


def test_rows_reach_an_event_loop_and_a_plain_loop(open_end: OpenEnd) -> None:
    end = open_end()
    job = Job(end.end.handle)
    received: list[int] = []

    async def read() -> None:
        async with end.end.aio_subscriber() as items:
            async for batch in items:
                received.extend(batch.column(0).to_pylist())
                if len(received) == 25:
                    return

    async def write() -> None:
        for epoch, values in enumerate((range(10), range(10, 25))):
            await asyncio.to_thread(job.run, epoch, values)

    async def both() -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await asyncio.gather(read(), write())

    asyncio.run(both())
    assert received == list(range(25))
