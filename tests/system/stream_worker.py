"""The second process of the stream tests: ``python -m tests.system.stream_worker ROLE DIR NAME
[N]``.

It reports its progress in lines on standard output, which the test waits for.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time

from rstream import policy, stream
from rstream.errors import RStreamError


def say(*words):
    print(*words, flush=True)


def publish(directory, name, count):
    """Send count numbers and complete."""
    with stream.publisher(name, dir=directory) as pub:
        pub.send_many(range(count))
        say("sent", pub.position)


def publish_and_hang(directory, name, count):
    """Send count numbers, then wait to be killed."""
    pub = stream.publisher(name, dir=directory)
    pub.send_many(range(count))
    say("sent", pub.position)
    time.sleep(600)


def publish_for_ever(directory, name, count):
    """Send a number every millisecond and report the events of the session."""
    logging.basicConfig(stream=sys.stderr)
    pub = stream.publisher(name, dir=directory)
    number = 0
    while True:
        pub.send(number)
        if number == 0:
            say("started")
        number += 1
        for event in pub.events():
            if not isinstance(event, stream.Connected):
                say("event", type(event).__name__, event)
        time.sleep(0.001)


def publish_payload(directory, name, count):
    """Send count kilobytes as fast as possible; report the duration of each tenth."""
    with stream.publisher(name, bytes, dir=directory) as pub:
        for _ in range(count):
            pub.send(b"x" * 1024)
        say("waited", pub.statistics()["waited_s"])


def subscribe(directory, name, count):
    """Count messages until the end."""
    with stream.subscriber(name, dir=directory) as sub:
        say("ready")
        total = sum(1 for _ in sub)
    say("received", total)


def subscribe_and_tell(directory, name, count):
    """Count messages until the end, and report the events that are not the usual ones."""
    with stream.subscriber(name, dir=directory, on_gap="resume") as sub:
        say("ready")
        total = sum(1 for _ in sub)
        for event in sub.events():
            if isinstance(event, (stream.Gap, stream.SessionChanged)):
                say("event", event)
    say("received", total)


def subscribe_and_stop(directory, name, count):
    """Print each message; stand still after half of them, until the process is continued."""
    with stream.subscriber(name, dir=directory) as sub:
        say("ready")
        for number in sub:
            say("number", number)
            if number == count // 2:
                os.kill(os.getpid(), signal.SIGSTOP)
    say("end")


def subscribe_latest(directory, name, count):
    """Read only the newest."""
    with stream.subscriber(name, dir=directory, on_slow=policy.Latest()) as sub:
        say("ready")
        last = None
        for item in sub:
            last = item
            time.sleep(0.01)
    say("last", last)


def main(role, directory, name, count="0"):
    try:
        globals()[role](directory, name, int(count))
    except RStreamError as error:
        say("error", type(error).__name__, error)
        raise SystemExit(3) from error


if __name__ == "__main__":
    main(*sys.argv[1:])
