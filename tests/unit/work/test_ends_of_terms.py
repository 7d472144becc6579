"""The end of a term: an offer that is refused there has moved the position by padding."""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from typing import Any, cast

import pytest

from rstream import codecs, stream, work
from rstream.errors import ReadTimeout
from rstream.ray._members import PoolLane
from tests.support import free_port, until

SIZES = (100, 3_000, 20_000, 60_000)


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return None if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


def test_only_what_was_taken_moves_the_sent_position(driver_dir, name, channel):
    rng = random.Random(43)
    channels = None if channel is None else [channel]
    with (
        stream.reader(name, channels=channels, codec=codecs.raw(), dir=driver_dir) as reader,
        stream.publisher(
            name, channel=channel, codec=codecs.raw(), linger_s=0, dir=driver_dir
        ) as publisher,
    ):
        until(lambda: publisher.is_connected)
        lane = PoolLane(cast("Any", None), publisher, threading.Event())
        taken = padded = 0
        deadline_s = time.monotonic() + 20
        while padded < 3:
            assert time.monotonic() < deadline_s
            before = publisher.position, publisher.sent_position
            position = lane.offer(bytes(rng.choice(SIZES)))
            if position > 0:
                taken += 1
                assert publisher.sent_position == publisher.position == position
            else:
                padded += publisher.position > before[0]
                assert publisher.sent_position == before[1]
                reader.poll(rng.choice((1, 3, 50)))
        assert lane.done_upto(publisher.position) == taken
    assert publisher.sent_position < 0


def test_a_job_that_had_no_room_is_given_once(driver_dir, name, channel):
    rng = random.Random(43)
    with (
        work.subscriber(name, bytes, channel=channel, prefetch=64, dir=driver_dir) as reader,
        work.publisher(name, bytes, channel=channel, linger_s=0, dir=driver_dir) as jobs,
    ):
        until(lambda: jobs.readers == 1)
        (seat,) = jobs._giving._desk.seats.values()
        lane = cast("stream.Publisher[bytes]", seat.publisher)
        taken = padded = 0
        deadline_s = time.monotonic() + 20
        while padded < 2:
            assert time.monotonic() < deadline_s
            before = lane.position
            if jobs.offer(bytes(rng.choice(SIZES))):
                taken += 1
                continue
            padded += lane.position > before
            with suppress(ReadTimeout):
                job = reader.get(timeout_s=0.01)
                assert job.delivery == 1
                job.ack()
        taken += jobs.offer(b"")  # it looks at the one before
        assert jobs.statistics()["sent"] == taken
