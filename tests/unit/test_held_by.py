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
    ("received", "rate", "is_followed", "held_by"),
    [
        (1000, 9_000, True, HeldBy.RATE),  # the reader has data to read
        (1000, 9_000, False, HeldBy.PATH),
        (200, 9_000, True, HeldBy.PATH),  # most of it is on the way
        (100, 9_000, True, HeldBy.PATH),
        (100, 1_000, True, HeldBy.RATE),  # it asks for less than the path carries
    ],
)
def test_the_pace_of_the_path_is_not_what_is_slow(
    driver, driver_dir, name, monkeypatch, received, rate, is_followed, held_by
):
    """The sender notes the path whenever a datagram waits for its pace: here, at each look."""
    monkeypatch.setattr(_core, "read_held_by", lambda *_: (_core.HELD_BY_PATH, 0, 0))
    with rstream.publisher(name, dir=driver_dir, linger_s=0):
        (state,) = metrics.publications(driver_dir)
    state = replace(
        state,
        position=1100,
        sender_position=1000,
        rate=metrics.RateState(bytes_per_s=rate, fill_naks=0, headroom=None),
        path=metrics.PathState(
            bandwidth_bytes_per_s=5_000, least_rtt_ns=1_000_000, loss_ratio=0.0, under_way_bytes=500
        ),
        slowest=receiver(received_position=received),
        followed=receiver(is_report=True) if is_followed else None,
    )
    assert metrics._held_by(driver_dir, state)["held_by"] is held_by
