"""The read loop, over a source that is a script."""

from __future__ import annotations

import pytest

from rstream.stream._pump import batches


class Script:
    """Each poll returns, or raises, the next entry."""

    def __init__(self, *polls):
        self.polls = list(polls)
        self.limits = []
        self.waits = []

    def poll(self, limit):
        self.limits.append(limit)
        entry = self.polls.pop(0)
        if isinstance(entry, Exception):
            raise entry
        return entry

    @property
    def is_ended(self):
        return not self.polls

    def wait(self, timeout_s):
        self.waits.append(timeout_s)


def test_it_waits_only_when_nothing_is_there_and_ends_with_the_source():
    source = Script([1, 2], [], [3], [])
    assert list(batches(source, lambda: False, wait_s=0.5)) == [[1, 2], [3]]
    assert source.waits == [0.5]
    assert source.limits == [None] * 4


def test_the_caller_may_say_how_much_and_when_it_ends():
    source = Script([], [1], [])
    limits = iter((3, 2, 1))
    ends = iter((False, True))
    assert list(
        batches(source, lambda: False, limit=lambda: next(limits), is_ended=lambda: next(ends))
    ) == [[1]]
    assert source.limits == [3, 2, 1]
    assert source.waits == [None]


def test_a_stopped_loop_polls_no_more():
    source = Script([1], [2])
    stops = iter((False, True))
    assert list(batches(source, lambda: next(stops))) == [[1]]
    assert source.polls == [[2]]


def test_after_an_error_a_new_iteration_goes_on():
    source = Script([1], ValueError("once"), [2], [])
    seen = []
    with pytest.raises(ValueError, match="once"):
        seen.extend(batches(source, lambda: False))
    seen.extend(batches(source, lambda: False))
    assert seen == [[1], [2]]
