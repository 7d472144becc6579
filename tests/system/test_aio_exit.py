"""A program whose event loop was interrupted, and runs no more, ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Its own SIGINT comes while each end is open and its task waits.
SCRIPT = """
import asyncio, os, signal, sys, threading
import rstream, rstream.ray
from rstream import aio
directory, name = sys.argv[1:]
async def main():
    {opening}
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    await asyncio.sleep(60)
try:
    asyncio.new_event_loop().run_until_complete(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
OPENINGS = {
    "subscriber": "end = await aio.subscriber(name, dir=directory)",
    "publisher": "end = await aio.publisher(name, dir=directory, linger_s=0)",
    "closed": "await (await aio.subscriber(name, dir=directory)).close()",
    "work_subscriber": "end = await aio.work_subscriber(name, dir=directory)",
    "work_publisher": "end = await aio.work_publisher(name, dir=directory, linger_s=0)",
    "requester": """end = aio.requester(name, dir=directory)
    try:
        await end.request(1, timeout_s=0.1)
    except rstream.errors.NoServer:
        pass""",
    "service": """service = rstream.serve(name, dir=directory)(lambda number: number)
    serving = asyncio.ensure_future(aio.serve(service))
    await asyncio.sleep(0.3)""",
    "ray_reader": """async with rstream.ray.reader(name, dir=directory, udp=False):
        pass""",
}


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
def test_a_program_ends_whose_loop_was_interrupted(driver_dir, name, opening):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.format(opening=opening), driver_dir, name],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
