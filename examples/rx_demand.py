"""Goal: slow work in an RxPY pipeline, eight at a time, read by asyncio. Nothing queues unbounded.

The stream is read only as fast as the work is done, so the publisher waits; the example shows how
far it was ahead.

Needs: pip install ".[rx]"
Run: python examples/rx_demand.py
"""

import asyncio
import threading

from reactivex import operators as ops

import rstream
from rstream import rx as rrx

COUNT = 400
sent = 0


def publish() -> None:
    global sent
    with rstream.publisher("ticks") as pub:
        for n in range(COUNT):
            pub.send({"n": n, "pad": bytes(16_384)})
            sent += 1


async def score(tick: dict) -> int:
    await asyncio.sleep(0.01)  # a request to some service
    return tick["n"]


async def main() -> None:
    loop = asyncio.get_running_loop()
    scores = rrx.from_stream("ticks", prefetch=16).pipe(
        rrx.flat_map_bounded(lambda tick: asyncio.run_coroutine_threadsafe(score(tick), loop), 8),
        ops.scan(lambda total, n: total + n, 0),
        rrx.to_async_iterable(16),
    )
    threading.Thread(target=publish).start()
    done = ahead = total = 0
    async for total in scores:  # noqa: B007 - the last one is printed
        done += 1
        ahead = max(ahead, sent - done)
    print(f"{done} scored, sum {total}; the publisher was at most {ahead} messages ahead")


if __name__ == "__main__":
    asyncio.run(main())
