"""What several tests of the asynchronous publisher do."""

from __future__ import annotations

import anyio

import rstream

PAYLOAD = bytes(984)
LONG_S = 30.0


async def read_all(sub, items, pause_s=0.0):
    """Read until the stream ends, a little at a time."""
    while not sub.is_ended:
        items += sub.poll(16)
        await anyio.sleep(pause_s)


async def fill(pub, data=PAYLOAD):
    """Send until there is no room."""
    await pub.send(data)
    count = 1
    while (reason := pub.offer(data)) > 0:
        count += 1
    assert reason in (rstream.BACK_PRESSURED, rstream.RATE_LIMITED)
    return count
