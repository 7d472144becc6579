"""A deadline: what is left of it before, at and behind its moment."""

from __future__ import annotations

import time

import pytest

from rstream._waits import FOREVER_S, Deadline


@pytest.fixture
def clock(monkeypatch):
    now_s = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    return now_s


@pytest.mark.parametrize(
    ("passed_s", "left_s", "slice_s", "is_over"),
    [(0.0, 5.0, 2.0, False), (4.0, 1.0, 1.0, False), (5.0, 0.0, 0.0, True), (9.0, 0.0, 0.0, True)],
)
def test_what_is_left(clock, passed_s, left_s, slice_s, is_over):
    deadline = Deadline(5.0)
    clock[0] += passed_s
    assert deadline.left_s() == left_s
    assert deadline.left_s(2.0) == slice_s
    assert deadline.is_over is is_over


def test_one_that_never_comes(clock):
    deadline = Deadline(None)
    clock[0] += 1e12
    assert not deadline.is_over
    assert deadline.left_s() == FOREVER_S
    assert deadline.left_s(2.0) == 2.0


def test_a_time_that_is_over_already(clock):
    assert Deadline(0.0).is_over
    assert Deadline(-1.0).left_s() == 0.0
