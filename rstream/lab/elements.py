"""The parts of experiments with real agents: drivers, a counting upstream, a patterned reader.

All of them live in this process; each driver stands for a host.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rstream import abc, codecs, stream
from rstream.driver import Driver
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

__all__ = (
    "TIMEOUT_S",
    "CountingUpstream",
    "PatternReader",
    "Timeout",
    "drivers",
    "open_sink",
    "open_source",
    "patterns",
    "until",
)

TIMEOUT_S: Final = 60.0


class Timeout(RStreamError):
    """An experiment made no progress within its time limit."""


def until(condition: Callable[[], bool], what: str, timeout_s: float = TIMEOUT_S) -> None:
    """Wait until ``condition()`` is true; ``what`` names it in the error.

    Raises:
        Timeout: the condition was still false after ``timeout_s`` seconds.
    """
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline_s:
            raise Timeout(f"not within {timeout_s:g} s: {what}")
        time.sleep(0.0005)


@contextmanager
def drivers(count: int) -> Generator[list[str]]:
    """Start embedded drivers in shared memory, one per simulated host; yields their directories.

    They are closed and their directories removed at the end of the ``with`` block.
    """
    opened: list[Driver] = []
    folders: list[str] = []
    try:
        for _ in range(count):
            folders.append(tempfile.mkdtemp(prefix="rstream-lab-", dir="/dev/shm"))
            opened.append(Driver(dir=folders[-1] + "/driver"))
        yield [driver.dir for driver in opened]
    finally:
        for driver in opened:
            driver.close()
        for path in folders:
            shutil.rmtree(path, ignore_errors=True)


class CountingUpstream(abc.Subscription):
    """An upstream in a thread of its own: it makes each requested element at once.

    It makes at most ``count`` elements. ``demand`` returns how many elements the readers have
    requested; ``beyond`` is the largest excess of elements made over that number. The thread ends
    when the subscription is cancelled.
    """

    def __init__(
        self, sink: abc.Subscriber[Any], payload: object, count: int, demand: Callable[[], int]
    ) -> None:
        self.made: int = 0
        self.requested: int = 0
        self.beyond: int = -(2**62)
        self._sink, self._payload, self._count, self._demand = sink, payload, count, demand
        self._is_cancelled = False
        self._more = threading.Condition()
        sink.on_subscribe(self)
        self._thread = threading.Thread(target=self._run, name="rstream-lab-upstream", daemon=True)
        self._thread.start()

    def request(self, n: int) -> None:
        with self._more:
            self.requested += n
            self._more.notify()

    def cancel(self) -> None:
        with self._more:
            self._is_cancelled = True
            self._more.notify()

    def extend(self, count: int) -> None:
        """Allow ``count`` more elements; they are made when they are requested."""
        with self._more:
            self._count += count
            self._more.notify()

    def join(self) -> None:
        self._thread.join(TIMEOUT_S)

    def _run(self) -> None:
        sink, payload = self._sink, self._payload
        while True:
            with self._more:
                self._more.wait_for(
                    lambda: self.made < min(self.requested, self._count) or self._is_cancelled
                )
                if self._is_cancelled:
                    return
                most = min(self.requested, self._count)
            while self.made < most:
                self.made += 1
                self.beyond = max(self.beyond, self.made - self._demand())
                sink.on_next(payload)


class PatternReader(abc.Subscriber[Any]):
    """A reader that requests elements in a pattern.

    ``sizes`` gives the size of each request. The next request follows when at most ``keep``
    elements of the earlier ones are still to come. ``beyond`` is the largest excess of elements
    delivered over elements requested.
    """

    def __init__(self, sizes: Iterator[int], keep: int = 0) -> None:
        self.requested: int = 0
        self.delivered: int = 0
        self.beyond: int = -(2**62)
        self._sizes, self._keep = sizes, keep
        self.subscription: abc.Subscription | None = None

    def on_subscribe(self, subscription: abc.Subscription) -> None:
        self.subscription = subscription
        self.request_next()

    def request_next(self) -> None:
        size = next(self._sizes, 0)
        if size:
            self.requested += size  # before request(): elements may arrive during the call
            assert self.subscription is not None
            self.subscription.request(size)

    def on_next(self, item: object) -> None:
        self.delivered += 1
        self.beyond = max(self.beyond, self.delivered - self.requested)
        if self.requested - self.delivered <= self._keep:
            self.request_next()

    def cancel(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()

    def on_error(self, error: Exception) -> None:
        pass

    def on_complete(self) -> None:
        pass


def patterns(seed: int, count: int) -> dict[str, Callable[[], Iterator[int]]]:
    """Request patterns by name, ``count`` elements each: one, seven, or bursts at a time."""

    def cut(sizes: Callable[[], int]) -> Iterator[int]:
        left = count
        while left > 0:
            size = min(left, sizes())
            left -= size
            yield size

    rng = random.Random(seed)
    return {
        "request_1": lambda: cut(lambda: 1),
        "request_7": lambda: cut(lambda: 7),
        "bursts": lambda: cut(lambda: rng.choice((1, 2, 3, 100, 1000))),
    }


def open_sink(name: str, sink_dir: str, channel: str | None, window: int) -> stream.StreamSink[Any]:
    """Open a sink that sends raw bytes into stream ``name`` by the driver in ``sink_dir``."""
    return stream.sink(
        name, codec=codecs.raw(), channel=channel, dir=sink_dir, window=window, linger_s=0
    )


def open_source(name: str, source_dir: str, channel: str | None) -> abc.Publisher[Any]:
    """Open a source of raw bytes from stream ``name`` by the driver in ``source_dir``.

    ``channel`` None: shared memory, so ``source_dir`` must be the sink's own driver.
    """
    return stream.source(name, codec=codecs.raw(), channel=channel, dir=source_dir)
