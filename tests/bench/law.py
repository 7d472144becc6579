"""The law of rate on users' paths: what it costs, how long the queue is, and long round trips.

python -m tests.bench.law pairs [--medium ipc|udp] [--send send|send_many] [--runs 20]
    Throughput of 70-byte messages with the default law beside ``Unlimited``, in alternating
    pairs; prints the mean ratio and the lower end of its 95 % confidence interval.
python -m tests.bench.law queue [--medium ipc|udp] [--named]
    Queueing delay of a reader that takes 2 000 messages of 3 500 bytes a second, once without a
    law and once with the default.
python -m tests.bench.law faces [--runs 3]
    Throughput of each face over a round trip of 40 ms (the drivers delay each datagram by 20 ms)
    beside the plain ``for`` loop, everything else at its default.

The publisher is this process and the reader another; both have an embedded or one shared driver
of their own. Prints one line of JSON per result.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import logging
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any, TextIO

import rstream
from rstream.config import DriverConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STREAM = "law-bench"
CODEC = "raw"
PAIR_SIZE, PAIR_S, PAIR_WARM_S, MANY = 70, 2.0, 0.5, 256
QUEUE_SIZE, QUEUE_PER_S, QUEUE_TERM, QUEUE_S = 3500, 2000, 4 << 20, 8.0
FACE_SIZE, FACE_S, FACE_WARM_S, FACE_DELAY, FACE_TERM = 70, 6.0, 3.0, "20ms", 1 << 20
STAMP_BYTES = 8
#: Student's t for a 95 % interval is 2.0 to 2.1 from 15 pairs on.
T95 = 2.1


def rates() -> dict[str, dict[str, Any]]:
    return {"default": {}, "unlimited": {"rate": rstream.rate.Unlimited()}}


def channel_of(medium: str, term: int | None) -> rstream.Channel:
    keys: dict[str, Any] = {} if term is None else {"term_length": term}
    if medium == "ipc":
        return rstream.Channel.ipc(**keys)
    return rstream.Channel.udp("127.0.0.1:40917", **keys)


# The reader's process: python -m tests.bench.law reader TASK_JSON


def for_loop(task: dict[str, Any]) -> Iterator[bytes]:
    with rstream.subscriber(STREAM, codec=CODEC, **place(task)) as sub:
        yield from sub


def place(task: dict[str, Any]) -> dict[str, Any]:
    return (
        {"channel": task["channel"], "dir": task["dir"]}
        if task["channel"]
        else {"dir": task["dir"]}
    )


def count_for(task: dict[str, Any], seen: Callable[[], None]) -> None:
    for _ in for_loop(task):
        seen()


def count_rx(task: dict[str, Any], seen: Callable[[], None]) -> None:
    from rstream import rx as rrx

    rrx.from_stream(STREAM, codec=CODEC, **place(task)).subscribe(
        on_next=lambda _: seen(), on_error=print
    )
    threading.Event().wait()


def count_source(task: dict[str, Any], seen: Callable[[], None]) -> None:
    """A Reactive Streams subscriber that requests 4 096 and half of it again and again."""
    from rstream import abc

    class Counting(abc.Subscriber[Any]):
        def on_subscribe(self, subscription: abc.Subscription) -> None:
            self.subscription, self.left = subscription, 4096
            subscription.request(4096)

        def on_next(self, item: Any) -> None:
            seen()
            self.left -= 1
            if self.left == 2048:
                self.left += 2048
                self.subscription.request(2048)

        def on_error(self, error: BaseException) -> None:
            print(error, file=sys.stderr)

        def on_complete(self) -> None:
            pass

    rstream.stream.source(STREAM, codec=CODEC, **place(task)).subscribe(Counting())
    threading.Event().wait()


def count_aio(task: dict[str, Any], seen: Callable[[], None]) -> None:
    import asyncio

    import rstream.aio

    async def read() -> None:
        async with rstream.aio.subscriber(STREAM, codec=CODEC, **place(task)) as sub:
            async for _ in sub:
                seen()

    asyncio.run(read())


def count_endpoint(task: dict[str, Any], seen: Callable[[], None]) -> None:
    """What a Ray actor reads from; its first line of output is the handle."""
    import rstream.ray

    end = rstream.ray.reader(
        STREAM, codec=CODEC, dir=task["dir"], host="127.0.0.1", term_length=FACE_TERM
    )
    print(end.handle.to_text(), flush=True)
    end.start(lambda _: seen())
    threading.Event().wait()


FACES = {
    "for": count_for,
    "rx": count_rx,
    "source": count_source,
    "aio": count_aio,
    "endpoint": count_endpoint,
}


def read_rate(task: dict[str, Any]) -> float:
    """Messages per second that the face takes, between warm-up and end."""
    count = 0

    def seen() -> None:
        nonlocal count
        count += 1

    threading.Thread(target=FACES[task["face"]], args=(task, seen), daemon=True).start()
    deadline_s = time.monotonic() + 30
    while count == 0 and time.monotonic() < deadline_s:
        time.sleep(0.01)
    time.sleep(task["warm_s"])
    before, before_s = count, time.monotonic()
    time.sleep(task["seconds"])
    return (count - before) / (time.monotonic() - before_s)


def read_delays(task: dict[str, Any]) -> dict[str, float]:
    """Milliseconds from sending to taking, in the second half of the time."""
    gap_s = 1 / QUEUE_PER_S
    delays: list[float] = []
    begin_s = due_s = 0.0
    for data in for_loop(task):
        now_s = time.monotonic()
        if not begin_s:
            begin_s = due_s = now_s
        if now_s - begin_s > task["seconds"]:
            break
        if now_s - begin_s > task["seconds"] / 2:
            sent_ns = int.from_bytes(bytes(data[:STAMP_BYTES]), "little")
            delays.append((time.monotonic_ns() - sent_ns) / 1e6)
        due_s = max(due_s + gap_s, now_s)
        time.sleep(max(0.0, due_s - time.monotonic()))
    delays.sort()
    return {"p50_ms": statistics.median(delays), "p99_ms": delays[int(len(delays) * 0.99)]}


def reader(task: dict[str, Any]) -> None:
    result = read_delays(task) if task["measure"] == "delays" else read_rate(task)
    print(json.dumps(result), flush=True)
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.close()
    import os

    os._exit(0)  # a face's thread may still wait for messages


# The publisher's side


def run(task: dict[str, Any], options: dict[str, Any], size: int, many: bool = False) -> Any:
    """Send as fast as the limits allow until the reader has its result."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.law", "reader", json.dumps(task)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        with publisher_of(task, process.stdout, options) as publisher:
            # When the reader has its result, a send in progress ends by the close.
            threading.Thread(target=lambda: (process.wait(), publisher.close())).start()
            rest = bytes(size - STAMP_BYTES)
            block = [bytes(size)] * MANY
            with contextlib.suppress(rstream.RStreamError):
                while process.poll() is None:
                    if many:
                        publisher.send_many(block)
                        continue
                    for _ in range(64):
                        publisher.send(time.monotonic_ns().to_bytes(STAMP_BYTES, "little") + rest)
        output = process.stdout.read()
        return json.loads(output)


