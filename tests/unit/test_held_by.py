"""``held_by``: one enumeration, and one place that decodes the numbers of the C core."""

from dataclasses import replace

import pytest

import rstream
from rstream import HeldBy, _core, errors, metrics
from rstream._facts import SlowestReader


@pytest.mark.parametrize(
    ("number", "member"),
    [
        (_core.HELD_BY_WINDOW, HeldBy.WINDOW),
        (_core.HELD_BY_RATE, HeldBy.RATE),
        (_core.HELD_BY_BUDGET, HeldBy.BUDGET),
        (_core.HELD_BY_STORAGE, HeldBy.STORAGE),
        (_core.HELD_BY_PATH, HeldBy.PATH),
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


@pytest.mark.parametrize(
    ("received", "is_path"),
    [(None, False), (100, True), (400, True), (600, False), (1100, False)],
)
def test_a_reader_that_has_read_what_has_arrived_is_not_to_blame(received, is_path):
    """It has consumed 100 bytes, and 1100 were sent: half of the rest must have arrived."""
    assert receiver(received_position=received).waits_for_path(1100) is is_path


def receiver(**facts):
    """A receiver that has consumed 100 bytes."""
    given = {
        "publication_id": 1,
        "is_local": False,
        "reader_id": 2,
        "client_id": None,
        "pid": None,
        "source": "10.0.0.7:40123",
        "since_ms": 0,
        "position": 100,
        "window_bytes": 1000,
    }
    return SlowestReader(**given | facts)


@pytest.mark.parametrize(
    ("waiting", "room", "held_by"),
    [
        (2_000, 0, HeldBy.WINDOW),
        (1_000, 1_000, HeldBy.WINDOW),  # it has taken one of two
        (900, 1_100, None),
        (300_000, 200_000, None),  # a long window is full when it is full
        (300_000, 0, HeldBy.WINDOW),
    ],
)
def test_a_short_window_holds_also_just_after_a_taking(
    driver, driver_dir, name, monkeypatch, waiting, room, held_by
):
    """Else a look finds a slow reader only now and then."""
    monkeypatch.setattr(
        _core, "read_held_by", lambda *_: _core.LimitCause((_core.HELD_BY_WINDOW, 0, 0))
    )
    with rstream.publisher(name, dir=driver_dir, linger_s=0):
        (state,) = metrics.publications(driver_dir)
    position = 100 + waiting
    state = replace(state, position=position, limit=position + room, slowest=receiver())
    assert metrics._held_by(driver_dir, state).get("held_by") is held_by
