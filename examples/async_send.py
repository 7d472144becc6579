"""Goal: an asyncio program that publishes. A slow reader makes `send` wait; other tasks go on.

It needs the extra aio. Run: python examples/async_send.py
"""

import asyncio
import subprocess
import sys
import time

import rstream

COUNT = 3000


def read() -> None:
    """The slow reader, another process: half a second of work for data sent in milliseconds."""
    total = 0
    with rstream.subscriber("readings", bytes) as sub:
        for batch in sub.batches():
            total += len(batch)
            time.sleep(len(batch) / 6000)
    print(f"reader: {total} readings", flush=True)


async def sensor(count: int):
    """Gives the next reading only after the last one was sent."""
    for _ in range(count):
        yield bytes(1000)


async def heartbeat(beats: list[int]) -> None:
    while True:
        await asyncio.sleep(0.01)
        beats[0] += 1


async def write() -> None:
    beats = [0]
    alive = asyncio.create_task(heartbeat(beats))
    async with rstream.aio.publisher("readings", bytes) as pub:
        await pub.send_many(sensor(COUNT))
        waited = pub.statistics()["waits"] > 0
    alive.cancel()
    print(f"writer: send waited: {waited}; the loop went on meanwhile: {beats[0] > 10}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["read"]:
        read()
    else:
        reader = subprocess.Popen([sys.executable, __file__, "read"])
        asyncio.run(write())
        sys.exit(reader.wait())
