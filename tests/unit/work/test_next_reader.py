"""What the next reader of shared work gets, for each way in which a reader may end.

A script takes six of 20 jobs and ends with the last of them in hand. What it had acknowledged never
comes again; the rest is for the next reader, in shared memory and over UDP.
"""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import rstream
from tests.support import free_port

COUNT = 20
IN_HAND = 5

ENDS = {
    "error": 'raise RuntimeError("handling failed")',
    "break": "break",
    "exit": "sys.exit(0)",
    "killed": "os.kill(os.getpid(), 9)",
}
BLOCK = """
import os, sys, rstream
with rstream.work.subscriber(sys.argv[1], **ADDRESS) as jobs:
    for job in jobs:
        if job.item == 5: END
        ACK
"""
BARE = """
import os, sys, rstream
jobs = rstream.work.subscriber(sys.argv[1], **ADDRESS)
for job in jobs:
    if job.item == 5: END
    ACK
"""
AWAITED = """
import asyncio, os, sys, rstream.aio
async def main():
    async with rstream.aio.work_subscriber(sys.argv[1], **ADDRESS) as jobs:
        async for job in jobs:
            if job.item == 5: END
            ACK
asyncio.run(main())
"""


@pytest.mark.parametrize("acknowledge", ["next", "explicit"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize(
    ("face", "end"),
    [
        (BLOCK, "error"),
        (BLOCK, "break"),
        (BLOCK, "killed"),
        (BARE, "exit"),
        (BARE, "break"),
        (AWAITED, "error"),
        (AWAITED, "break"),
        (AWAITED, "killed"),
    ],
    ids=lambda one: {BLOCK: "with", BARE: "bare", AWAITED: "async with"}.get(one, one),
)
def test_the_next_reader_gets_what_was_not_acknowledged(
    driver_dir, name, acknowledge, medium, face, end
):
    channel = None if medium == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    address = {"dir": driver_dir, "channel": channel}
    script = face.replace("ADDRESS", repr(address | {"acknowledge": acknowledge}))
    script = script.replace("END", ENDS[end])
    script = script.replace("ACK", "job.ack()" if acknowledge == "explicit" else "pass")
    is_done = end == "break" and face != BARE and acknowledge == "next"
    first = IN_HAND + is_done
    got = []
    with rstream.work.publisher(name, **address, linger_s=20) as jobs:
        one = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script, name], stderr=subprocess.DEVNULL
        )
        sending = threading.Thread(target=jobs.send_many, args=(range(COUNT),))
        sending.start()
        one.wait(timeout=30)
        with rstream.work.subscriber(name, **address) as rest:
            while len(got) < COUNT - first:
                job = rest.get(timeout_s=10)
                got.append((job.item, job.delivery > 1))
        sending.join()
    assert sorted(got) == [(number, number == IN_HAND) for number in range(first, COUNT)]
