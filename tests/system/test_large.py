"""Large messages between two processes: with loss, beside small ones, and when an end dies."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import rstream
from rstream import stream
from tests.support import free_port, in_thread, until
from tests.system import large_worker

pytestmark = [pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
#: What a reader may need beside the message: the interpreter, mapped logs, a batch.
BESIDE_MIB = 48


class Worker:
    """One process, and the lines that it has printed."""

    def __init__(self, role, **task):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.large_worker", role, json.dumps(task)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    def next(self, kind):
        """The next line of that kind."""
        for line in self.process.stdout:
            found = json.loads(line)
            if found["kind"] == kind:
                return found
        raise AssertionError(f"the worker has ended without {kind!r}")

    def rest(self):
        """All further lines; the process has ended then."""
        lines = [json.loads(line) for line in self.process.stdout]
        assert self.process.wait(30.0) == 0
        return lines


@pytest.fixture
def start():
    """Starts workers, and ends those that are left."""
    workers = []

    def begin(role, **task):
        workers.append(Worker(role, **task))
        return workers[-1]

    yield begin
    for worker in workers:
        worker.process.kill()
        worker.process.wait()
        worker.process.stdout.close()


def channel_of(medium):
    if medium == "ipc":
        return None
    address = "127.0.0.1" if medium == "udp" else "224.20.30.53"
    extra = "" if medium == "udp" else "|interface=127.0.0.1|fc=min"
    return f"aeron:udp?endpoint={address}:{free_port()}{extra}"


def exchange(start, driver_dir, name, medium, lengths, *, with_small):
    """Send these lengths to another process.

    Returns:
        The lines about large messages, the other lines of the reader, the digests sent, and the
        reader's memory at its start.
    """
    options = {"fault-receive-data-loss": "0.01", "fault-seed": "11"}
    with rstream.Driver(dir=driver_dir, options=options):
        task = {"name": name, "channel": channel_of(medium), "dir": driver_dir}
        reader = start("read", **task)
        before_mib = reader.next("ready")["memory"][0]
        writer = start("send", **task, lengths=lengths, with_small=with_small)
        lines = reader.rest()
        digests = [line["digest"] for line in writer.rest() if line["kind"] == "begins"]
    got = [line for line in lines if line["kind"] == "got" and line["length"] > 5]
    return got, lines, digests, before_mib


@pytest.mark.parametrize("medium", ["ipc", "udp", "multicast"])
def test_40_mib_with_loss_beside_small_messages(start, driver_dir, name, medium):
    got, lines, digests, before_mib = exchange(
        start, driver_dir, name, medium, [40 * MIB], with_small=True
    )
    assert [line["digest"] for line in got] == digests
    assert [line["length"] for line in got] == [40 * MIB]
    assert len(got[0]["delays_s"]) > 3
    assert statistics.median(got[0]["delays_s"]) < 2.0
    end = lines[-1]
    assert end["partial_bytes"] == 0
    now_mib, most_mib = end["memory"]
    assert now_mib < before_mib + 8
    mapped_mib = 40 if medium == "ipc" else 0  # the segment in which all readers see it
    assert most_mib < 40 + before_mib + BESIDE_MIB + mapped_mib
    assert not [line for line in lines if line["kind"] in ("Gap", "Refused", "Lost")]


@pytest.mark.long
@pytest.mark.parametrize("medium", ["ipc", "udp", "multicast"])
@pytest.mark.parametrize("mib", [200, 1024])
def test_hundreds_of_mib_with_loss(start, driver_dir, name, medium, mib):
    length = mib * MIB
    got, lines, digests, before_mib = exchange(
        start, driver_dir, name, medium, [length] * (2 if mib == 200 else 1), with_small=mib == 200
    )
    assert [line["digest"] for line in got] == digests
    assert {line["length"] for line in got} == {length}
    now_mib, most_mib = lines[-1]["memory"]
    assert now_mib < before_mib + 8
    assert most_mib < mib + before_mib + BESIDE_MIB
    if mib == 200:
        delays_s = sorted(got[1]["delays_s"])
        p50_s, p99_s = (delays_s[int(share * (len(delays_s) - 1))] for share in (0.5, 0.99))
        print(f"{medium}: {len(delays_s)} small ones, p50 {p50_s:.4f} s, p99 {p99_s:.4f} s")
        assert p50_s < 2.0


def test_kill_9_of_the_publisher_is_told_and_frees(start, driver_dir, name):
    with rstream.Driver(dir=driver_dir, client_liveness_timeout_s=1.5, timer_interval_s=0.1):
        task = {"name": name, "channel": None, "dir": driver_dir}
        with stream.subscriber(name, bytes, dir=driver_dir, on_lost="event") as sub:
            writer = start("send", **task, lengths=[70 * MIB], with_small=False)
            until(lambda: sub.poll() == [b"first"], 30.0)
            writer.next("begins")
            until(lambda: sub.poll() == [] and sub.statistics()["partial_bytes"] > MIB, 30.0)
            os.kill(writer.process.pid, signal.SIGKILL)
            events = []

            def lost():
                assert sub.poll() == []
                events.extend(sub.events())
                return any(isinstance(event, stream.Lost) for event in events)

            until(lost, 30.0)
            assert sub.statistics()["partial_bytes"] == 0
            reasons = [event.reason for event in events if isinstance(event, stream.Gap)]
            assert any(f"{70 * MIB} bytes in parts: the stream ended" in text for text in reasons)
            writer = start("send", **task, lengths=[MIB], with_small=False)
            items = []
            until(lambda: items.extend(sub.poll()) or len(items) == 2, 30.0)
            assert items == [b"first", large_worker.payload_of(MIB)]


@pytest.mark.usefixtures("in_parts")
def test_the_death_of_the_driver_in_the_middle(driver_dir, name, monkeypatch):
    """Both ends join again, and the message is sent again from its first byte."""
    monkeypatch.setenv("RSTREAM_DIR", driver_dir)
    message = large_worker.payload_of(5 * MIB)
    with (
        stream.subscriber(name, bytes, dir=driver_dir, on_lost="event") as sub,
        stream.publisher(name, bytes, dir=driver_dir, linger_s=0) as pub,
    ):
        until(lambda: pub.is_connected)
        sender = in_thread(pub.send, message)
        until(lambda: sub.poll() == [] and sub.statistics()["partial_bytes"] > 200_000)
        os.kill(rstream._core.driver_info(driver_dir).pid, signal.SIGKILL)
        items = []
        until(lambda: items.extend(sub.poll()) or items, 30.0)
        sender.join(10.0)
        assert not sender.is_alive()
        assert items == [message]
        assert sub.statistics()["partial_bytes"] == 0
        assert pub.statistics()["messages"] == 1
        assert [event for event in sub.events() if isinstance(event, stream.Gap)]
