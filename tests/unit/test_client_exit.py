"""Daemon threads that use a client of Aeron's kind are silent at the end of the program.

Each case is a program of its own. It ends while the thread is in the call, or calls it again.
(``poll`` and ``poll_demanded`` are the extension's, which may raise then: parking them would cost
each poll a quarter of its time.)
"""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, threading

daemons = []
# It runs after the clients were closed: a daemon thread that ends by an error ends meanwhile.
atexit.register(lambda: [daemon.join(0.3) for daemon in daemons])

import rstream

started = threading.Event()
client = rstream.Client(sys.argv[1])
publication = client.add_publication("aeron:ipc", 7)
subscription = client.add_subscription("aeron:ipc", 7)
quiet = client.add_subscription("aeron:ipc", 8)

def forever(use):
    def run():
        while True:
            use()
            started.set()
    daemons.append(threading.Thread(target=run, daemon=True))
    daemons[-1].start()

def wait():
    started.set()
    quiet.wait()
"""
USES = {
    "wait": "wait",
    "wait for room": "lambda: publication.wait(0.01)",
    "poll_block": "lambda: subscription.poll_block(1000).release()",
    "poll_bounded": "lambda: [subscription.poll_bounded(image, 1000, 1).release() "
    "for image in subscription.images() or [1]]",
    "offer": "lambda: publication.offer(b'x')",
    "set_rate": "lambda: publication.set_rate(rstream.rate.Fixed('50MB/s'))",
    "add_publication": "lambda: client.add_publication('aeron:ipc', 9).close()",
    "add_subscription": "lambda: client.add_subscription('aeron:ipc', 9).close()",
    "add_counter": "lambda: client.add_counter(1001, 'x').close()",
    "find_counter": "lambda: client.find_counter(1, 1)",
    "read_counter": "lambda: client.read_counter(1)",
    "counter_events": "lambda: list(client.counter_events())",
    "next_session_id": "lambda: client.next_session_id(7)",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_daemon_threads_are_silent_at_the_end_of_the_program(module_driver_dir, use):
    done = subprocess.run(
        [sys.executable, "-c", f"{PROGRAM}\nforever({use})\nassert started.wait(20)\n",
         module_driver_dir],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
