"""What a reader tells of a publisher that has gone."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import rstream
from rstream._core import ImageEvent
from rstream.errors import MessagesLost, PublisherLost
from rstream.stream._events import EVENTS_MAX, Gap, Lost
from rstream.stream._parts import ENDED, NO_SEGMENT, PART_LOST, TOO_LONG
from rstream.stream._reading import _images
from rstream.stream._reading._gaps import EVICTED, Gaps
from rstream.stream._reading._images import Images
from rstream.stream._reading._peers import Left, Peers
from rstream.stream._reading._report import Report
from rstream.stream._reading._tails import tail_of

SESSION = 7

NO_SOCKET = SimpleNamespace(channel_status_id=-1)


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
    source = SimpleNamespace(
        core=NO_SOCKET, peers=Peers(), channel="aeron:udp?endpoint=127.0.0.1:1"
    )
    source.peers.get(SESSION)
    Images(report, None).on_unavailable(source, SESSION, 1000, end, received)
    (gap,) = (event for event in report.events if isinstance(event, Gap))
    assert (gap.from_position, gap.to_position) == (1000, to_position)
    assert gap.length_bytes is None or gap.length_bytes > 0


def test_a_stream_that_was_read_to_its_end_has_no_gap():
    report = Report("ticks", 1, "event")
    source = SimpleNamespace(
        core=NO_SOCKET, peers=Peers(), channel="aeron:udp?endpoint=127.0.0.1:1"
    )
    source.peers.get(SESSION)
    Images(report, None).on_unavailable(source, SESSION, 2000, 2000, 2000)
    assert not any(isinstance(event, Gap) for event in report.events)


@pytest.mark.parametrize(
    ("name", "end", "received", "is_lost"),
    [
        ("ticks", 2000, 2000, False),  # nothing of it is missing, and it may be a plain Aeron one
        ("ticks", 2000, 1500, True),
        ("ticks", None, 1000, True),
        ("", 2000, 1500, False),
    ],
)
def test_a_publisher_cut_off_in_its_first_message_is_lost(name, end, received, is_lost):
    report = Report(name, 1, "raise")
    source = SimpleNamespace(core=NO_SOCKET, peers=Peers(), channel="aeron:ipc")
    source.peers.get(SESSION)
    position = 2000 if end == received else 1000
    Images(report, None).on_unavailable(source, SESSION, position, end, received)
    assert [type(error) for error in report.errors] == [PublisherLost] * is_lost


@pytest.mark.parametrize("number", [TOO_LONG, PART_LOST, ENDED, NO_SEGMENT])
def test_a_publisher_whose_only_message_was_skipped_is_lost(number):
    report = Report("ticks", 1, "raise")
    source = SimpleNamespace(core=NO_SOCKET, peers=Peers(), channel="aeron:ipc")
    images = Images(report, None)
    event = ImageEvent(("skipped", SESSION, 0, 0, 2000, 1500, "", 0, 0, 9000, number, 0, -1))
    images.on_message_skipped(source, event)
    images.on_unavailable(source, SESSION, 2000, 2000, 2000)
    assert type(report.errors[-1]) is PublisherLost


def open_gaps(report):
    return [event for event in report.events if isinstance(event, Gap)]


def test_a_session_that_comes_back_where_it_was_left_has_no_gap():
    report = Report("ticks", 1, "event")
    images = Images(report, Gaps(report, "raise"))
    images.expect({SESSION: Left(1000, 5)}, "given up", due_s=5.0, is_here=True)
    images.report_missing(4.9)
    source = SimpleNamespace(core=NO_SOCKET, peers=Peers(), channel="")
    images.on_available(source, SESSION, 1000, "aeron:ipc", 5)
    images.report_missing(5.0)
    assert open_gaps(report) == []


@pytest.mark.parametrize(
    ("on_lost", "on_gap", "reason", "is_raised"),
    [
        ("raise", "raise", "given up", True),
        ("raise", "resume", "given up", False),
        ("event", "raise", "given up", False),  # publishers come and go there
        ("raise", "raise", EVICTED, False),  # the user's policy said that it joins again
    ],
)
def test_a_session_that_comes_back_further_ahead_has_one_exact_gap(
    on_lost, on_gap, reason, is_raised, caplog
):
    report = Report("ticks", 1, on_lost)
    gaps = Gaps(report, on_gap)
    images = Images(report, gaps)
    images.expect({SESSION: Left(1000, 5)}, reason, due_s=5.0, is_here=True)
    source = SimpleNamespace(core=NO_SOCKET, peers=Peers(), channel="")
    images.on_available(source, SESSION, 1300, "aeron:ipc", 5)
    images.report_missing(5.0)
    (gap,) = open_gaps(report)
    assert (gap.from_position, gap.to_position, gap.reason) == (1000, 1300, reason)
    assert "positions 1000 to 1300 (300 bytes) are lost" in caplog.text
    assert (report.gaps, report.skipped_bytes) == (1, 300)
    assert gaps.is_waiting == is_raised
    if is_raised:
        with pytest.raises(MessagesLost, match="1000 to 1300") as caught:
            gaps.handle(1)
        assert "its publisher went on while this reader was away" in caught.value.hint
        assert "other readers" not in str(caught.value)  # there may be none


@pytest.mark.parametrize(("initial_term_id", "again_until"), [(5, 1000), (6, 0)])
def test_what_comes_again_of_the_same_stream_is_known(initial_term_id, again_until):
    report = Report("ticks", 1, "event")
    images = Images(report, Gaps(report, "raise"))
    images.expect({SESSION: Left(1000, 5)}, "given up", due_s=5.0, is_here=True)
    source = SimpleNamespace(core=NO_SOCKET, peers=Peers(), channel="")
    images.on_available(source, SESSION, 700, "aeron:ipc", initial_term_id)
    peer = source.peers.get(SESSION)
    assert (peer.position, peer.again_until) == (again_until or 700, again_until)
    # of a publisher that began anew under its old session id nobody knows what it sent before
    assert [gap.from_position for gap in open_gaps(report)] == ([] if again_until else [1000])


def test_a_session_that_does_not_come_back_has_an_open_gap_once(caplog):
    report = Report("ticks", 1, "event")
    images = Images(report, Gaps(report, "raise"))
    images.expect({SESSION: Left(1000, 5)}, "given up", due_s=5.0, is_here=True)
    images.report_missing(4.9)
    assert open_gaps(report) == []
    images.report_missing(5.0)
    images.report_missing(9.0)
    (gap,) = open_gaps(report)
    assert (gap.from_position, gap.to_position, gap.reason) == (1000, None, "given up")
    assert "delivered up to position 1000" in caplog.text


@pytest.mark.parametrize("is_here", [True, False])
def test_a_session_that_ended_meanwhile_is_lost_where_its_driver_lives(is_here):
    report = Report("ticks", 1, "raise")
    gaps = Gaps(report, "raise")
    images = Images(report, gaps)
    left = {SESSION: Left(1000, 5, "aeron:ipc", "aeron:ipc")}
    images.expect(left, "given up", due_s=5.0, is_here=is_here)
    images.report_missing(4.9)
    assert not report.errors
    images.report_missing(5.0)
    images.report_missing(9.0)
    # else its publisher may come back with another session, and a loop waits for it
    assert [type(error) for error in report.errors] == [PublisherLost] * is_here
    assert sum(isinstance(event, Lost) for event in report.events) == is_here
    assert gaps.is_waiting != is_here
    if is_here:
        (error,) = report.errors
        assert "while this reader was away (given up); last position 1000" in str(error)
        assert (error.session_id, error.position) == (SESSION, 1000)
    else:
        with pytest.raises(MessagesLost, match="if anything, is lost: given up") as caught:
            gaps.handle(1)
        assert (caught.value.gap.from_position, caught.value.gap.to_position) == (1000, None)


@pytest.mark.parametrize(("on_lost", "on_gap"), [("event", "raise"), ("raise", "resume")])
def test_an_open_gap_is_an_event_where_the_policy_says_so(on_lost, on_gap):
    report = Report("ticks", 1, on_lost)
    gaps = Gaps(report, on_gap)
    images = Images(report, gaps)
    images.expect({SESSION: Left(1000, 5)}, "driver lost", due_s=0.0, is_here=False)
    images.report_missing(0.0)
    assert len(open_gaps(report)) == 1
    assert not gaps.is_waiting


class FakeTail:
    """As of a log of this host."""

    def __init__(self, position):
        self.at, self.is_closed = position, False

    def position(self):
        return self.at

    def close(self):
        self.is_closed = True


@pytest.fixture
def local(monkeypatch):
    """A reader that is left by its driver, the tail of its publisher, and what comes then."""
    report = Report("ticks", 1, "raise")
    gaps = Gaps(report, "raise")
    tails = {3: FakeTail(1000), 4: FakeTail(0)}
    monkeypatch.setattr(_images, "tail_of", lambda directory, number: tails.get(number))
    images = Images(report, gaps, "/nowhere")
    source = SimpleNamespace(core=NO_SOCKET, peers=Peers(), channel="aeron:ipc")
    images.on_available(source, SESSION, 0, "aeron:ipc", 5, 3)
    images.expect({SESSION: Left(1000, 5)}, "driver lost", due_s=2.0, is_here=False)
    return SimpleNamespace(images=images, gaps=gaps, tail=tails[3], source=source, report=report)


def test_what_a_publisher_wrote_after_the_death_of_its_driver_is_an_exact_gap(local):
    local.images.report_missing(1.9)
    local.tail.at = 1300
    assert local.images.is_missing_some
    local.images.on_available(local.source, 8, 0, "aeron:ipc", 6, 4)  # its next session
    with pytest.raises(MessagesLost, match=r"1000 to 1300 \(300 bytes\) are lost: driver lost"):
        local.gaps.handle(1)
    assert local.tail.is_closed
    assert not local.images.is_missing_some


def test_a_publisher_that_wrote_nothing_more_has_no_gap(local):
    local.images.on_available(local.source, 8, 0, "aeron:ipc", 6, 4)
    assert local.images.is_missing_some  # it may be another publisher's
    local.images.report_missing(2.0)
    assert open_gaps(local.report) == []
    assert not local.gaps.is_waiting
    assert local.tail.is_closed
    assert not local.images.is_missing_some


def test_a_publisher_that_never_came_back_has_its_gap_when_it_is_due(local):
    local.tail.at = 1300
    local.images.report_missing(2.0)
    assert [(gap.from_position, gap.to_position) for gap in open_gaps(local.report)] == [
        (1000, 1300)
    ]


def test_the_tail_of_a_log_is_where_its_publisher_has_written_to(driver_dir, name):
    with (
        rstream.subscriber(name, bytes, dir=driver_dir) as sub,
        rstream.publisher(name, bytes, dir=driver_dir) as pub,
    ):
        for count in range(1, 4):
            pub.send(b"x" * 100_000)
            assert len(sub.get(timeout_s=10)) == 100_000
            logs = Path(driver_dir, "publications").glob("*.logbuffer")
            newest = max(int(path.stem) for path in logs)
            tail = tail_of(driver_dir, newest)
            assert tail.position() == pub.position > 100_000 * count
            tail.close()
        assert tail_of(driver_dir, 12_345_678) is None


def test_the_tail_of_a_log_holds_no_descriptor(driver_dir, name):
    with (
        rstream.subscriber(name, bytes, dir=driver_dir) as sub,
        rstream.publisher(name, bytes, dir=driver_dir) as pub,
    ):
        pub.send(b"x")
        assert sub.get(timeout_s=10) == b"x"
        places = []
        for number in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # that of the listing itself
                places.append(os.readlink(f"/proc/self/fd/{number}"))
        assert [place for place in places if driver_dir in place and "logbuffer" in place] == []


@pytest.mark.parametrize("length", [0, 100, 4097])
def test_a_file_that_is_no_log_has_no_tail(tmp_path, length):
    (tmp_path / "publications").mkdir()
    (tmp_path / "publications" / "7.logbuffer").write_bytes(bytes(length))
    assert tail_of(str(tmp_path), 7) is None


def test_a_function_gets_an_open_gap():
    report = Report("ticks", 1, "raise")
    gaps = Gaps(report, lambda gap: [gap.from_position, gap.to_position])
    images = Images(report, gaps)
    images.expect({SESSION: Left(1000, 5)}, "driver lost", due_s=0.0, is_here=False)
    images.report_missing(0.0)
    assert gaps.handle(2) == [1000, None]


def test_the_oldest_of_too_many_sessions_is_reported_and_forgotten():
    report = Report("ticks", 1, "event")
    images = Images(report, Gaps(report, "raise"))
    images.expect(
        dict.fromkeys(range(EVENTS_MAX + 1), Left(1000, 5)), "given up", due_s=5.0, is_here=True
    )
    (gap,) = open_gaps(report)
    assert gap.session_id == 0