def publisher_of(task: dict[str, Any], told: TextIO, options: dict[str, Any]) -> Any:
    to = task.get("to", task["dir"])
    if task.get("face") == "endpoint":
        from rstream.ray import StreamHandle

        handle = StreamHandle.from_text(told.readline())
        return handle.publisher(driver_dir=to, linger_s=0)
    where = {"channel": task["channel"]} if task["channel"] else {}
    return rstream.publisher(STREAM, codec=CODEC, dir=to, linger_s=0, **where, **options)


@contextlib.contextmanager
def directory() -> Iterator[str]:
    path = tempfile.mkdtemp(prefix="rstream-law-", dir="/dev/shm")
    try:
        yield f"{path}/driver"
    finally:
        shutil.rmtree(path, ignore_errors=True)


def lower_bound(ratios: list[float]) -> float:
    return statistics.fmean(ratios) - T95 * statistics.stdev(ratios) / math.sqrt(len(ratios))


def pairs(options: argparse.Namespace) -> None:
    ratios: list[float] = []
    seen: dict[str, list[float]] = {name: [] for name in rates()}
    for number in range(options.runs):
        order = list(rates())
        for name in order if number % 2 else reversed(order):
            with directory() as place, rstream.Driver(dir=place):
                channel = str(channel_of(options.medium, None))
                task = {"measure": "rate", "face": "for", "dir": place, "channel": channel,
                        "seconds": PAIR_S, "warm_s": PAIR_WARM_S}  # fmt: skip
                many = options.send == "send_many"
                seen[name].append(run(task, rates()[name], PAIR_SIZE, many))
        ratios.append(seen["default"][-1] / seen["unlimited"][-1])
    print(json.dumps({
        "measured": "pairs", "medium": options.medium, "send": options.send, "pairs": len(ratios),
        "default_per_s": statistics.median(seen["default"]),
        "unlimited_per_s": statistics.median(seen["unlimited"]),
        "ratio_mean": statistics.fmean(ratios), "ratio_median": statistics.median(ratios),
        "ratio_lower_95": lower_bound(ratios),
    }), flush=True)  # fmt: skip


def queue(options: argparse.Namespace) -> None:
    for name, rate in rates().items():
        with directory() as place, rstream.Driver(dir=place):
            channel = None if options.named else str(channel_of(options.medium, QUEUE_TERM))
            task = {"measure": "delays", "dir": place, "channel": channel, "seconds": QUEUE_S}
            result = run(task, rate, QUEUE_SIZE)
        print(json.dumps({
            "measured": "queue", "medium": "named" if options.named else options.medium,
            "rate": name, **result,
        }), flush=True)  # fmt: skip


def faces(options: argparse.Namespace) -> None:
    config = DriverConfig(options={"fault-delay": FACE_DELAY})
    seen: dict[str, list[float]] = {}
    names = [face for face in FACES if face != "aio" or hasattr(rstream.aio, "subscriber")]
    for _, name in itertools.product(range(options.runs), names):
        with (
            directory() as near, directory() as far,
            rstream.Driver(dir=near, config=config), rstream.Driver(dir=far, config=config),
        ):  # fmt: skip
            channel = str(channel_of("udp", FACE_TERM))
            task = {"measure": "rate", "face": name, "dir": far, "to": near, "channel": channel,
                    "seconds": FACE_S, "warm_s": FACE_WARM_S}  # fmt: skip
            seen.setdefault(name, []).append(run(task, {}, FACE_SIZE))
    plain = statistics.median(seen["for"])
    for name, values in seen.items():
        print(json.dumps({
            "measured": "faces", "face": name, "per_s": statistics.median(values),
            "of_plain": statistics.median(values) / plain,
        }), flush=True)  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == ["reader"]:
        reader(json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(prog="python -m tests.bench.law")
    parser.add_argument("measure", choices=("pairs", "queue", "faces"))
    parser.add_argument("--medium", choices=("ipc", "udp"), default="ipc")
    parser.add_argument("--send", choices=("send", "send_many"), default="send")
    parser.add_argument("--named", action="store_true")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    logging.getLogger("rstream").setLevel(logging.ERROR)  # a reader that leaves is no news here
    {"pairs": pairs, "queue": queue, "faces": faces}[options.measure](options)


if __name__ == "__main__":
    main()
