"""The other process of the tests of large messages: ``python -m tests.system.large_worker ROLE
TASK_JSON``.

It prints JSON lines. ``read`` tells of each large message its length, its digest, and how long the
small messages before it were under way; of each event its kind and reason; at its end how much
memory it has needed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import threading
import time
from pathlib import Path
from typing import Any

from typing_extensions import Buffer

from rstream import stream

BLOCK = 1 << 20
SMALL = 70


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def payload_of(length: int) -> bytearray:
    """Bytes in which each block of 1 MiB is another one."""
    block = bytes(range(256)) * (BLOCK // 256)
    whole = bytearray(length)
    view = memoryview(whole)
    for number, begin in enumerate(range(0, length, BLOCK)):
        part = view[begin : begin + BLOCK]
        part[:] = block[: part.nbytes]
        mark = number.to_bytes(8, "little")[: part.nbytes]
        part[: len(mark)] = mark
    view.release()
    return whole


def digest_of(data: Buffer) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def memory_mib() -> tuple[float, float]:
    """Now and at most, without the memory that is shared with other processes."""
    found: dict[str, int] = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key in ("VmHWM", "RssAnon"):
            found[key] = int(value.split()[0])
    return found["RssAnon"] / 1024, found["VmHWM"] / 1024


def read(task: dict[str, Any]) -> None:
    """Read until the stream has ended, or its publisher is lost."""
    options = {"channel": task["channel"], "dir": task["dir"], "on_lost": "event"}
    with stream.subscriber(task["name"], bytes, **options, **task.get("options", {})) as sub:
        say(kind="ready", memory=memory_mib())
        is_over = False
        delays_s: list[float] = []
        busy_until_s = 0.0
        while not (is_over or sub.is_ended):
            for item in sub.poll():
                if len(item) == SMALL:
                    if float(item) > busy_until_s:
                        delays_s.append(time.monotonic() - float(item))
                else:
                    say(kind="got", length=len(item), delays_s=delays_s, digest=digest_of(item))
                    delays_s = []
                    busy_until_s = time.monotonic()  # what was sent meanwhile waited for the digest
            item = None  # the last one must not count
            for event in sub.events():
                kind = type(event).__name__
                say(kind=kind, reason=getattr(event, "reason", ""))
                is_over = is_over or kind == "Lost"
            sub.wait(0.1)
        say(kind="end", memory=memory_mib(), partial_bytes=sub.statistics()["partial_bytes"])


def send(task: dict[str, Any]) -> None:
    """Send messages of these lengths; meanwhile small ones from another thread, with the time."""
    with stream.publisher(
        task["name"], bytes, channel=task["channel"], dir=task["dir"], linger_s=30.0
    ) as pub:
        pub.send(b"first")
        done = threading.Event()

        def send_small() -> None:
            while not done.is_set():
                pub.send(str(time.monotonic()).encode().ljust(SMALL))
                time.sleep(0.001)

        small = threading.Thread(target=send_small)
        if task["with_small"]:
            small.start()
        for length in task["lengths"]:
            data = payload_of(length)
            say(kind="begins", length=length, digest=digest_of(data))
            began_s = time.monotonic()
            pub.send(data)
            say(kind="sent", seconds=time.monotonic() - began_s)
            del data
        done.set()
        if task["with_small"]:
            small.join()
    say(kind="closed", rejoins=pub.statistics()["rejoins"])


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr)
    {"read": read, "send": send}[sys.argv[1]](json.loads(sys.argv[2]))
