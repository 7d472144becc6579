"""A consumer whose process is stopped while its driver lives.

The other readers go on, and it learns the reason when it wakes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rstream import stream
from rstream.config import DriverConfig
from rstream.driver import ensure_driver
from tests.support import free_port

ROOT = Path(__file__).parent.parent.parent
AFTER_S = 0.3
PAYLOAD = b"x" * 984


class Consumer:
    """A process of tests.system.slow_worker."""

    def __init__(self, **task):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.slow_worker", json.dumps(task)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def said(self, key):
        """The next line with that key; no line before it may report a torn message."""
        for text in self.process.stdout:
            line = json.loads(text)
            assert "torn" not in line
            if key in line:
                return line
        raise AssertionError(f"the consumer ended ({self.process.wait()}) without {key!r}")

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.fixture
def shared_dir(driver_dir):
    return ensure_driver(
        driver_dir, config=DriverConfig(client_liveness_timeout_s=3.0, idle_exit_s=5.0)
    )


@pytest.fixture(params=["ipc", "udp"])
def channel(request):
    return "aeron:ipc" if request.param == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


class Flow:
    """A publisher in a thread and a good reader in another, with their progress."""

    def __init__(self, name, directory, channel):
        self._arguments = {"dir": directory, "channel": channel}
        self._name = name
        self._is_over = threading.Event()
        self.received = []
        self._threads = [threading.Thread(target=self._send), threading.Thread(target=self._read)]

    def _send(self):
        number = 0
        with stream.publisher(self._name, bytes, linger_s=0, **self._arguments) as pub:
            while not self._is_over.is_set():
                if pub.offer(b"%8d" % number + PAYLOAD) > 0:
                    number += 1
                else:
                    time.sleep(0.0005)

    def _read(self):
        with stream.subscriber(self._name, bytes, on_lost="event", **self._arguments) as sub:
            while not self._is_over.is_set():
                self.received.extend(int(item[:8]) for item in sub.poll())
                sub.wait(0.05)

    def goes_on(self, count=3000, timeout_s=30.0):
        """Wait until the good reader has received count more."""
        target = len(self.received) + count
        deadline = time.monotonic() + timeout_s
        while len(self.received) < target:
            assert time.monotonic() < deadline, f"stalled at {len(self.received)}"
            time.sleep(0.01)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info):
        self._is_over.set()
        for thread in self._threads:
            thread.join(20)
        first = self.received[0]
        assert self.received == list(range(first, first + len(self.received)))


@pytest.fixture
def consumer(shared_dir, channel):
    made = []

    def start(rejoin):
        task = {"name": "flow", "dir": shared_dir, "channel": channel, "after_s": AFTER_S}
        made.append(Consumer(rejoin=rejoin, **task))
        made[-1].said("ready")
        return made[-1]

    yield start
    for one in made:
        one.close()


def test_a_stopped_consumer_is_evicted_and_told_so(shared_dir, channel, consumer):
    hung = consumer(rejoin=False)
    with Flow("flow", shared_dir, channel) as flow:
        hung.said("first")
        flow.goes_on(100)
        hung.stop()
        flow.goes_on()  # many windows: the stream no longer waits for it
        hung.wake()
        told = hung.said("slow")
        assert "stood still for 0.3 s" in told["slow"]
        assert "stream 'flow'" in told["slow"]
        assert channel.partition("?")[0] in told["slow"]
        # the end of the last message it read; nothing torn
        assert told["position"] == 1024 * (told["last"] + 1)
        assert hung.process.wait(20) == 0
        flow.goes_on(100)


def test_a_stopped_consumer_continues_at_the_live_position(shared_dir, channel, consumer):
    hung = consumer(rejoin=True)
    with Flow("flow", shared_dir, channel) as flow:
        hung.said("first")
        for _ in range(2):
            flow.goes_on(100)
            hung.stop()
            flow.goes_on()
            hung.wake()
            assert "Evicted" in hung.said("event")["event"]
            before, after = hung.said("jump")["jump"]
            assert after > before + 1


def test_a_consumer_stopped_beyond_the_client_liveness_is_told_so(shared_dir, channel, consumer):
    hung = consumer(rejoin=False)
    with Flow("flow", shared_dir, channel) as flow:
        hung.said("first")
        hung.stop()
        time.sleep(5.0)  # the driver's client liveness is 3 s
        flow.goes_on()
        hung.wake()
        assert "stood still" in hung.said("slow")["slow"]
