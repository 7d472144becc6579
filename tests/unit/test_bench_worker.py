"""The ends of ``rstream bench rtt --wait spin`` leave the core to a driver that needs it."""

from __future__ import annotations

import pytest

from rstream.cli import _bench_worker


class OneMessage:
    """A subscription that has a message at the third poll."""

    def __init__(self):
        self.polls = 0

    def poll(self, limit):
        self.polls += 1
        return Batch([b"echo"] if self.polls == 3 else [])


class Batch(list):
    def to_list(self):
        return list(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize(("yields", "expected"), [(True, 2), (False, 0)])
def test_an_end_that_spins_yields_with_too_few_cores(monkeypatch, yields, expected):
    count = 0

    def count_yield():
        nonlocal count
        count += 1

    monkeypatch.setattr(_bench_worker, "SPIN_YIELDS", yields)
    monkeypatch.setattr(_bench_worker.os, "sched_yield", count_yield)
    assert _bench_worker.receive_one(OneMessage(), True, float("inf")) == b"echo"
    assert count == expected
