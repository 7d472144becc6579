"""A signal handler raises at each place inside a read from the queue behind an Observable."""

from __future__ import annotations

from itertools import count, islice

import pytest

pytest.importorskip("reactivex")

from rstream.rx._to_publisher import ObservableReader
from tests.interrupts import at_each_place

from .sources import ThreadSource


def get(reader, got):
    for _ in range(3):
        got.append(reader.get(timeout_s=5))


def poll(reader, got):
    reader.wait(5)
    got += reader.poll(3)


def demanded(reader, got):
    reader.wait(5)
    got += reader.poll_demanded(3)


def items(reader, got):
    for item in islice(reader, 3):
        got.append(item)


def batches(reader, got):
    for some in islice(reader.batches(), 2):
        got += some


# CPython prints and drops what a handler raises where a generator is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("face", [get, poll, demanded, items, batches])
def test_interrupts_of_a_read_lose_nothing(face):
    source = ThreadSource(count())
    reader = ObservableReader(source.observable, 16)
    got, seen = [], 0

    def check(where):
        nonlocal seen
        assert got[seen:] == list(range(seen, len(got))), where
        seen = len(got)

    try:
        assert at_each_place(lambda: face(reader, got), check) > 10
        face(reader, got)
        check("no interrupt")
    finally:
        reader.close()
    assert source.is_done.wait(20)
