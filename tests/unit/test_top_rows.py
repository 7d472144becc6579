"""The rows of ``rstream top``, from two looks that are written here."""

from __future__ import annotations

import math

import pytest

from rstream import metrics
from rstream._held_by import HeldBy
from rstream.cli._top_rows import CounterLook, TopRow, cells, rows
from tests.unit.test_prometheus import UDP, image, publication, slowest


def look(time_s: float, *states: object) -> CounterLook:
    return CounterLook(
        time_s=time_s,
        publications=[s for s in states if isinstance(s, metrics.PublicationState)],
        images=[s for s in states if isinstance(s, metrics.ImageState)],
    )


def row(before: object, now: object, seconds: float = 2.0) -> TopRow:
    (found,) = rows(look(10.0, before), look(10.0 + seconds, now))
    return found


def test_rate_fill_and_delay_of_a_publication() -> None:
    found = row(
        publication(position=1000, slowest=slowest(3, 600)),
        publication(position=3000, slowest=slowest(3, 2600)),
    )
    assert (found.stream, found.session_id, found.way) == ("ticks", 73, "ipc")
    assert found.bytes_per_s == 1000
    assert found.fill == 0.5
    assert found.delay_s == pytest.approx(400 / 1000)  # queued / drained per second
    assert found.state == "flows"


def test_a_large_message_in_shared_memory_counts_with_its_bytes() -> None:
    """The log has 64 bytes of each: one of 3000 bytes was sent, then two of 1000."""
    found = row(
        publication(position=64, slowest=slowest(3, 0), large_bytes=3000, segments=((64, 0),)),
        publication(
            position=192,
            slowest=slowest(3, 64),
            large_bytes=5000,
            segments=((64, 0), (128, 3000), (192, 4000)),
        ),
    )
    assert found.bytes_per_s == (2000 + 128) / 2
    assert found.fill == pytest.approx(128 / 800)  # of the log, which is fuller
    assert found.delay_s == pytest.approx((2000 + 128) / ((3000 + 64) / 2))


@pytest.mark.parametrize(
    ("large_bytes", "shown"), [(3000, "43 MB/s"), (3000 + 90_000_000, "43 MB/s + large")]
)
def test_the_limit_says_that_it_does_not_count_large_messages(large_bytes: int, shown: str) -> None:
    """The rate counts them, and may so be higher than the limit."""
    law = metrics.RateState(bytes_per_s=43_000_000, fill_naks=0, headroom=None)
    before = publication(position=64, large_bytes=3000, rate=law)
    found = row(before, publication(position=64, large_bytes=large_bytes, rate=law))
    assert cells(found)[4] == shown
    assert found.limit_bytes_per_s == 43_000_000
    assert found.bytes_per_s == (large_bytes - 3000) / 2
    (first,) = rows(None, look(10.0, before))
    assert cells(first)[4] == "43 MB/s"  # what went before it started is not known


def test_a_reader_that_stands_still_holds_the_stream() -> None:
    state = publication(position=1400, slowest=slowest(3, 600), held_by=HeldBy.WINDOW)
    found = row(state, state)
    assert found.delay_s == math.inf
    assert cells(found)[-2:] == (
        "stands",
        "waits for window: pid 4711 (subscription 9 of client 2)",
    )


def test_the_first_look_knows_no_rates() -> None:
    (found,) = rows(None, look(10.0, publication()))
    assert (found.bytes_per_s, found.delay_s) == (None, None)
    assert cells(found)[3] == cells(found)[6] == ""


def test_an_empty_queue_has_no_delay() -> None:
    state = publication(slowest=slowest(3, 1000))
    assert row(state, state).delay_s == 0.0


def test_a_session_from_another_host() -> None:
    def at(consumed: int, received: int, highest: int) -> metrics.ImageState:
        return image(session_id=-5, channel=UDP, consumed=consumed, received=received,
                     highest=highest)  # fmt: skip

    found = row(at(1000, 1000, 1000), at(5000, 6000, 6500))
    assert (found.stream, found.way) == ("prices", "from 10.0.0.7:40123")
    assert found.bytes_per_s == 2000
    assert found.delay_s == pytest.approx(1000 / 2000)
    assert "gap" in found.state


def test_a_session_that_is_published_here_has_one_row_whoever_reads_it() -> None:
    state = publication(channel=UDP, is_ipc=False, sender_position=900, sender_limit=2000)
    both = look(1.0, state, image(received=800, highest=800, channel=UDP))
    assert [one.way for one in rows(None, both)] == ["to 10.0.0.7:40123"]


def test_those_that_send_most_come_first() -> None:
    quiet, busy = publication(3), publication(4)
    found = rows(look(1.0, quiet, busy), look(2.0, quiet, publication(4, position=9000)))
    assert [one.session_id for one in found] == [74, 73]


def test_another_session_is_not_compared_with_the_one_before() -> None:
    (found,) = rows(look(1.0, publication(3)), look(2.0, publication(4, position=9000)))
    assert found.bytes_per_s is None
