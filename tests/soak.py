"""Random requests, cancels and reconnects for a long time: ``python -m tests.soak --minutes 10``.

One process and one driver. Over shared memory and UDP, a sink sends what its readers ask for, and
readers come and go: each requests random numbers of elements at random moments, and either cancels
or lives on until the stream ends or its life is over; the writers end and come back too. It counts

* signals after the end or the return of ``cancel``, and elements beyond the demand,
* elements lost or out of order between two of one reader and one writer,
* and, once a round of the same work is over and everything is closed: Python objects, resident
  memory, descriptors and threads, at the end beside what they were after the first fifth.

The seed is printed; ``--seed`` repeats the choices (not the timing). Exit code 1: a violation or a
leak.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import rstream
from tests.support import free_port

ROUND_S = 10.0
LIFE_MOST_S = 1.5
WRITER_LIFE_S = 3.0
READERS, ELEMENT_BYTES = 4, 200
#: What may differ at the end: caches of the interpreter and of the allocator.
OBJECTS_MOST, MEMORY_MOST = 500, 8 << 20


class Endless:
    """Makes numbered elements while there is demand, until it is told to end."""

    def __init__(self, writer: int) -> None:
        self.writer, self.number = writer, 0
        self.wanted, self.lock = 0, threading.Condition()
        self.is_cancelled = False

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        with self.lock:
            self.wanted += n
            self.lock.notify()

    def cancel(self) -> None:
        with self.lock:
            self.is_cancelled = True
            self.lock.notify()

    def run(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            with self.lock:
                if not self.wanted and not self.is_cancelled:
                    self.lock.wait(0.1)
                if self.is_cancelled:
                    return
                count, self.wanted = self.wanted, 0
            for _ in range(count):
                if self.is_cancelled or time.monotonic() >= until_s:
                    break
                element = b"%d %d " % (self.writer, self.number)
                self.subscriber.on_next(element + bytes(ELEMENT_BYTES - len(element)))
                self.number += 1
        self.subscriber.on_complete()


class Reader(rstream.abc.Subscriber[bytes]):
    """Counts what the rules forbid."""

    def __init__(self, tally: Counter[str]) -> None:
        self.tally, self.ended = tally, threading.Event()
        self.requested = self.delivered = 0
        self.is_cancelled = False
        self.last: dict[int, int] = {}
        self.inside = False

    def on_subscribe(self, subscription: Any) -> None:
        self.subscription = subscription

    def ask(self, count: int) -> None:
        self.requested += count
        self.subscription.request(count)

    def leave(self) -> None:
        self.subscription.cancel()
        self.is_cancelled = True

    def on_next(self, item: bytes) -> None:
        self.tally["not serial"] += self.inside
        self.inside = True
        self.delivered += 1
        self.tally["elements"] += 1
        self.tally["beyond demand"] += self.delivered > self.requested
        self.tally["after the end"] += self.ended.is_set()
        writer, number = map(int, item.split(b" ", 2)[:2])
        if writer in self.last:
            self.tally["lost or out of order"] += number != self.last[writer] + 1
        self.last[writer] = number
        self.inside = False

    def on_error(self, error: BaseException) -> None:
        self.tally[f"error {type(error).__name__}"] += 1
        self._end()

    def on_complete(self) -> None:
        self.tally["completed"] += 1
        self._end()

    def _end(self) -> None:
        self.tally["after the end"] += self.ended.is_set()
        self.ended.set()


FORBIDDEN = ("not serial", "beyond demand", "after the end", "lost or out of order", "hung")


def read(stream: str, where: dict[str, Any], until_s: float, seed: int, tally: Any) -> None:
    rng = random.Random(seed)
    while time.monotonic() < until_s:
        reader = Reader(tally)
        rstream.stream.source(stream, codec="raw", **where).subscribe(reader)
        over_s = min(until_s, time.monotonic() + rng.uniform(0.01, LIFE_MOST_S))
        while time.monotonic() < over_s and not reader.ended.is_set():
            reader.ask(rng.choice((1, 2, 7, 64, 1000)))
            time.sleep(rng.choice((0.0, 0.001, 0.02)))
        if reader.ended.is_set():
            continue
        tally["cancelled"] += 1
        reader.leave()
        time.sleep(0.02)  # §2.8: one element that was on its way may still come
        seen = reader.delivered
        time.sleep(0.02)
        tally["after the end"] += reader.delivered > seen


def write(stream: str, where: dict[str, Any], until_s: float, seed: int, tally: Any) -> None:
    rng = random.Random(seed)
    writer = seed * 1000
    while time.monotonic() < until_s:
        writer += 1
        upstream = Endless(writer)
        sink = rstream.stream.sink(stream, codec="raw", linger_s=0.2, **where)
        upstream.subscribe(sink)
        upstream.run(min(until_s, time.monotonic() + rng.uniform(0.2, WRITER_LIFE_S)))
        tally["writers"] += 1


def work(directory: str, rng: random.Random, tally: Counter[str]) -> None:
    """One round: everything that it opens is closed at its end."""
    until_s = time.monotonic() + ROUND_S
    threads: list[threading.Thread] = []
    for stream, channel in (
        ("soak-ipc", None),
        ("soak-udp", f"aeron:udp?endpoint=127.0.0.1:{free_port()}"),
    ):
        where: dict[str, Any] = {"dir": directory} | ({"channel": channel} if channel else {})
        for target in (write, *[read] * READERS):
            arguments = (stream, where, until_s, rng.randrange(1 << 30), tally)
            threads.append(threading.Thread(target=target, args=arguments))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ROUND_S + 60)
        tally["hung"] += thread.is_alive()


def state() -> dict[str, int]:
    deadline_s = time.monotonic() + 15
    while threading.active_count() > 1 and time.monotonic() < deadline_s:
        time.sleep(0.1)  # loops that have ended but for their last steps
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "objects": len(gc.get_objects()),
        "memory": pages * os.sysconf("SC_PAGE_SIZE"),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options = parser.parse_args()
    print(f"soak: seed {options.seed}", flush=True)
    rng, tally = random.Random(options.seed), Counter[str]()
    rounds = max(5, round(options.minutes * 60 / ROUND_S))
    place = tempfile.mkdtemp(prefix="rs-soak-", dir="/dev/shm")
    before: dict[str, int] = {}
    now: dict[str, int] = {}
    with rstream.Driver(dir=f"{place}/driver"):
        for number in range(1, rounds + 1):
            work(f"{place}/driver", rng, tally)
            now = state()
            if number == max(1, rounds // 5):
                before = now
            print(f"soak: round {number} of {rounds}: {now} {dict(tally)}", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    faults = [f"{name}: {tally[name]}" for name in FORBIDDEN if tally[name]]
    faults += [f"{name}: {count}" for name, count in tally.items() if name.startswith("error")]
    for name, most in (
        ("objects", OBJECTS_MOST), ("memory", MEMORY_MOST), ("descriptors", 0), ("threads", 0)
    ):  # fmt: skip
        if now[name] > before[name] + most:
            faults.append(f"{name}: {before[name]} became {now[name]}")
    print("soak: OK" if not faults else "soak: FAILED " + "; ".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
