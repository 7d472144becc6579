"""Reports of readers: what a publisher does not believe, and states longer than a report."""

from __future__ import annotations

import random

import pytest

from rstream import stream, work
from rstream.work._ledger import JobLedger, pieces
from rstream.work._protocol import (
    PREFETCH_MAX,
    REPORT_BYTES_MAX,
    REPORT_NUMBERS_MAX,
    LaneReport,
    ReaderReport,
    reports_id,
)
from tests.support import free_port, until

from .test_desk import report_of


@pytest.fixture
def udp(driver_dir, name):
    """A publisher on UDP, and what a stranger reports to it with."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        work.publisher(name, channel=channel, linger_s=0, dir=driver_dir) as jobs,
        stream.publisher(
            name,
            ReaderReport,
            channel=channel,
            stream_id=reports_id(name),
            linger_s=0,
            dir=driver_dir,
        ) as control,
    ):
        yield jobs, control


def report(control, endpoint, *, reader=7, session=None, **changes):
    made = report_of(reader, session=control.session_id if session is None else session)
    made.endpoint = endpoint
    for key, value in changes.items():
        setattr(made, key, value)
    return made


@pytest.mark.parametrize(
    "endpoint",
    ["127.0.0.9:4000", "localhost:4000", "", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:70000", ":1"],
)
def test_jobs_go_nowhere_but_to_the_address_of_the_report(udp, endpoint):
    jobs, control = udp
    control.send(report(control, endpoint))
    until(lambda: jobs._giving.seating.refusal)
    assert jobs.readers == 0
    assert "open it with host= the numeric address" in jobs._giving.seating.refusal


def test_a_session_reports_for_one_reader_and_as_itself(udp):
    jobs, control = udp
    control.send(report(control, f"127.0.0.1:{free_port()}"))
    until(lambda: jobs.readers == 1)
    control.send(report(control, f"127.0.0.1:{free_port()}", reader=8))
    until(lambda: "more than one reader" in jobs._giving.seating.refusal)
    control.send(report(control, f"127.0.0.1:{free_port()}", session=12345))
    until(lambda: "as session 12345" in jobs._giving.seating.refusal)
    assert jobs.readers == 1


def test_a_long_report_is_skipped(udp):
    jobs, control = udp
    endpoint = f"127.0.0.1:{free_port()}"
    lane = LaneReport(1, 1, 1, beyond=list(range(1_000_000)))
    control.send(report(control, endpoint, lanes=[lane]))
    control.send(report(control, endpoint))
    until(lambda: jobs.readers == 1)
    assert jobs._giving.seating._reports.statistics()["refused"] == 1


def test_a_reader_in_shared_memory_names_no_address(driver_dir, name):
    with (
        work.publisher(name, linger_s=0, dir=driver_dir) as jobs,
        stream.publisher(
            name, ReaderReport, stream_id=reports_id(name), linger_s=0, dir=driver_dir
        ) as control,
    ):
        control.send(report(control, "127.0.0.1:4000"))
        until(lambda: "names an address" in jobs._giving.seating.refusal)
        assert jobs.readers == 0


def test_any_state_goes_in_reports_that_are_short_enough():
    """What was given back is never acknowledged, whichever piece is lost or seen first."""
    rng = random.Random(43)
    ledger = JobLedger(PREFETCH_MAX)
    returned: dict[int, set[int]] = {}
    for lane in (1, 2, 3):
        for number in range(1, 9001):
            ledger.received(lane, number)
        back = set(rng.sample(range(1, 9001), 3000))
        for number in range(1, 9001):
            if number in back:
                ledger.give_back(lane, number)
            elif rng.random() < 0.5:
                ledger.done(lane, number)
        returned[lane] = back
    whole = {one.lane: one for one in ledger.reports()}
    *partial, last = found = pieces(ledger.reports())
    assert partial
    told: dict[int, set[int]] = {1: set(), 2: set(), 3: set()}
    beyond: dict[int, set[int]] = {1: set(), 2: set(), 3: set()}
    for piece in found:
        numbers = sum(len(one.returned) + len(one.beyond) for one in piece)
        assert numbers <= REPORT_NUMBERS_MAX
        assert numbers * 9 < REPORT_BYTES_MAX
        for one in piece:
            told[one.lane].update(one.returned)
            beyond[one.lane].update(one.beyond)
            done = set(range(1, one.upto + 1)) | set(one.beyond)
            assert done & returned[one.lane] <= told[one.lane]
    assert told == returned
    for one in last:
        assert beyond[one.lane] == set(whole[one.lane].beyond)
        assert (one.upto, one.held) == (whole[one.lane].upto, whole[one.lane].held)
