"""Two drivers on one machine act as two hosts.

A budget limits the unacknowledged bytes of a peer; a reader that no longer polls is evicted.
"""

from __future__ import annotations

import contextlib
import threading
import time

import pytest

from rstream import metrics, stream
from rstream.cli import _stat
from rstream.config import DriverConfig
from rstream.driver import Driver
from rstream.errors import BackPressured, NotConnected
from tests.support import free_port, until

PAYLOAD = b"x" * 1000
LONG_S = 30.0


def until_connected(pub):
    deadline = time.monotonic() + LONG_S
    while not pub.is_connected:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def hosts(tmp_path):
    """Open a driver for the writer and one for the reader, with these options."""
    drivers = []

    def start(here, there):
        for name, options in (("here", here), ("there", there)):
            config = DriverConfig(threading="shared", options=options)
            drivers.append(Driver(dir=str(tmp_path / name), config=config))
        return [driver.dir for driver in drivers]

    yield start
    for driver in drivers:
        driver.close()


def test_a_budget_holds_a_publisher_and_is_reported(hosts):
    here, there = hosts({}, {"budget": "static", "budget-bytes": "20000"})
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        stream.subscriber("held", bytes, channel=channel, dir=there) as sub,
        stream.publisher("held", bytes, channel=channel, dir=here, linger_s=0) as pub,
    ):
        pub.send(PAYLOAD, timeout_s=LONG_S)
        assert sub.wait(LONG_S)
        sent = 1
        with pytest.raises(
            BackPressured, match="as much is under way as their driver grants"
        ) as held:
            while sent < 100_000:
                pub.send(PAYLOAD, timeout_s=0.5)
                sent += 1
        assert held.value.held_by == "budget"
        under_way = sub.statistics()["fill_bytes"]
        assert 20_000 <= under_way < 20_000 + 1408
        while pub.offer(PAYLOAD) > 0:
            pass
        until(lambda: [state.held_by for state in metrics.publications(here)] == ["budget"])
        assert "grants: the budget holds it" in "\n".join(_stat.screen(here, 2, {}, 0.0, False)[0])
        while pub.offer(PAYLOAD) > 0:
            sent += 1
        received = 0
        while received < sent:
            assert sub.wait(LONG_S)
            received += len(sub.poll())
        assert received == sent
        pub.send(PAYLOAD, timeout_s=LONG_S)  # there is room again


def test_a_reader_that_does_not_poll_is_evicted_with_an_error(hosts):
    here, there = hosts({"noop-interval": "200ms"}, {})
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        stream.subscriber("hung", bytes, channel=channel, dir=there) as sub,
        stream.publisher("hung", bytes, channel=channel, dir=here, linger_s=0) as pub,
    ):
        until_connected(pub)
        for number in range(10):
            pub.send(b"%d" % number, timeout_s=LONG_S)
        pub.connect_timeout_s = 0.2
        with pytest.raises(
            NotConnected, match="the reader does not poll; it is given up until it answers"
        ):
            for _ in range(100_000):
                with contextlib.suppress(BackPressured):  # the window may be full before the budget
                    pub.send(b"more", timeout_s=0.05)
        received: list[bytes] = []
        is_back = threading.Event()

        def read() -> None:
            while not is_back.is_set():
                sub.wait(0.05)
                received.extend(sub.poll())

        reader = threading.Thread(target=read)
        reader.start()
        try:
            until_connected(pub)
        finally:
            is_back.set()
            reader.join(LONG_S)
        assert received[:10] == [b"%d" % number for number in range(10)]
