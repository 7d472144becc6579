"""Memory of the process while millions of items cross a thread, for each operator that does so.

``RSTREAM_TEST_ITEMS=100000000`` takes as many; the default is what fits into a finished commit's
tests. The short tests beside this one count objects; here is what the process holds.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("reactivex")
from reactivex.scheduler import EventLoopScheduler

from rstream import rx

from .sources import Collector, ThreadSource

COUNT = int(os.environ.get("RSTREAM_TEST_ITEMS", 3_000_000))
#: Items of one inner Observable, where each has a thread of its own.
INNER_COUNT = 1000
#: What malloc and the interpreter may keep besides.
GROWTH_MOST = 8_000_000


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watcher:
    """Counts items, and notes the memory after a tenth of them and the most after that."""

    def __init__(self):
        self.count = self.first = self.most = 0

    def see(self, _):
        self.count += 1
        if self.count % (COUNT // 100) == 0:
            now = resident_bytes()
            if self.count <= COUNT // 10:
                self.first = now
            self.most = max(self.most, now)


def wait_for(observable, watcher):
    end = Collector()
    observable.subscribe(watcher.see, end.on_error, end.on_completed)
    assert end.done.wait(3600)
    assert end.ends == [None]


def check(watcher):
    assert watcher.count == COUNT
    assert watcher.most - watcher.first < GROWTH_MOST


async def iterate(observable, watcher):
    async for item in observable.pipe(rx.to_async_iterable(256)):
        watcher.see(item)


async def numbers():
    for number in range(COUNT):
        yield number


CROSSINGS = {
    "observe_on_bounded": lambda source, s: source.pipe(rx.observe_on_bounded(s, 256)),
    "limit_rate": lambda source, _: source.pipe(rx.limit_rate(256, 64)),
    "on_backpressure_buffer": lambda source, _: source.pipe(rx.on_backpressure_buffer(256)),
    "publisher": lambda source, _: rx.from_publisher(source.pipe(rx.to_publisher(256))),
    "from_async_iterable": lambda _, s: rx.from_async_iterable(
        numbers(), scheduler=s, capacity=256
    ),
}


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", [*CROSSINGS, "to_async_iterable", "flat_map_bounded"])
def test_memory_of_the_process_stays_flat(name):
    source, watcher, scheduler = ThreadSource(range(COUNT)), Watcher(), EventLoopScheduler()
    if name == "to_async_iterable":
        asyncio.run(iterate(source.observable, watcher))
    elif name == "flat_map_bounded":
        with ThreadPoolExecutor(2) as pool:
            wait_for(
                source.observable.pipe(rx.flat_map_bounded(lambda n: pool.submit(int, n), 16)),
                watcher,
            )
    else:
        wait_for(CROSSINGS[name](source.observable, scheduler), watcher)
    scheduler.dispose()
    check(watcher)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_memory_stays_flat_while_inner_observables_emit_from_their_threads():
    """A future has one item and costs a pool 50 µs; here the items are those of the operator."""
    source, watcher = ThreadSource(range(COUNT // INNER_COUNT)), Watcher()
    wait_for(
        source.observable.pipe(
            rx.flat_map_bounded(lambda _: ThreadSource(range(INNER_COUNT)).observable, 4)
        ),
        watcher,
    )
    check(watcher)
