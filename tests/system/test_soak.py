"""Random requests, cancels and reconnects, for a while: the contract holds and nothing is left.

Each round opens a stream over a random medium, with one to three readers that come, ask for random
numbers of elements, and leave in the middle or stay to the end. What must hold in every round: no
violation (§1.1, §1.3, §1.7 …), elements in order and without a hole from where a reader joined,
nothing after the end. What must hold over all rounds: threads, descriptors, objects and memory are
back at their level. RSTREAM_SEED repeats the choices of a run.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rstream import stream
from rstream.errors import RStreamError
from rstream.testing import LossyLink, TestSubscriber, own_driver
from tests.support import free_port

SEED = int(os.environ.get("RSTREAM_SEED", "0")) or random.randrange(1, 2**31)
WARM_UP_ROUNDS = 20
#: A driver keeps a closed publication for its linger time, and removes it at the next timer.
QUICK = {
    "timer_interval_s": 0.05,
    "publication_linger_timeout_s": 0.2,
    "image_liveness_timeout_s": 2.0,
}
SETTLE_S = 20.0
#: Each of the two drivers keeps up to so many ends of FIFOs open, also of those that are gone
#: (transport_ext/cnc/wake_fifo.h).
WAKERS_MAX = 2 * 64
GONE_FIFO = "/wake/n.n (deleted)"
RSS_SLACK_BYTES = 32 << 20
ELEMENTS_MAX = 2000


def descriptors() -> Iterator[str]:
    """What the open descriptors lead to; sockets and files by their kind."""
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            yield re.sub(r"\d+", "n", os.readlink(f"/proc/self/fd/{number}"))


class Level:
    """What a leak would raise."""

    def __init__(self) -> None:
        gc.collect()
        self.threads = threading.active_count()
        self.descriptors = Counter(descriptors())
        self.wakers = sum(
            self.descriptors.pop(name) for name in list(self.descriptors) if GONE_FIFO in name
        )
        self.objects = Counter(
            type(one).__qualname__
            for one in gc.get_objects()
            if str(type(one).__module__).startswith("rstream")  # a class may have no text there
        )
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.rss_bytes = pages * os.sysconf("SC_PAGE_SIZE")

    def excess(self, before: Level) -> dict[str, object]:
        """What is more than before; the memory aside."""
        more = {
            "threads": self.threads - before.threads,
            **(self.descriptors - before.descriptors),
            "wakers": self.wakers - WAKERS_MAX,
            **(self.objects - before.objects),
        }
        return {name: count for name, count in more.items() if count > 0}


class Writer:
    """Sends numbers until it is stopped or has sent all, in a thread of its own."""

    def __init__(self, name: str, address: dict[str, str], count: int, *, fails: bool) -> None:
        self.stopped = threading.Event()
        self.publisher = stream.publisher(name, linger_s=0, connect_timeout_s=0.2, **address)
        self.count = count
        self.fails = fails
        self.thread = threading.Thread(target=self.send)
        self.thread.start()

    def send(self) -> None:
        try:
            for number in range(self.count):
                self.publisher.send(number, timeout_s=5)
                if self.stopped.is_set():
                    break
            if self.fails:
                self.publisher.fail(RuntimeError("on purpose"))
        except RStreamError:
            pass  # the readers have gone
        finally:
            self.publisher.close(linger_s=0)

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(30)
        assert not self.thread.is_alive()


def read(dice: random.Random, name: str, address: dict[str, str]) -> TestSubscriber[int]:
    """One reader's life: ask, wait a little, ask again, and leave or see the end."""
    seen: TestSubscriber[int] = TestSubscriber(initial_request=dice.choice((0, 1, 7)))
    stream.source(name, **address).subscribe(seen)
    for _ in range(dice.randrange(1, 8)):
        if dice.random() < 0.2:
            time.sleep(dice.random() * 0.01)
        seen.request(dice.choice((1, 2, 16, 100)))
        if dice.random() < 0.02:
            seen.request(0)
    if dice.random() < 0.5:
        time.sleep(dice.random() * 0.03)
    for _ in range(dice.randrange(1, 3)):
        seen.cancel()
    if dice.random() < 0.3:
        seen.request(5)
    return seen


def check(seen: TestSubscriber[int]) -> None:
    seen.assert_no_violations()
    values = seen.values
    assert values == list(range(values[0], values[0] + len(values))) if values else True
    assert len(values) <= seen.requested


def soak(seconds: float) -> int:
    """Rounds until the time is up; their number."""
    dice = random.Random(SEED)
    print(f"RSTREAM_SEED={SEED}")
    with own_driver(**QUICK) as driver, LossyLink(seed=SEED, loss=0.01, **QUICK) as link:

        def addresses() -> dict[str, dict[str, str]]:
            """A port serves one round: what was sent in the one before may still arrive."""
            udp = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
            group = f"aeron:udp?endpoint=224.20.30.45:{free_port()}|interface=127.0.0.1"
            return {
                "ipc": {"channel": "aeron:ipc?term-length=64k", "dir": driver.dir},
                "udp": {"channel": udp, "dir": driver.dir},
                "lossy udp": {"channel": udp, "dir": link.dir},
                "lossy group": {"channel": group + "|term-length=64k", "dir": link.dir},
            }

        before: Level | None = None
        # Readers of the two rounds before, and how much they had seen one round ago. An element
        # may be under way while its reader cancels (§2.8); a round later none is.
        left: list[TestSubscriber[int]] = []
        gone: list[tuple[TestSubscriber[int], int]] = []
        deadline_s = math.inf
        for number in itertools.count():
            address = dice.choice(list(addresses().values()))
            if number == WARM_UP_ROUNDS:
                left, gone = [], []
                before = settled(None)
                deadline_s = time.monotonic() + seconds
            writer = Writer(
                f"soak-{number}", address, dice.randrange(ELEMENTS_MAX), fails=dice.random() < 0.1
            )
            readers = [read(dice, f"soak-{number}", address) for _ in range(dice.randrange(1, 4))]
            writer.stop()
            for seen, count in gone:
                assert len(seen.signals) == count, seen.signals[count:]
            gone = [(seen, len(seen.signals)) for seen in left]
            for seen in readers:
                check(seen)
            left = readers
            if time.monotonic() > deadline_s and before is not None:
                del readers, writer, left, gone
                seen = None
                after = settled(before)
                assert after.excess(before) == {}
                if seconds > 60:
                    assert after.rss_bytes - before.rss_bytes < RSS_SLACK_BYTES
                return number
    raise AssertionError


def settled(before: Level | None) -> Level:
    """The level when the drivers have cleared up: as before, or else unchanged for a second."""
    deadline_s = time.monotonic() + SETTLE_S
    level = Level()
    while time.monotonic() < deadline_s:
        if before is not None and not level.excess(before):
            return level
        time.sleep(1.0 if before is None else 0.2)
        latest = Level()
        if before is None and not latest.excess(level) and not level.excess(latest):
            return latest
        level = latest
    return level


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(15, id="15 s", marks=pytest.mark.ci),
        pytest.param(600, id="10 min", marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)
def test_nothing_is_left_and_the_contract_holds(seconds: float) -> None:
    rounds = soak(seconds)
    print(f"{rounds} rounds")
    assert rounds > WARM_UP_ROUNDS
