"""A signal handler raises at each place inside a read from the queue behind an Observable."""

from __future__ import annotations

from itertools import count, islice

import pytest

pytest.importorskip("reactivex")

from reactivex import Subject
from reactivex.scheduler import CurrentThreadScheduler, ImmediateScheduler

from rstream.rx import observe_on_bounded
from rstream.rx._to_publisher import ObservableReading
from rstream.stream._internal import face_of, reading_of
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
    got += reading_of(reader).poll_demanded(3)


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
    reader = face_of(ObservableReading(source.observable, 16))
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


def emitted(subject, scheduler):
    for number in range(4):
        subject.on_next(number)


def emitted_inside(subject, scheduler):
    scheduler.schedule(
        lambda *_: emitted(subject, scheduler)
    )  # the queue's own action is behind it


@pytest.mark.parametrize("scheduler", [CurrentThreadScheduler(), ImmediateScheduler()])
@pytest.mark.parametrize("emits", [emitted, emitted_inside])
def test_an_interrupt_of_a_delivery_ends_it_and_does_not_stall_it(emits, scheduler):
    """It delivers all, or has left its source; it never keeps the source without a delivery."""
    subject, got = Subject(), []
    is_inside = emits is emitted_inside  # RxPY drops all actions of an interrupted trampoline

    def call():
        nonlocal subject
        subject = Subject()
        got.clear()
        subject.pipe(observe_on_bounded(scheduler, 2)).subscribe(got.append)
        emits(subject, scheduler)

    def check(where):
        known = list(got)
        assert known == list(range(len(known))), where
        for _ in range(3 if is_inside else 1):  # one more than wait
            subject.on_next("more")
        assert len(got) > len(known) or not subject.observers, where

    assert at_each_place(call, check) > 20
    assert got == [0, 1, 2, 3]
