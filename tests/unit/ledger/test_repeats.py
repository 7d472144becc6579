"""Repeated batches of eager delivery are recognised in bounded memory."""

from __future__ import annotations

import pytest

from rstream.errors import ConfigError
from rstream.ledger import Repeats
from rstream.ledger._marks import Marks, marked
from tests.unit.ledger.conftest import batch_of


def batch(epoch: int, sequence: int, *, partition: int = 0, query: str = "q", attempt: int = 0):
    marks = Marks(
        query=query, epoch=epoch, partition=partition, attempt=attempt, task_attempt=attempt,
        token="t", sequence=sequence, row_offset=0, sent_s=0.0,
    )  # fmt: skip
    return marked(batch_of(range(1)), marks)


def test_a_retried_task_and_a_replayed_epoch_are_recognised():
    repeats = Repeats()
    first = [batch(0, number) for number in range(3)]
    assert [repeats.is_new(one) for one in first] == [True] * 3
    retried = [batch(0, number, attempt=1) for number in range(5)]
    assert [repeats.is_new(one) for one in retried] == [False] * 3 + [True] * 2
    assert repeats.is_new(batch(1, 0))
    assert not repeats.is_new(batch(0, 4))
    assert repeats.is_new(batch(0, 0, partition=1))
    assert repeats.is_new(batch(0, 0, query="other"))


def test_batches_without_marks_are_new():
    repeats = Repeats()
    assert repeats.is_new(batch_of(range(1)))
    assert repeats.is_new(batch_of(range(1)))


def test_memory_is_bounded():
    repeats = Repeats(partitions_max=2)
    for partition in range(3):
        assert repeats.is_new(batch(0, 0, partition=partition))
    assert not repeats.is_new(batch(0, 0, partition=2))
    assert repeats.is_new(batch(0, 0, partition=0)), "the one that was idle longest is forgotten"
    with pytest.raises(ConfigError, match="partitions_max"):
        Repeats(0)
