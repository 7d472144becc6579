"""The processes of ``rstream bench``: ``python -m rstream.cli._bench_worker ROLE TASK_JSON``.

The publisher and the pong side run until they read a line from standard input. The subscriber and
the ping side print a JSON result.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import Any

from rstream import _core
from rstream.client import Client
from rstream.errors import RStreamError

STREAM_PING, STREAM_PONG = 1001, 1002
BLOCK_MESSAGES = 1024
POLL_LIMIT = 1024
CONNECT_S = 20.0
#: Both ends and the driver need a core each. With fewer, an end that spins must yield: else it
#: keeps the core from the driver that it waits for.
SPIN_YIELDS = len(os.sched_getaffinity(0)) < 3
RETRY = (_core.BACK_PRESSURED, _core.ADMIN_ACTION)


def stopped() -> bool:
    """Whether the parent asked to stop, or ended."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def wait_connected(publication: Any) -> None:
    """Wait for a subscriber; ends the process if none comes."""
    deadline = time.monotonic() + CONNECT_S
    while not publication.is_connected:
        if time.monotonic() > deadline:
            raise SystemExit(f"no subscriber on {publication.channel} within {CONNECT_S} s")
        publication.wait(0.1)


def publish(task: dict[str, Any]) -> None:
    """Send distinct messages as fast as the log takes them."""
    size = task["size"]
    with Client(dir=task["dir"]) as client:
        publication = client.add_publication(task["channels"][0], STREAM_PING, exclusive=True)
        wait_connected(publication)
        send = send_block if task["batch"] == "auto" else send_each
        block = bytearray(size * BLOCK_MESSAGES)
        number, checked_s = 0, time.monotonic()
        while True:
            _core.fill_block(block, size, number)
            if not send(publication, block, size):
                break
            number += BLOCK_MESSAGES
            now_s = time.monotonic()
            if now_s - checked_s > 0.05:
                checked_s = now_s
                if stopped():
                    break
        print(json.dumps({"messages": number, "cpu_s": time.process_time()}), flush=True)


def send_block(publication: Any, block: bytearray, size: int) -> bool:
    """Send a block back to back in as few calls as possible; False: the reader has left."""
    start = 0
    while start < BLOCK_MESSAGES:
        taken, result = publication.offer_block(block, size, start)
        start += taken
        if start < BLOCK_MESSAGES and not make_room(publication, result):
            return False
    return True


def send_each(publication: Any, block: bytearray, size: int) -> bool:
    """Send a block with one offer per message; False: the reader has left."""
    data = bytes(block)
    offer = publication.offer
    for start in range(0, len(data), size):
        message = data[start : start + size]
        result = offer(message)
        while result < 0:
            if not make_room(publication, result):
                return False
            result = offer(message)
    return True


def make_room(publication: Any, result: int) -> bool:
    """Wait until the publication may have room; False: stop sending."""
    if result > 0 or result == _core.ADMIN_ACTION:
        return True
    if result == _core.BACK_PRESSURED:
        publication.wait(0.1)
        return not stopped()
    return False


def subscribe(task: dict[str, Any]) -> None:
    """Receive and check every message; measure from the end of the warm-up on."""
    size = task["size"]
    check = _core.check_messages
    with Client(dir=task["dir"]) as client:
        subscription = client.add_subscription(task["channels"][0], STREAM_PING)
        expected = 0
        start_s = end_s = start_cpu_s = 0.0
        start_number = 0
        while True:
            with subscription.poll(POLL_LIMIT) as batch:
                if len(batch):
                    expected += check(batch.to_list(), size, expected)
                    empty = False
                else:
                    empty = True
            now_s = time.monotonic()
            if empty:
                subscription.wait(0.1)
            if expected and start_s == 0.0:
                start_s, start_number = now_s + task["warmup"], -1
            elif start_number < 0 and now_s >= start_s:
                start_s, start_number, start_cpu_s = now_s, expected, time.process_time()
                end_s = now_s + task["seconds"]
            elif start_number > 0 and now_s >= end_s:
                break
        seconds, messages = now_s - start_s, expected - start_number
        print(
            json.dumps(
                {
                    "messages_per_s": messages / seconds,
                    "bytes_per_s": messages * size / seconds,
                    "lost": 0,
                    "messages": messages,
                    "batch": task["batch"],
                    "subscriber_cpu_ns": 1e9
                    * (time.process_time() - start_cpu_s)
                    / max(messages, 1),
                }
            ),
            flush=True,
        )


def receive_one(subscription: Any, spin: bool, deadline_s: float) -> bytes | None:
    """The next message; None: none until the deadline."""
    while True:
        with subscription.poll(1) as batch:
            if len(batch):
                return batch.to_list()[0]
        if not spin:
            subscription.wait(0.05)
        elif SPIN_YIELDS:
            os.sched_yield()
        if time.monotonic() > deadline_s:
            return None


def offer_one(publication: Any, message: bytes) -> None:
    """Send one message; ends the process when that is not possible."""
    while (result := publication.offer(message)) < 0:
        if result not in RETRY:
            raise SystemExit(f"{publication.channel}: offer returned {result}")
        if SPIN_YIELDS:
            os.sched_yield()


def ping(task: dict[str, Any]) -> None:
    """Send a message, wait for its echo, and note the time, again and again."""
    spin = task["wait"] == "spin"
    with Client(dir=task["dir"]) as client:
        subscription = client.add_subscription(task["channels"][1], STREAM_PONG)
        publication = client.add_publication(task["channels"][0], STREAM_PING, exclusive=True)
        wait_connected(publication)
        times: list[int] = []
        message = bytearray(task["size"])
        number = 0
        begin_s = time.monotonic() + task["warmup"]
        end_s = begin_s + task["seconds"]
        while (now_s := time.monotonic()) < end_s:
            _core.fill_block(message, task["size"], number)
            sent = bytes(message)
            before = time.perf_counter_ns()
            offer_one(publication, sent)
            echo = receive_one(subscription, spin, now_s + 5)
            after = time.perf_counter_ns()
            if echo != sent:
                raise SystemExit(
                    f"round trip {number}: the echo {'is missing' if echo is None else 'differs'}"
                )
            number += 1
            if now_s >= begin_s:
                times.append(after - before)
        times.sort()
        share = {name: times[min(len(times) - 1, int(len(times) * p))] / 1000 for name, p in
                 (("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999))}  # fmt: skip
        print(
            json.dumps(share | {"round_trips": len(times), "lost": 0, "wait": task["wait"]}),
            flush=True,
        )


def pong(task: dict[str, Any]) -> None:
    """Echo every message until stopped."""
    spin = task["wait"] == "spin"
    with Client(dir=task["dir"]) as client:
        subscription = client.add_subscription(task["channels"][0], STREAM_PING)
        publication = client.add_publication(task["channels"][1], STREAM_PONG, exclusive=True)
        wait_connected(publication)
        while not stopped():
            deadline_s = time.monotonic() + 0.2
            while (message := receive_one(subscription, spin, deadline_s)) is not None:
                offer_one(publication, message)
                deadline_s = time.monotonic() + 0.2


ROLES = {"publisher": publish, "subscriber": subscribe, "ping": ping, "pong": pong}

if __name__ == "__main__":
    try:
        ROLES[sys.argv[1]](json.loads(sys.argv[2]))
    except RStreamError as error:
        sys.exit(f"rstream bench, {sys.argv[1]}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)  # the parent got the same signal and reports it
