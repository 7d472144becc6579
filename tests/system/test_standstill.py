"""A driver that stands still longer than its time-outs, or dies: no loop over UDP ends as if it had
got everything. It raises MessagesLost, or PublisherLost when its publisher was given up.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from itertools import pairwise

import pytest

from rstream import _core, stream
from rstream.config import DriverConfig
from rstream.driver import ensure_driver
from rstream.errors import MessagesLost, PublisherLost, RStreamError
from tests.support import free_port, until

SHORT = DriverConfig(
    client_liveness_timeout_s=1.0,
    timer_interval_s=0.1,
    image_liveness_timeout_s=1.0,
    publication_linger_timeout_s=0.2,
    idle_exit_s=5.0,
    options={"publication-connection-timeout": "1s"},
)
STANDSTILL_S = 3.0


class Writer:
    """Sends numbers until it is told to end."""

    def __init__(self, name, directory, channel):
        self._address = {"dir": directory, "channel": channel}
        self._name = name
        self._is_told = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self):
        with (
            suppress(RStreamError),  # its driver may be the one that stands still
            stream.publisher(self._name, **self._address, linger_s=0.5) as pub,
        ):
            number = 0
            while not self._is_told.wait(0.002):
                number += pub.offer(number) > 0

    def end(self):
        self._is_told.set()
        self._thread.join()


@pytest.fixture
def directories(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("RSTREAM_DRIVER_TIMEOUT", "1s")
    made = [str(tmp_path_factory.mktemp(one) / "driver") for one in ("writer", "reader")]
    for directory in made:
        ensure_driver(directory, config=SHORT)
    yield made
    for directory in made:
        with suppress(RStreamError, ProcessLookupError):
            os.kill(_core.driver_info(directory).pid, signal.SIGTERM)


def read_all(sub, got):
    for number in sub:
        got.append(number)


def check_order(got, sub):
    """What is missing was told. With these short time-outs a busy machine loses drivers of its own
    accord, and the writer comes back with another session.
    """
    assert all(number < later for number, later in pairwise(got))
    losses = sum(isinstance(event, stream.SessionChanged) for event in sub.events())
    gaps = sum(later != number + 1 for number, later in pairwise(got))
    assert gaps <= losses, (gaps, losses)


@pytest.mark.parametrize("ends", ["later", "meanwhile"])
@pytest.mark.parametrize("whose", ["writer", "reader"])
def test_a_loop_raises_after_a_driver_stood_still(name, directories, whose, ends):
    near, far = directories
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.subscriber(name, channel=channel, dir=far) as sub:
        writer = Writer(name, near, channel)
        try:
            assert sub.get(timeout_s=20) == 0
            got = []
            stopped = _core.driver_info(near if whose == "writer" else far).pid
            timer = threading.Timer(STANDSTILL_S, os.kill, (stopped, signal.SIGCONT))
            os.kill(stopped, signal.SIGSTOP)
            timer.start()
            ender = threading.Timer(0.5 if ends == "meanwhile" else 30, writer.end)
            ender.start()
            with pytest.raises(PublisherLost if whose == "writer" else MessagesLost):
                read_all(sub, got)
            check_order([0, *got], sub)
        finally:
            timer.join()
            ender.cancel()
            writer.end()


@pytest.mark.parametrize("ends", ["later", "meanwhile"])
def test_a_loop_raises_after_the_driver_of_both_ends_was_killed(name, directories, ends):
    """The publisher comes back with another session, of which nobody knows that it is the same one:
    the loop goes on with that, and raises for the one before five seconds later.
    """
    shared = directories[0]
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with stream.subscriber(name, channel=channel, dir=shared) as sub:
        writer = Writer(name, shared, channel)
        try:
            assert sub.get(timeout_s=20) == 0
            got, begin_s = [], time.monotonic()
            os.kill(_core.driver_info(shared).pid, signal.SIGKILL)
            if ends == "meanwhile":
                ender = threading.Timer(2, writer.end)
                ender.start()
            with pytest.raises(MessagesLost):
                read_all(sub, got)
            assert time.monotonic() - begin_s < 15
            check_order(got, sub)
        finally:
            writer.end()
    until(lambda: not writer._thread.is_alive())
