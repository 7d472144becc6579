"""What a reader tells of a publisher that has gone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rstream.stream._events import Gap
from rstream.stream._images import Images
from rstream.stream._peers import Peers
from rstream.stream._report import Report

SESSION = 7


@pytest.mark.parametrize(
    ("end", "received", "to_position"),
    [
        (None, 1000, None),  # nothing more was heard of: only the publisher knows its end
        (None, 1500, 1500),
        (2000, 1000, 2000),
        (2000, 1500, 2000),
    ],
)
def test_a_gap_ends_where_the_stream_did_or_is_open(end, received, to_position):
    report = Report("ticks", 1, "event")
    source = SimpleNamespace(peers=Peers(), channel="aeron:udp?endpoint=127.0.0.1:1")
    source.peers.get(SESSION)
    Images(report, None).on_unavailable(source, SESSION, 1000, end, received)
    (gap,) = (event for event in report.events if isinstance(event, Gap))
    assert (gap.from_position, gap.to_position) == (1000, to_position)
    assert gap.length_bytes is None or gap.length_bytes > 0


def test_a_stream_that_was_read_to_its_end_has_no_gap():
    report = Report("ticks", 1, "event")
    source = SimpleNamespace(peers=Peers(), channel="aeron:udp?endpoint=127.0.0.1:1")
    source.peers.get(SESSION)
    Images(report, None).on_unavailable(source, SESSION, 2000, 2000, 2000)
    assert not any(isinstance(event, Gap) for event in report.events)
