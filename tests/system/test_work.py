"""Shared work between processes that are killed: every job is done, and a second time only with a
mark.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rstream import _core, driver, work
from rstream.errors import NotConnected, ReadTimeout
from tests.support import free_port, in_thread, until

ROOT = Path(__file__).resolve().parents[2]
#: The driver's time-outs are 10 s: what happens within half of that is told by the death.
SOON_S = 5.0

WORKER = """
import json, os, sys, time
import rstream
task = json.loads(sys.argv[1])
with rstream.work.subscriber(
    task["name"], channel=task["channel"], prefetch=task["prefetch"], dir=task["dir"]
) as jobs:
    print(json.dumps("ready"), flush=True)
    for job in jobs:
        print(json.dumps([job.item, job.delivery]), flush=True)
        if job.item == "poison":
            os._exit(9)
        time.sleep(task["pause_s"])
        print(json.dumps(job.item), flush=True)
"""


class Worker:
    """A process that takes jobs, and prints each one when it begins, and when it is done."""

    def __init__(self, **task):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, json.dumps(task)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self.line() == "ready"

    def line(self):
        text = self.process.stdout.readline()
        return json.loads(text) if text else None

    def rest(self):
        """What it still prints until it ends."""
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
        assert self.process.wait(10) == 0
        return lines

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.fixture
def start(driver_dir, name):
    started = []

    def start_one(*, pause_s=0.0, prefetch=1, channel=None):
        worker = Worker(
            name=name, dir=driver_dir, channel=channel, prefetch=prefetch, pause_s=pause_s
        )
        started.append(worker)
        return worker

    driver.ensure_driver(driver_dir)
    yield start_one
    for worker in started:
        worker.close()


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_the_jobs_of_a_killed_reader_are_done_by_another_one(
    start, driver_dir, name, medium, caplog
):
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if medium == "udp" else None
    victim = start(pause_s=1000, prefetch=2, channel=channel)
    with work.publisher(name, channel=channel, dir=driver_dir) as jobs:
        jobs.send("first")
        jobs.send("second")
        assert victim.line() == ["first", 1]
        victim.kill()
        killed_s = time.monotonic()
        other = start(channel=channel)
        assert other.line() == ["first", 2]
        assert time.monotonic() - killed_s < SOON_S
        assert jobs.wait_acknowledged(timeout_s=SOON_S)
        assert jobs.statistics()["redelivered"] == 2
    assert other.rest() == ["first", ["second", 2], "second"]
    assert f"reader pid {victim.process.pid}" in caplog.text
    assert "died with messages 1, 2 in hand" in caplog.text
    assert not lines_of_streams(caplog)


def lines_of_streams(caplog):
    """Lines in the log that name a stream, where the user has opened none."""
    return [text for text in caplog.messages if re.match(r"stream |<rstream\.stream", text)]


def test_at_most_once_a_job_in_hand_dies_with_its_reader(start, driver_dir, name):
    victim = start(pause_s=1000)
    with work.publisher(name, redeliver=False, dir=driver_dir) as jobs:
        jobs.send("first")
        assert victim.line() == ["first", 1]
        victim.kill()
        other = start()
        (event,) = until(jobs.events, SOON_S)
        assert (event.item, event.deliveries) == ("first", 1)
        jobs.send("second")
    assert other.rest() == [["second", 1], "second"]


def test_a_job_that_kills_its_readers_is_named_and_the_others_go_on(
    start, driver_dir, name, caplog
):
    """Also with prefetch, where innocent jobs die with it: two of three readers, no more."""
    workers = [start(prefetch=4, pause_s=0.001) for _ in range(3)]
    items = [*range(20), "poison", *range(20, 60)]
    with work.publisher(name, dir=driver_dir) as jobs:
        until(lambda: jobs.readers == 3)
        jobs.send_many(items)
        assert jobs.wait_acknowledged(timeout_s=20)
        (event,) = jobs.events()
    assert (event.number, event.item, event.reader_losses) == (21, "poison", 2)
    assert event.reason == "given up: 2 readers died or left with it"
    (last,) = [one for one in workers if one.process.poll() is None]
    dead = {one.process.pid for one in workers if one is not last}
    told = re.findall(r"reader pid (\d+) died with messages? ([\d, ]+) in hand", caplog.text)
    assert {int(pid) for pid, _ in told} == dead
    assert told[1][1] == "21"
    done = {line for one in workers for line in done_by(one)}
    assert done == set(range(60))


def done_by(worker):
    """What it says it has done until it ends."""
    lines = []
    while (line := worker.line()) is not None:
        lines.append(line)
    return [line for line in lines if not isinstance(line, list)]


def test_the_last_of_two_readers_does_all_else_before_it_is_risked(start, driver_dir, name):
    workers = [start(), start()]
    with work.publisher(name, connect_timeout_s=0.5, dir=driver_dir) as jobs:
        until(lambda: jobs.readers == 2)
        jobs.send_many(["poison", *range(50)])
        until(lambda: jobs.statistics()["readers"] <= 1)  # a death is known a moment later
        assert jobs.wait_acknowledged(timeout_s=20)
        (event,) = jobs.events()
        assert (event.number, event.reader_losses) == (1, 2)
        with pytest.raises(NotConnected) as caught:
            jobs.send("next")
        assert re.search(
            r"no reader for 0\.5 s; reader pid \d+ died with message 1 in hand; "
            r"message 1 is not sent again: given up: 2 readers died or left with it",
            str(caught.value),
        )
    assert sorted(line for one in workers for line in done_by(one)) == list(range(50))


def test_readers_killed_at_random_moments_lose_nothing(start, driver_dir, name):
    """Of three readers one is killed again and again, and replaced."""
    count = 300
    workers = [start(pause_s=0.001, prefetch=4) for _ in range(3)]
    victims = []
    with work.publisher(name, deliveries_max=None, reader_losses_max=None, dir=driver_dir) as jobs:
        sends = in_thread(jobs.send_many, range(count))
        for _ in range(3):
            victim = workers.pop(0)
            lines = [victim.line() for _ in range(20)]
            victim.kill()
            while (line := victim.line()) is not None:
                lines.append(line)
            victims.append(lines)
            workers.append(start(pause_s=0.001, prefetch=4))
        sends.join(30)
        assert not sends.is_alive()
    lines = [line for one in victims + [worker.rest() for worker in workers] for line in one]
    begun = [line for line in lines if isinstance(line, list)]
    assert {item for item, _ in begun} == set(range(count))
    assert {line for line in lines if not isinstance(line, list)} == set(range(count))
    for number in range(count):
        deliveries = sorted(delivery for item, delivery in begun if item == number)
        assert len(set(deliveries)) == len(deliveries), (number, deliveries)


def test_the_driver_is_killed_and_the_work_goes_on(start, driver_dir, name, caplog):
    worker = start(pause_s=0.002)
    with work.publisher(name, dir=driver_dir) as jobs:
        sends = in_thread(jobs.send_many, range(300))
        for _ in range(100):
            worker.line()
        os.kill(_core.driver_info(driver_dir).pid, signal.SIGKILL)
        sends.join(30)
        assert not sends.is_alive()
        assert jobs.wait_acknowledged(timeout_s=20)
    done = [line for line in worker.rest() if not isinstance(line, list)]
    assert set(done) >= set(range(60, 300))
    assert re.search(r"work\.Publisher .* lost; it has joined again", caplog.text)
    assert not lines_of_streams(caplog)


def test_a_publisher_is_killed_and_the_readers_go_on_with_the_next_one(start, driver_dir, name):
    worker = start(prefetch=2, pause_s=0.3)
    code = (
        "import time; from rstream import work\n"
        f"jobs = work.publisher({name!r}, dir={driver_dir!r})\n"
        "jobs.send_many(['a', 'b']); print('sent', flush=True); time.sleep(1000)"
    )
    doomed = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert doomed.stdout.readline() == "sent\n"
    doomed.kill()
    doomed.wait(10)
    doomed.stdout.close()
    with work.publisher(name, dir=driver_dir) as jobs:
        jobs.send("c")
    rest = worker.rest()
    jobs = list(zip(rest[::2], rest[1::2], strict=True))
    assert sorted(jobs) == [(["a", 1], "a"), (["b", 1], "b"), (["c", 1], "c")]
    assert rest.index("a") < rest.index("b")  # there is no order between two publishers


def test_a_reader_says_that_its_publisher_was_killed(start, driver_dir, name, caplog):
    code = (
        "import time; from rstream import work\n"
        f"jobs = work.publisher({name!r}, dir={driver_dir!r})\n"
        "jobs.send('a'); time.sleep(1000)"
    )
    with work.subscriber(name, stays=True, dir=driver_dir) as jobs:
        doomed = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
        assert jobs.get(timeout_s=20).item == "a"
        doomed.kill()
        doomed.wait(10)

        def is_told():
            with pytest.raises(ReadTimeout):
                jobs.get(timeout_s=0.01)
            return "a publisher at aeron:ipc has died" in caplog.text

        until(is_told, SOON_S)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"<rstream.work.Subscriber {name!r}")


@pytest.mark.ci
def test_a_publisher_that_stands_still_holds_no_reader(start, driver_dir, name):
    """Its reports fill up; the driver lets the stream go on, and the others get theirs."""
    code = (
        "import sys, time; from rstream import work\n"
        f"jobs = work.publisher({name!r}, dir={driver_dir!r})\n"
        "jobs.send('mine'); print('sent', flush=True); time.sleep(1000)"
    )
    worker = start(prefetch=1)
    stopped = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert stopped.stdout.readline() == "sent\n"
        stopped.send_signal(signal.SIGSTOP)
        with work.publisher(name, dir=driver_dir) as jobs:
            reading = in_thread(lambda: [worker.line() for _ in range(3000)])
            jobs.send_many(range(1500), timeout_s=6)
            assert jobs.wait_acknowledged(timeout_s=20)
        reading.join(10)
    finally:
        stopped.kill()
        stopped.wait(10)
        stopped.stdout.close()
    assert worker.process.poll() is None
