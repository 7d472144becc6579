"""Staging: what is held, what a commit releases, what is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rstream.ledger._marks import Marks
from rstream.ledger._messages import Account, Answer, Ask, checksum
from rstream.ledger._staging import QUERIES_MAX, ROUTED, StagedBatch, Staging


@dataclass
class FakeBatch:
    """Stands for a record batch; the logic reads its number of rows alone."""

    num_rows: int


class Writer:
    """An attempt as a task makes it."""

    def __init__(
        self, staging: Staging, *, epoch: int = 0, partition: int = 0, attempt: int = 1,
        token: str = "t", query: str = "q", session_id: int = 1,
    ) -> None:  # fmt: skip
        self.staging, self.epoch, self.query = staging, epoch, query
        self.partition, self.attempt, self.token = partition, attempt, token
        self.session_id = session_id
        self.rows = self.messages = self.checksum = 0

    def ask(self, do: Any) -> Answer:
        return self.staging.answer(
            Ask(do=do, query=self.query, epoch=self.epoch, attempts=(self.account(),),
                session_id=self.session_id)
        )  # fmt: skip

    def account(self) -> Account:
        return Account(
            partition=self.partition, task_attempt=self.attempt, token=self.token,
            rows=self.rows, messages=self.messages, checksum=self.checksum,
        )  # fmt: skip

    def send(self, rows: int = 10, length_bytes: int = 100) -> None:
        marks = Marks(
            query=self.query, epoch=self.epoch, partition=self.partition, attempt=0,
            task_attempt=self.attempt, token=self.token, sequence=self.messages,
            row_offset=self.rows, sent_s=0.0, delivery="committed",
        )  # fmt: skip
        self.staging.add(StagedBatch(FakeBatch(rows), marks, length_bytes))
        self.checksum = checksum(self.checksum, self.messages, rows)
        self.rows += rows
        self.messages += 1

    def prepared(self, messages: int = 2) -> Writer:
        assert self.ask("begin").state == "go"
        for _ in range(messages):
            self.send()
        assert self.ask("prepare").state == "prepared"
        return self


def commit(
    staging: Staging, *writers: Writer, epoch: int | None = None
) -> tuple[Answer, list[StagedBatch]]:
    first = writers[0]
    ask = Ask(
        do="commit", query=first.query, epoch=first.epoch if epoch is None else epoch,
        attempts=tuple(writer.account() for writer in writers),
    )  # fmt: skip
    answer, rows = staging.start_commit(ask)
    if answer.state == "go":
        answer = staging.end_commit(ask, rows)
    return answer, rows


@pytest.fixture
def staging() -> Staging:
    return Staging("stream 'a'", 10_000)


def test_a_commit_releases_the_named_attempts_in_order(staging: Staging) -> None:
    second = Writer(staging, partition=1).prepared()
    first = Writer(staging, partition=0, attempt=2).prepared()
    assert staging.staged_bytes == 400
    answer, rows = commit(staging, second, first)
    assert answer.state == "committed"
    assert [(row.marks.partition, row.marks.sequence) for row in rows] == [
        (0, 0), (0, 1), (1, 0), (1, 1),
    ]  # fmt: skip
    assert (staging.staged_bytes, staging.attempts, staging.dropped) == (0, 0, 0)


def test_a_task_that_ran_twice_counts_once(staging: Staging) -> None:
    """Both attempts are staged under keys of their own; the commit names one."""
    loser, winner = Writer(staging, attempt=1), Writer(staging, attempt=2)
    loser.ask("begin")
    loser.send()
    winner.prepared()
    loser.send()
    _, rows = commit(staging, winner)
    assert {row.marks.task_attempt for row in rows} == {2}
    loser.send()  # late
    assert (staging.staged_bytes, staging.attempts, staging.dropped) == (0, 0, 3)


def test_a_replayed_epoch_is_recognised_at_its_begin_and_at_its_commit(staging: Staging) -> None:
    first = Writer(staging, token="one").prepared()
    other = Writer(staging, partition=1, token="one").prepared()
    assert commit(staging, first, other)[0].state == "committed"
    again = Writer(staging, token="two")
    assert again.ask("begin").state == "committed"
    assert commit(staging, again) == (Answer(state="committed"), [])
    assert staging.repeated_epochs == 2


def test_a_run_that_died_leaves_nothing_to_the_next_one(staging: Staging) -> None:
    Writer(staging, token="dead").prepared()
    replay = Writer(staging, token="new").prepared()
    assert staging.attempts == 1
    assert {row.marks.token for row in commit(staging, replay)[1]} == {"new"}


def test_missing_rows_are_named_and_nothing_is_released(staging: Staging) -> None:
    writer = Writer(staging)
    writer.ask("begin")
    writer.send(rows=7)
    writer.rows += 3  # on the way, and lost
    answer = writer.ask("prepare")
    assert answer.state == "missing"
    assert "7 of 10 rows are here" in answer.why
    answer, rows = commit(staging, writer)
    assert (answer.state, rows) == ("missing", [])
    assert commit(staging, Writer(staging, partition=9))[0].state == "missing"


def test_what_was_not_prepared_cannot_be_committed(staging: Staging) -> None:
    writer = Writer(staging)
    writer.ask("begin")
    writer.send()
    answer, _ = commit(staging, writer)
    assert answer.state == "missing"
    assert "not prepared" in answer.why


def test_the_death_of_a_writer_drops_what_it_had_not_prepared(staging: Staging) -> None:
    done = Writer(staging, partition=0, session_id=7).prepared()
    half = Writer(staging, partition=1, session_id=7)
    half.ask("begin")
    half.send()
    other = Writer(staging, partition=2, session_id=8)
    other.ask("begin")
    other.send()
    staging.lose_session(7)
    assert staging.attempts == 2
    assert half.ask("prepare").state == "missing"
    assert other.ask("look").state == "go"
    assert commit(staging, done)[0].state == "committed"


def test_too_much_for_the_bound_is_refused_early_and_frees_its_bytes(staging: Staging) -> None:
    writer = Writer(staging)
    writer.ask("begin")
    for _ in range(11):
        writer.send(length_bytes=1000)
    answer = writer.ask("look")
    assert answer.state == "refused"
    assert "staging_bytes" in answer.why
    assert staging.staged_bytes == 0
    assert writer.ask("prepare").state == "refused"
    Writer(staging, partition=1).prepared()  # another one has room


def test_the_next_epoch_waits_for_the_consumer(staging: Staging) -> None:
    """One committed epoch may wait while the next one is staged; a third one waits."""
    released = [
        commit(staging, Writer(staging, epoch=epoch, token=f"t{epoch}").prepared(messages=1))[1][0]
        for epoch in (0, 1)
    ]
    third = Writer(staging, epoch=2, token="t2")
    answer = third.ask("begin")
    assert answer.state == "wait"
    assert "[0, 1]" in answer.why
    staging.consume(released[0])
    assert third.ask("begin").state == "go"
    other = Writer(staging, query="other", epoch=5)
    assert other.ask("begin").state == "go"


def test_jobs_of_many_queries_wait_together_for_the_consumer(staging: Staging) -> None:
    """Each batch job is a query of its own; what they release has one bound."""
    released = [
        row
        for number in range(6)
        for row in commit(staging, Writer(staging, query=f"job{number}").prepared(messages=20))[1]
    ]
    one_more = Writer(staging, query="one more")
    answer = one_more.ask("begin")
    assert answer.state == "wait"
    assert "12000 bytes are committed" in answer.why
    for row in released:
        staging.consume(row)
    assert staging.waiting_bytes == 0
    assert one_more.ask("begin").state == "go"


def test_an_abort_drops_the_attempts_of_its_run(staging: Staging) -> None:
    writer = Writer(staging).prepared()
    Writer(staging, query="other").prepared()
    assert writer.ask("abort").state == "go"
    assert staging.attempts == 1
    late = writer.ask("begin")  # of a task that was still on its way
    assert (late.state, "was aborted" in late.why) == ("refused", True)
    assert Writer(staging, token="next").ask("begin").state == "go"


def test_a_failed_task_takes_its_rows_back_and_no_others(staging: Staging) -> None:
    kept, failed = Writer(staging, partition=0).prepared(), Writer(staging, partition=1)
    failed.ask("begin")
    failed.send()
    assert failed.ask("drop").state == "go"
    assert (staging.attempts, staging.staged_bytes) == (1, 200)
    again = Writer(staging, partition=1, attempt=2).prepared()
    assert len(commit(staging, kept, again)[1]) == 4


def test_a_refusal_says_how_much_other_jobs_hold() -> None:
    staging = Staging("stream 'a'", 350)
    Writer(staging, query="other").prepared()
    writer = Writer(staging)
    writer.ask("begin")
    writer.send()
    writer.send()
    assert "400 bytes, 200 of them of other jobs, and the bound is 350" in writer.ask("look").why


def test_queries_without_rows_are_forgotten_when_there_are_too_many(staging: Staging) -> None:
    for number in range(QUERIES_MAX + 10):
        commit(staging, Writer(staging, query=f"q{number}").prepared(messages=0))
    assert len(dict(staging.committed())) == QUERIES_MAX
    assert Writer(staging, query=f"q{QUERIES_MAX}").ask("begin").state == "committed"


def test_a_query_that_goes_on_at_a_reader_without_memory_is_named(staging: Staging) -> None:
    Writer(staging, query="new", epoch=0).ask("begin")
    assert staging.unknown == []
    Writer(staging, query="old", epoch=7).ask("begin")
    assert staging.unknown == ["old from epoch 7 on"]
    Writer(staging, query="old", epoch=8, token="u").ask("begin")
    assert len(staging.unknown) == 1


def test_it_is_named_as_well_when_its_first_question_is_a_commit(staging: Staging) -> None:
    """The reader died between the last row and the commit."""
    earlier = Staging("earlier", 1000)
    writer = Writer(earlier, query="old", epoch=7).prepared()
    writer.staging = staging
    assert commit(staging, writer, epoch=7)[0].state == "missing"
    assert staging.unknown == ["old from epoch 7 on"]
    Writer(staging, query="old", epoch=7, token="u").ask("begin")
    assert len(staging.unknown) == 1


def test_only_the_first_epoch_of_such_a_query_may_be_a_repeat(staging: Staging) -> None:
    for query, epoch in (("old", 7), ("new", 0)):
        commit(staging, Writer(staging, query=query, epoch=epoch).prepared(), epoch=epoch)
        commit(staging, Writer(staging, query=query, epoch=epoch + 1).prepared(), epoch=epoch + 1)
    found = [
        (query, epoch)
        for query in ("old", "new", "other")
        for epoch in (-1, 0, 1, 6, 7, 8)
        if staging.may_repeat(query, epoch)
    ]
    assert found == [("old", 7)]


def test_an_epoch_without_a_number_is_no_replay(staging: Staging) -> None:
    """Spark's names for it are internal; without them the commit alone has the number."""
    writer = Writer(staging, epoch=-1).prepared()
    assert commit(staging, writer, epoch=3)[0].state == "committed"
    assert Writer(staging, epoch=-1, token="u").ask("begin").state == "go"


