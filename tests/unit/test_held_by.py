"""``held_by``: one enumeration, and one place that decodes the numbers of the C core."""

import pytest

import rstream
from rstream import HeldBy, _core, errors


@pytest.mark.parametrize(
    ("number", "member"),
    [
        (_core.HELD_BY_WINDOW, HeldBy.WINDOW),
        (_core.HELD_BY_RATE, HeldBy.RATE),
        (_core.HELD_BY_BUDGET, HeldBy.BUDGET),
        (_core.HELD_BY_STORAGE, HeldBy.STORAGE),
        (_core.CLOSED, HeldBy.WINDOW),
    ],
)
def test_numbers_of_the_core(number, member):
    assert HeldBy.from_core(number) is member
    assert HeldBy.from_core(number, 1) is member
    assert HeldBy.from_core(number, 0) is (HeldBy.DEMAND if member is HeldBy.WINDOW else member)


def test_members_are_the_words_that_users_compare_with():
    words = ["window", "path", "demand", "rate", "budget", "subscriber", "storage"]
    assert [str(member) for member in HeldBy] == words
    assert errors.StorageError("no room").held_by == "storage"
    assert errors.BackPressured("no room").held_by == "window"
    assert rstream.HeldBy is HeldBy
