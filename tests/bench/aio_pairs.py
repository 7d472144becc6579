"""The event loop's face beside the plain one: rates of sending and reading, in pairs.

Each pair runs the two faces one after the other, and the next pair in the other order. The writer
and the reader are two processes over shared memory, and the reader takes the time from the first
message to the last. It prints one line of JSON per subject: the median rates in messages/s, and the
median of the pairs' ratios. docs/reference/performance.md keeps the ratios.

    send   `await send` beside `send`, to a reader that iterates over batches
    many   `await send_many` beside `send_many`, of lists of 256
    read   `async for` beside `for`, from a writer that sends lists of 256 with send_many
    batch  `async for` beside `for`, over batches()

python -m tests.bench.aio_pairs [--pairs 5] [--count 400000] [--size 70] [--codec raw]
    [--only send] [--loop asyncio]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import repeat
from typing import Any

import anyio

import rstream
from rstream import aio
from rstream._core import build_config

#: Subject: (writers of both faces, readers of both faces); the plain face first.
SUBJECTS = {
    "send": (("send", "aio send"), ("batches", "batches")),
    "many": (("many", "aio many"), ("batches", "batches")),
    "read": (("many", "many"), ("for", "aio for")),
    "batch": (("many", "many"), ("batches", "aio batches")),
}
STREAM = "pairs"
CHUNK = 256
#: Longest run of one process.
LIMIT_S = 120.0


def message(options: argparse.Namespace) -> Any:
    if options.codec == "raw":
        return bytes(options.size)
    return {"symbol": "ABC", "px": 101.25, "qty": 300, "side": "buy", "at": 1_700_000_000}


def write(options: argparse.Namespace) -> None:
    item = message(options)
    with rstream.publisher(STREAM, codec=options.codec) as pub:
        if options.face == "send":
            for _ in repeat(None, options.count):
                pub.send(item)
        else:
            chunk = [item] * CHUNK
            for _ in repeat(None, options.count // CHUNK):
                pub.send_many(chunk)


async def write_aio(options: argparse.Namespace) -> None:
    item = message(options)
    async with aio.publisher(STREAM, codec=options.codec) as pub:
        if options.face == "aio send":
            for _ in repeat(None, options.count):
                await pub.send(item)
        else:
            chunk = [item] * CHUNK
            for _ in repeat(None, options.count // CHUNK):
                await pub.send_many(chunk)


def read(options: argparse.Namespace) -> None:
    count, first_s = 0, 0.0
    with rstream.subscriber(STREAM, codec=options.codec) as sub:
        say_ready()
        if options.face == "for":
            for _ in sub:
                if not count:
                    first_s = time.monotonic()
                count += 1
        else:
            for batch in sub.batches():
                if not count:
                    first_s = time.monotonic()
                count += len(batch)
    say_rate(count, first_s)


async def read_aio(options: argparse.Namespace) -> None:
    count, first_s = 0, 0.0
    async with aio.subscriber(STREAM, codec=options.codec) as sub:
        say_ready()
        if options.face == "aio for":
            async for _ in sub:
                if not count:
                    first_s = time.monotonic()
                count += 1
        else:
            async for batch in sub.batches():
                if not count:
                    first_s = time.monotonic()
                count += len(batch)
    say_rate(count, first_s)


def say_ready() -> None:
    print("ready", flush=True)


def say_rate(count: int, first_s: float) -> None:
    print(count / (time.monotonic() - first_s), flush=True)


def start(options: argparse.Namespace, role: str, face: str) -> subprocess.Popen[str]:
    arguments = ["--count", options.count, "--size", options.size, "--codec", options.codec]
    command = [sys.executable, "-m", "tests.bench.aio_pairs", "--role", role, "--face", face]
    return subprocess.Popen(
        [*command, "--loop", options.loop, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def measure(options: argparse.Namespace, writer_face: str, reader_face: str) -> float:
    """Messages per second from one writer to one reader."""
    reader = start(options, "read", reader_face)
    assert reader.stdout is not None
    try:
        assert reader.stdout.readline() == "ready\n", "the reader did not start"
        writer = start(options, "write", writer_face)
        try:
            out, _ = reader.communicate(timeout=LIMIT_S)
            assert writer.wait(LIMIT_S) == 0, "the writer failed"
        finally:
            writer.kill()
    finally:
        reader.kill()
    return float(out)


def compare(options: argparse.Namespace, subject: str) -> dict[str, Any]:
    writers, readers = SUBJECTS[subject]
    rates: list[list[float]] = [[], []]
    for pair in range(options.pairs):
        for face in (0, 1) if pair % 2 == 0 else (1, 0):
            rates[face].append(measure(options, writers[face], readers[face]))
    ratios = [awaited / plain for plain, awaited in zip(*rates, strict=True)]
    return {
        "subject": subject,
        "plain_per_s": round(statistics.median(rates[0])),
        "aio_per_s": round(statistics.median(rates[1])),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in sorted(ratios)],
        "loop": options.loop,
        "codec": options.codec,
        "size": options.size,
        "pairs": options.pairs,
        "cores": os.cpu_count(),
        "build": build_config(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--count", type=int, default=400_000)
    parser.add_argument("--size", type=int, default=70)
    parser.add_argument("--codec", choices=["raw", "msgpack"], default="raw")
    parser.add_argument("--loop", choices=["asyncio", "trio"], default="asyncio")
    parser.add_argument("--only", choices=list(SUBJECTS))
    parser.add_argument("--role", choices=["read", "write"], help=argparse.SUPPRESS)
    parser.add_argument("--face", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.count -= options.count % CHUNK
    if options.role is not None:
        plain, awaited = (read, read_aio) if options.role == "read" else (write, write_aio)
        if options.face.startswith("aio"):
            anyio.run(awaited, options, backend=options.loop)
        else:
            plain(options)
        return
    with tempfile.TemporaryDirectory(prefix="rstream-pairs-", dir="/dev/shm") as directory:
        os.environ["RSTREAM_DIR"] = directory
        for subject in SUBJECTS if options.only is None else [options.only]:
            print(json.dumps(compare(options, subject)), flush=True)


if __name__ == "__main__":
    main()
