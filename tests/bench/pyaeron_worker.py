"""pyaeron's side of `make bench`: the same messages and checks, by the same C helper.

Run as python pyaeron_worker.py ROLE TASK_JSON, in a Python that has pyaeron. TASK: core (path of
rstream's extension, for its block helpers), dir (of a driver; empty: an embedded one), channel,
size, seconds, warmup, exclusive, assemble, limit, idle.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import select
import sys
import time
from typing import Any

import pyaeron

BLOCK_MESSAGES = 1024
STREAM = 1001


def load_core(path: str) -> Any:
    loader = importlib.machinery.ExtensionFileLoader("rstream._core", path)
    spec = importlib.util.spec_from_file_location("rstream._core", path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def stopped() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def publish(task: dict[str, Any], core: Any, aeron: pyaeron.Aeron) -> None:
    add = aeron.add_exclusive_publication if task["exclusive"] else aeron.add_publication
    publication = add(task["channel"], STREAM)
    publication.await_connected(20)
    idle = getattr(pyaeron.IdleStrategy, task["idle"])()
    size = task["size"]
    block = bytearray(size * BLOCK_MESSAGES)
    offer = publication.offer
    number, checked_s = 0, time.monotonic()
    while True:
        core.fill_block(block, size, number)
        data = bytes(block)
        for start in range(0, len(data), size):
            message = data[start : start + size]
            while not offer(message):
                idle.idle(0)
                if not publication.is_connected:
                    break
        number += BLOCK_MESSAGES
        now_s = time.monotonic()
        if now_s - checked_s > 0.05:
            checked_s = now_s
            if stopped():
                break
    print(json.dumps({"messages": number, "cpu_s": time.process_time()}), flush=True)


def subscribe(task: dict[str, Any], core: Any, aeron: pyaeron.Aeron) -> None:
    subscription = aeron.add_subscription(task["channel"], STREAM)
    idle = getattr(pyaeron.IdleStrategy, task["idle"])()
    size, limit, assemble = task["size"], task["limit"], task["assemble"]
    received: list[bytes] = []
    append = received.append

    def on_message(view: pyaeron.BufferView, header: pyaeron.Header) -> None:
        append(bytes(view))

    expected = 0
    start_s = end_s = now_s = 0.0
    start_number = 0
    print("ready", flush=True)
    while True:
        count = subscription.poll(on_message, limit, assemble=assemble)
        if count:
            expected += core.check_messages(received, size, expected)
            received.clear()
        idle.idle(count)
        now_s = time.monotonic()
        if expected and start_s == 0.0:
            start_s, start_number = now_s + task["warmup"], -1
        elif start_number < 0 and now_s >= start_s:
            start_s, start_number = now_s, expected
            end_s = now_s + task["seconds"]
        elif start_number > 0 and now_s >= end_s:
            break
    messages = expected - start_number
    print(
        json.dumps(
            {"messages_per_s": messages / (now_s - start_s), "messages": messages, "lost": 0}
        ),
        flush=True,
    )


def serve(task: dict[str, Any]) -> None:
    """A media driver in a process of its own."""
    driver = pyaeron.MediaDriver()
    print(driver.dir, flush=True)
    sys.stdin.read()
    driver.close()


def main() -> None:
    role, task = sys.argv[1], json.loads(sys.argv[2])
    if role == "driver":
        serve(task)
        return
    core = load_core(task["core"])
    with pyaeron.Aeron(dir=task["dir"]) as aeron:
        {"publisher": publish, "subscriber": subscribe}[role](task, core, aeron)


if __name__ == "__main__":
    main()