def test_a_replayed_epoch_of_another_route_is_refused(staging: Staging) -> None:
    """Its rows went to other readers: a further handle got them a second time."""
    writer = Writer(staging, epoch=4).prepared()
    ask = Ask(do="commit", query="q", epoch=4, attempts=(writer.account(),), route="2 handles")
    assert staging.new_route(ask) == f"q{ROUTED}2 handles"
    staging.end_commit(ask, staging.start_commit(ask)[1])
    assert staging.new_route(ask) == ""
    remembered = dict(staging.committed()) | {f"q{ROUTED}2 handles": 4, f"q{ROUTED}1 handle": 2}
    for one in (staging, Staging("stream 'rows'", 1000, remembered)):

        def begin(epoch: int, route: str, one: Staging = one) -> Answer:
            account = Account(partition=0, task_attempt=7, token="u")
            return one.answer(
                Ask(do="begin", query="q", epoch=epoch, attempts=(account,), route=route)
            )

        refused = begin(4, "3 handles")
        assert refused.state == "refused"
        assert "epoch 4 of the query was committed here as '2 handles'" in refused.why
        assert begin(4, "2 handles").state == "committed"
        assert begin(4, "").state == "committed"
        assert begin(3, "1 handle").state == "committed"  # it had another one then
        assert begin(5, "3 handles").state == "go"
