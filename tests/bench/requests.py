"""Requests beside two streams by hand, alternating in one run: round trips, one after the other.

Both send 70 bytes (codec raw) to another process, which sends them back, in shared memory. It
prints the medians over the rounds, and the ratio of the two.

python -m tests.bench.requests [--rounds 5] [--count 20000]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import rstream
from rstream import stream
from rstream.service import requester

QUERY = b"x" * 70


def serve_by_hand() -> None:
    with rstream.subscriber("bench#q", bytes) as sub, rstream.publisher("bench#a", bytes) as pub:
        for message in sub:
            pub.send(message)


def serve_requests() -> None:
    rstream.serve("bench", codec="raw")(lambda query: query).run()


def measure(trip: Callable[[], object], count: int) -> tuple[float, float]:
    """p50 in µs, and round trips per second."""
    times: list[int] = []
    began_ns = time.perf_counter_ns()
    for _ in range(count):
        start_ns = time.perf_counter_ns()
        trip()
        times.append(time.perf_counter_ns() - start_ns)
    took_ns = time.perf_counter_ns() - began_ns
    return statistics.median(times) / 1e3, count / took_ns * 1e9


def compare(rounds: int, count: int) -> None:
    by_hand: list[tuple[float, float]] = []
    by_request: list[tuple[float, float]] = []
    with (
        rstream.publisher("bench#q", bytes) as pub,
        stream.subscriber("bench#a", bytes) as sub,
        requester("bench", codec="raw") as asks,
    ):

        def by_streams() -> None:
            pub.send(QUERY)
            sub.get()

        for number in range(rounds + 1):
            hand = measure(by_streams, count)
            ours = measure(lambda: asks.request(QUERY), count)
            if number:  # the first round warms up
                by_hand.append(hand)
                by_request.append(ours)
                ratio = ours[0] / hand[0]
                print(f"p50 by hand {hand[0]:.1f} us, request {ours[0]:.1f} us: {ratio:.2f}")
    p50s, rates = (
        [statistics.median(one[i] for one in kind) for kind in (by_hand, by_request)]
        for i in (0, 1)
    )
    print(f"median of p50: {p50s[0]:.1f} and {p50s[1]:.1f} us, ratio {p50s[1] / p50s[0]:.2f}")
    print(f"median rate: {rates[0]:.0f} and {rates[1]:.0f} /s, ratio {rates[0] / rates[1]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--role", choices=("hand", "request"))
    options = parser.parse_args()
    if options.role:
        (serve_by_hand if options.role == "hand" else serve_requests)()
        return
    command = [sys.executable, "-m", "tests.bench.requests", "--role"]
    servers = [subprocess.Popen([*command, role]) for role in ("hand", "request")]
    try:
        compare(options.rounds, options.count)
    finally:
        for server in servers:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    main()
