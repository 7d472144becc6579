"""Arrays in shared memory and by UDP on one host, beside memcpy in the same run.

One process sends arrays, others read them; each case runs several times, and medians are printed,
one line of JSON per case. Bytes per second are those that all readers got. ``of_memcpy`` is beside
one thread that copies arrays of the same size, whose sources and targets rotate over 256 MiB.

    view    a reader gets a view and touches each page
    sum     a reader gets a view and adds up all of it
    owned   a reader gets a copy of its own

A dict has the array, and a few small values beside it.

python -m tests.bench.arrays [--mib 1 64] [--readers 1 8] [--runs 5] [--items array dict]
    [--ways view sum owned] [--rates default unlimited] [--medium ipc|udp]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import rstream
from rstream import codecs
from tests.support import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MIB = 1 << 20
ROTATE_BYTES = 256 * MIB
PAGE_BYTES = 4096
#: To all readers together, at least eight messages.
READ_BYTES = 8192 * MIB
WARM_MESSAGES = 8
STREAM = "bench-arrays"
WAYS: dict[str, Callable[[Any], Any]] = {
    "view": lambda array: array[::PAGE_BYTES].sum(),
    "sum": lambda array: array.view("u8").sum(),
    "owned": lambda array: array[0],
}


def memcpy_per_s(length: int, seconds: float = 0.5) -> float:
    """Bytes per second of a copy between warm buffers that do not fit the cache."""
    count = max(2, ROTATE_BYTES // length)
    sources, targets = np.ones((count, length), "u1"), np.zeros((count, length), "u1")
    for target in targets:
        target.fill(1)  # fresh memory is many times slower
    copied, began_s = 0, time.perf_counter()
    while (passed_s := time.perf_counter() - began_s) < seconds:
        for source, target in zip(sources, targets, strict=True):
            np.copyto(target, source)
        copied += count * length
    return copied / passed_s


def read(directory: str, way: str, count: int, item: str, channel: str) -> None:
    """A reader: prints when the first message after the warm ones was worked on, and the last."""
    work = WAYS[way]
    make = codecs.numpy if item == "array" else codecs.msgpack
    codec = make(view=way != "owned")
    options: Any = {"channel": channel} if channel else {}
    with rstream.subscriber(STREAM, codec=codec, dir=directory, **options) as sub:
        print("ready", flush=True)
        began_s, array = 0.0, None
        for seen, array in enumerate(sub, 1):
            work(array if item == "array" else array["obs"])
            if seen == WARM_MESSAGES:
                began_s = time.monotonic()
            if seen == count + WARM_MESSAGES:
                break
        del array  # it may be a view
    print(json.dumps([began_s, time.monotonic()]), flush=True)


@contextlib.contextmanager
def reading(
    directory: str, way: str, count: int, readers: int, item: str, channel: str
) -> Iterator[list[Any]]:
    command = [sys.executable, "-m", "tests.bench.arrays", "read", directory, way, str(count)]
    command += [item, channel]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(readers)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def read_per_s(way: str, length: int, readers: int, rate: str, item: str, medium: str) -> float:
    """Bytes per second that all readers got."""
    count = max(8, READ_BYTES // (readers * length * (1 if medium == "ipc" else 8)))
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if medium == "udp" else ""
    options: Any = {"channel": channel} if channel else {}
    with (
        tempfile.TemporaryDirectory(prefix="rs-bench-arrays-", dir="/dev/shm") as directory,
        rstream.Driver(dir=directory),
        reading(directory, way, count, readers, item, channel) as processes,
    ):
        law = rstream.rate.Unlimited() if rate == "unlimited" else rstream.rate.Default()
        array = np.ones(length, "u1")
        sent = array if item == "array" else {"obs": array, "n": 1, "meta": {"ids": [1, 2, 3]}}
        if item == "array":
            options["codec"] = "numpy"
        with rstream.publisher(
            STREAM, dir=directory, wait_for=readers, rate=law, linger_s=60, **options
        ) as pub:
            for _ in range(count + WARM_MESSAGES):
                pub.send(sent)
            times = [json.loads(process.stdout.readline()) for process in processes]
    passed_s = max(ended for _, ended in times) - min(began for began, _ in times)
    return readers * count * length / passed_s


def measure(arguments: argparse.Namespace) -> None:
    for mib, readers, way in itertools.product(arguments.mib, arguments.readers, arguments.ways):
        got: dict[tuple[str, str], list[float]] = {
            one: [] for one in itertools.product(arguments.rates, arguments.items)
        }
        copies: list[float] = []
        for _ in range(arguments.runs):
            copies.append(memcpy_per_s(mib * MIB))
            for (rate, item), rates in got.items():
                rates.append(read_per_s(way, mib * MIB, readers, rate, item, arguments.medium))
        for (rate, item), rates in got.items():
            ratios = sorted(one / copy for one, copy in zip(rates, copies, strict=True))
            row = {
                "mib": mib, "readers": readers, "way": way, "rate": rate, "item": item,
                "gb_per_s": round(statistics.median(rates) / 1e9, 2),
                "memcpy_gb_per_s": round(statistics.median(copies) / 1e9, 2),
                "of_memcpy": round(statistics.median(ratios), 2),
                "of_memcpy_all": [round(ratio, 2) for ratio in ratios],
            }  # fmt: skip
            print(json.dumps(row), flush=True)


def main() -> None:
    if sys.argv[1:2] == ["read"]:
        read(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], sys.argv[6])
        return
    parser = argparse.ArgumentParser(prog="python -m tests.bench.arrays", description=__doc__)
    parser.add_argument("--mib", type=int, nargs="+", default=[1, 64])
    parser.add_argument(
        "--readers", type=int, nargs="+", help="1 and 8; by UDP, where a channel has one reader, 1"
    )
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--rates", nargs="+", choices=("default", "unlimited"), default=["default"],
        help="the law of rate; given both they alternate",
    )  # fmt: skip
    parser.add_argument(
        "--items", nargs="+", choices=("array", "dict"), default=["array"],
        help="what is sent; given both they alternate",
    )  # fmt: skip
    parser.add_argument("--medium", choices=("ipc", "udp"), default="ipc")
    arguments = parser.parse_args()
    arguments.readers = arguments.readers or ([1, 8] if arguments.medium == "ipc" else [1])
    if arguments.medium == "udp" and max(arguments.readers) > 1:
        parser.error("--readers: a unicast channel has one reader; give --medium ipc for more")
    measure(arguments)


if __name__ == "__main__":
    main()
