"""The normal end of a program that is still reading or sending reactively: no signal, no log.

A program of its own ends; its subscriber prints every signal that it gets.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

START = """
import logging, sys, threading
import rstream
from rstream import policy, stream

logging.basicConfig(level=logging.DEBUG)
driver_dir = sys.argv[1]
took = threading.Event()

class Printer(rstream.abc.Subscriber):
    def on_subscribe(self, subscription):
        subscription.request(1000)
    def on_next(self, item):
        print("item", item, flush=True)
        took.set()
    def on_error(self, error):
        print("error", repr(error), flush=True)
    def on_complete(self):
        print("complete", flush=True)

class Upstream(rstream.abc.Publisher, rstream.abc.Subscription):
    def subscribe(self, subscriber):
        subscriber.on_subscribe(self)
    def request(self, n):
        print("requested", flush=True)
        took.set()
    def cancel(self):
        print("cancelled", flush=True)

pub = stream.publisher("a", dir=driver_dir)
"""
SOURCE = START + "stream.source('a', dir=driver_dir{}).subscribe(Printer())\npub.send(1)\n"
SINK = (
    START
    + "reader = stream.subscriber('b', dir=driver_dir)\n"
    + "Upstream().subscribe(stream.sink('b', dir=driver_dir))\n"
)
CHAIN = (
    START
    + "stream.source('b', dir=driver_dir).subscribe(Printer())\n"
    + "stream.source('a', dir=driver_dir).subscribe(stream.sink('b', dir=driver_dir))\n"
    + "pub.send(1)\n"
)
CALLER = (
    START
    + "caller = stream.CallerExecutor()\n"
    + "stream.source('a', dir=driver_dir, executor=caller).subscribe(Printer())\n"
    + "pub.send(1)\n"
    + "while not took.is_set(): caller.run_pending(wait_s=0.01)\n"
)


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        (SOURCE.format(""), "item 1\n"),
        (SOURCE.format(", on_slow=policy.Buffer(10)"), "item 1\n"),
        (CALLER, "item 1\n"),
        (CHAIN, "item 1\n"),
        (SINK, "requested\ncancelled\n"),
    ],
    ids=["source", "queue", "caller", "chain", "sink"],
)
def test_the_end_of_the_program_is_a_silent_cancellation(module_driver_dir, program, shown):
    done = subprocess.run(
        [sys.executable, "-c", program + "assert took.wait(20)\n", module_driver_dir],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


DAEMON = """
import atexit, sys, threading, time

daemons = []
# It runs after the clients were closed: a daemon thread that ends by an error ends meanwhile.
atexit.register(lambda: [daemon.join(0.3) for daemon in daemons])

import rstream
from rstream import policy, rate, service, stream, work

driver_dir = sys.argv[1]
started = threading.Event()

def daemon(run):
    daemons.append(threading.Thread(target=run, daemon=True))
    daemons[-1].start()

def forever(use):
    def run():
        while True:
            use()
            started.set()
    daemon(run)

def once(use):
    def run():
        started.set()
        use()
        print("it has returned", flush=True)
    daemon(run)

def ended(end):
    quiet_pub.send(1)
    once(end)

def asks(ask):
    try:
        nobody.request(1, timeout_s=0.01)
    except rstream.errors.NoServer:  # and the way to a server is open
        once(ask)

nobody = service.requester("nobody", dir=driver_dir)

@rstream.serve("r", dir=driver_dir)
def slow(query):
    time.sleep(30)

reader = stream.subscriber("a", dir=driver_dir)
queue = stream.subscriber("a", dir=driver_dir, on_slow=policy.DropOldest(10))
quiet = stream.subscriber("q", dir=driver_dir)
quiet_pub = stream.publisher("q", dir=driver_dir, linger_s=60)
pub = stream.publisher("a", dir=driver_dir)
jobs = work.subscriber("w", dir=driver_dir)
work_pub = work.publisher("w", dir=driver_dir)

def block():
    with quiet_pub:
        pass
"""
USES = {
    "send": "forever(lambda: pub.send(bytes(100))); forever(reader.get)",
    "offer": "forever(lambda: pub.offer(1)); forever(lambda: pub.send(2)); forever(reader.poll)",
    "loop": "forever(lambda: pub.send(1)); forever(lambda: list(reader)); started.wait(); ",
    "queue": "forever(lambda: pub.offer(1)); forever(queue.get)",
    "wait": "once(lambda: list(quiet))",
    "wait_consumed": "ended(quiet_pub.wait_consumed)",
    "close": "ended(quiet_pub.close)",
    "block": "ended(block)",
    "fail": "ended(lambda: quiet_pub.fail('gone'))",
    "set_rate": "forever(lambda: pub.set_rate(rate.Fixed('50MB/s')))",
    "work": "forever(lambda: work_pub.send(1)); forever(jobs.get)",
    "request": "slow.start(); started.set(); forever(lambda: rstream.request('r', 1, "
    "timeout_s=None, dir=driver_dir))",
    "request_stream": "asks(lambda: list(nobody.request_stream(1, timeout_s=60)))",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_daemon_threads_are_silent_at_the_end_of_the_program(module_driver_dir, use):
    program = f"{DAEMON}\n{use}\nassert started.wait(20)\n"
    done = subprocess.run(
        [sys.executable, "-c", program, module_driver_dir],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
