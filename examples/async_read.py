"""Goal: one event loop reads many streams; a timeout interrupts a loop, and nothing is lost.

It needs the extra aio. Run: python examples/async_read.py
"""

import asyncio
import subprocess
import sys

import rstream

STREAMS = 20
COUNT = 500


async def write() -> None:
    """Another process: every sensor sends at its own pace."""

    async def sensor(number: int) -> None:
        async with rstream.aio.publisher(f"sensor-{number}", int) as pub:
            for reading in range(COUNT):
                await pub.send(reading)
                if reading % 100 == number:
                    await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as tasks:
        for number in range(STREAMS):
            tasks.create_task(sensor(number))


async def read(number: int) -> tuple[int, int]:
    """Read a stream to its end; begin again whenever 10 ms are over."""
    expected = timeouts = 0
    async with rstream.aio.subscriber(f"sensor-{number}", int) as sub:
        while not sub.is_ended:
            try:
                async with asyncio.timeout(0.01):
                    async for reading in sub:
                        assert reading == expected
                        expected += 1
            except TimeoutError:
                timeouts += 1
    return expected, timeouts


async def main() -> None:
    async with asyncio.TaskGroup() as tasks:
        reading = [tasks.create_task(read(number)) for number in range(STREAMS)]
    results = [task.result() for task in reading]
    whole = sum(count == COUNT for count, _ in results)
    print(f"{whole} of {STREAMS} streams are whole and in order")
    print("every loop was interrupted:", all(timeouts > 0 for _, timeouts in results))


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        asyncio.run(write())
    else:
        writer = subprocess.Popen([sys.executable, __file__, "write"])
        asyncio.run(main())
        sys.exit(writer.wait())
