"""A real Aeron peer: Aeron's C client, and its C media driver unless --dir names another, as carried by pyaeron.

Runs in a Python of its own (pyaeron needs 3.12 or newer):  python peer.py ROLE --channel URI --stream N --count N --seed N [--dir DIR]
Prints "ready" when it is set up, "done COUNT" at the end; any difference ends it with exit code 1 and a text.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pyaeron

sys.path.insert(0, str(Path(__file__).parent))
from messages import Messages

STALL_S = 60.0


def publish(aeron: pyaeron.Aeron, options: argparse.Namespace) -> int:
    publication = aeron.add_publication(options.channel, options.stream)
    print("ready", flush=True)
    publication.await_connected(30)
    messages = Messages(options.seed)
    idle = pyaeron.IdleStrategy.backoff()
    for number in range(options.count):
        message = messages.next()
        deadline = time.monotonic() + STALL_S
        while not publication.offer(message):
            if time.monotonic() > deadline:
                raise SystemExit(f"message {number} ({len(message)} bytes): not taken for {STALL_S} s")
            idle.idle(0)
        idle.reset()
    # The stream lives until the other side has everything: it says so by ending our standard input.
    sys.stdin.read()
    return options.count


def subscribe(aeron: pyaeron.Aeron, options: argparse.Namespace) -> int:
    messages = Messages(options.seed)
    received = 0
    problem = ""

    def on_message(view: pyaeron.BufferView, header: pyaeron.Header) -> None:
        nonlocal received, problem
        data, expected = bytes(view), messages.next()
        if data != expected and not problem:
            problem = f"message {received}: {len(data)} bytes differ from the {len(expected)} expected"
        received += 1

    subscription = aeron.add_subscription(options.channel, options.stream)
    print("ready", flush=True)
    idle = pyaeron.IdleStrategy.backoff()
    last, moved_s = 0, time.monotonic()
    while received < options.count:
        count = subscription.poll(on_message, 64, assemble=True)
        idle.idle(count)
        if problem:
            raise SystemExit(problem)
        now = time.monotonic()
        if received != last:
            last, moved_s = received, now
        elif now - moved_s > STALL_S:
            raise SystemExit(f"stalled at message {received} for {STALL_S} s")
    return received


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("publish", "subscribe"))
    parser.add_argument("--channel", required=True)
    parser.add_argument("--stream", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--dir")
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = options.dir
        if directory is None:
            driver = pyaeron.MediaDriver()
            stack.callback(driver.close)
            directory = driver.dir
        aeron = pyaeron.Aeron(dir=directory)
        stack.callback(aeron.close)
        count = {"publish": publish, "subscribe": subscribe}[options.role](aeron, options)
        print(f"done {count}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
