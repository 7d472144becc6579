"""Processes to be killed or to watch: ``python -m tests.system.kill_workers ROLE TASK_JSON``.

Each writes a journal: one JSON list a line, ``[kind, monotonic seconds, ...]``, unbuffered, so that
it is complete when the process is killed. All processes share the monotonic clock, so journals can
be compared. A process ends cleanly when its standard input ends.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import select
import sys
import time
from typing import Any

import rstream
from rstream import stream
from rstream.errors import PublisherLost
from rstream.stream._internal import reading_of, sending_of


class Journal:
    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def write(self, *lines: tuple[Any, ...]) -> None:
        now_s = time.monotonic()
        text = "".join(json.dumps([line[0], now_s, *line[1:]]) + "\n" for line in lines)
        os.write(self._fd, text.encode())

    def start(self, face: Any) -> None:
        """Record the session and client, at the start and after each rejoin."""
        is_reader = isinstance(face, stream.Reader)
        link = reading_of(face).inputs.link if is_reader else sending_of(face).session.link
        session_id = getattr(face, "session_id", 0)
        self.write(("start", os.getpid(), session_id, link.client.client_id))

    def events(self, face: Any, events: list[stream.StreamEvent]) -> None:
        if any(isinstance(one, stream.SessionChanged) for one in events):
            self.start(face)
        self.write(*(("event", type(one).__name__, dataclasses.asdict(one)) for one in events))


def is_asked_to_end() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def publish(task: dict[str, Any]) -> None:
    """Send numbers until told to end, about one a millisecond, in bursts; note each position."""
    journal = Journal(task["journal"])
    driver = rstream.Driver(dir=task["dir"], **task["embedded"]) if task.get("embedded") else None
    pub = rstream.publisher(task["name"], channel=task["channel"], dir=task["dir"])
    journal.start(pub)
    number = 0
    while not is_asked_to_end():
        for _ in range(task["burst"]):
            position = pub.offer([task["life"], number])
            if position <= 0:
                break
            journal.write(("sent", number, pub.session_id, position))
            number += 1
        journal.events(pub, pub.events())
        time.sleep(0.001 * task["burst"])
    pub.close()
    journal.events(pub, pub.events())
    if driver is not None:
        driver.close()


def subscribe(task: dict[str, Any]) -> None:
    """Write every message to the journal before it counts as consumed."""
    journal = Journal(task["journal"])
    if task["raises"]:
        sub = rstream.subscriber(
            task["name"], channel=task["channel"], dir=task["dir"], on_gap="resume"
        )
    else:
        sub = stream.reader(task["name"], channels=[task["channel"]], dir=task["dir"], hold=True)
    journal.start(sub)
    while not is_asked_to_end():
        try:
            items = sub.poll()
        except PublisherLost as error:
            journal.write(("lost", str(error), error.session_id, error.position))
            continue
        finally:
            journal.events(sub, reading_of(sub).taken_events())
        journal.write(*(("got", *item) for item in items))
        if not items:
            sub.wait(0.05)
    sub.close()


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr)
    {"publish": publish, "subscribe": subscribe}[sys.argv[1]](json.loads(sys.argv[2]))
