"""Goal: windows over a stream between Ray actors, written in RxPY, without an unbounded queue.

The actor's pipeline counts and averages the ticks of each symbol in windows of 100 ticks, and sends
each window's result on. It is slower than its writer, so the writer waits: the example prints how
far it was ahead.

Needs: pip install ".[ray,rx]"
Run: python examples/ray_rx_windows.py
"""

import os
import sys
import time

import ray
from reactivex import operators as ops

import rstream
from rstream import rx as rrx

COUNT, WINDOW = 5000, 100
SYMBOLS = ("ABC", "DEF", "XYZ")
PAD = bytes(1000)


def add(sums: dict, tick: dict) -> dict:
    count, total = sums.get(tick["symbol"], (0, 0.0))
    return sums | {tick["symbol"]: (count + 1, total + tick["px"])}


def means(sums: dict) -> dict:
    return {symbol: round(total / count, 2) for symbol, (count, total) in sums.items()}


class Windows:
    """Ticks in, one mean per symbol and window out."""

    def __init__(self, results: rstream.ray.StreamHandle) -> None:
        self.end = rstream.ray.reader()
        self.end.observable().pipe(
            ops.do_action(lambda _: time.sleep(0.0002)),  # the work
            ops.window_with_count(WINDOW),
            ops.flat_map(lambda window: window.pipe(ops.reduce(add, {}))),
            ops.filter(bool),
            ops.map(means),
            rrx.to_stream(results),
        ).subscribe()

    def handle(self) -> rstream.ray.StreamHandle:
        return self.end.handle

    def finish(self) -> None:
        self.end.finish()


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    with rstream.ray.reader(stays=False) as results:
        actor = ray.remote(num_cpus=0)(Windows).remote(results.handle)
        ahead = 0
        got = []
        results.start(got.append)
        with ray.get(actor.handle.remote()).publisher() as ticks:
            for n in range(COUNT):
                ticks.send({"symbol": SYMBOLS[n % 3], "px": n / 100, "pad": PAD})
                ahead = max(ahead, n - WINDOW * len(got))
            ticks.wait_consumed(timeout_s=30)
        ray.get(actor.finish.remote())
        results.finish()
    print("first window:", got[0])
    print("last window: ", got[-1])
    print(f"{len(got)} windows of {WINDOW} ticks; the writer was at most {ahead} ticks ahead")
    ray.shutdown()


if __name__ == "__main__":
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    sys.exit(main())
