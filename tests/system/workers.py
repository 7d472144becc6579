"""Processes of the system tests: ``python -m tests.system.workers ROLE TASK_JSON``.

They print JSON lines.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from rstream import _core
from rstream.client import Client

BLOCK = 512
STREAM = 4242


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def send(task: dict[str, Any]) -> None:
    """Send ``count`` numbered, checksummed messages as fast as possible.

    Then wait until they were consumed.
    """
    size, count = task["size"], task["count"]
    with Client(dir=task["dir"]) as client:
        publication = client.add_publication(task["channel"], STREAM, exclusive=True)
        deadline = time.monotonic() + 30
        while not publication.is_connected and time.monotonic() < deadline:
            publication.wait(0.1)
        block = bytearray(size * BLOCK)
        sent = 0
        while sent < count:
            number = min(BLOCK, count - sent)
            _core.fill_block(block, size, sent)
            start = BLOCK - number
            view = (
                bytes(block[: number * size]) if start else block
            )  # the last block may be shorter
            done = 0
            stalled = time.monotonic() + 60
            while done < number:
                taken, result = publication.offer_block(view, size, done)
                done += taken
                if done < number and result < 0:
                    if result not in (_core.BACK_PRESSURED, _core.ADMIN_ACTION):
                        raise SystemExit(f"offer: {result} at message {sent + done}")
                    publication.wait(0.1)
                    if time.monotonic() > stalled:
                        raise SystemExit(f"not taken for 60 s at message {sent + done}")
            sent += number
        say(sent=sent, position=publication.position)
        sys.stdin.read()


def receive(task: dict[str, Any]) -> None:
    """Check number and checksum of every message, in order."""
    size, count = task["size"], task["count"]
    with Client(dir=task["dir"]) as client:
        subscription = client.add_subscription(task["channel"], STREAM)
        say(ready=True)
        expected, moved = 0, time.monotonic()
        begin = 0.0
        while expected < count:
            with subscription.poll(1024) as batch:
                if len(batch):
                    begin = begin or time.monotonic()
                    expected += _core.check_messages(batch.to_list(), size, expected)
                    moved = time.monotonic()
                    continue
            subscription.wait(0.1)
            if time.monotonic() - moved > 60:
                raise SystemExit(f"stalled for 60 s at message {expected}")
        # An additional message would be a duplicate.
        time.sleep(0.3)
        with subscription.poll(10) as batch:
            extra = len(batch)
        say(received=expected, extra=extra, seconds=time.monotonic() - begin)


ROLES = {"send": send, "receive": receive}

if __name__ == "__main__":
    ROLES[sys.argv[1]](json.loads(sys.argv[2]))
