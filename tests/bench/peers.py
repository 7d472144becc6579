"""Faces beside ZeroMQ, rsocket-py and plain RxPY, in one run: ``python -m tests.bench.peers``.

70-byte messages from one Python process to another; every system runs in turn, five rounds, and
the medians of messages per second are printed with their spread, then the ratios. ``raw`` sends
bytes, ``dict`` a dict that the same msgspec encodes at both systems. ZeroMQ is PUSH and PULL. A
hop is a Reactive Streams publisher, a network, and a subscriber that requests 1 024 at a time.

Needs ``pip install pyzmq rsocket`` beside the development packages.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

import rstream

if TYPE_CHECKING:
    from collections.abc import Callable

RAW = bytes(70)
#: 70 bytes of msgpack.
RECORD = {
    "symbol": "ABCDEFGHIJKL",
    "price": 101.25,
    "size": 300,
    "venue": "XNAS-ORDERBOOK-1",
    "n": 7,
}
WARM_S, PORT, RSOCKET_PORT, CHUNK, REQUEST = 1.0, 40931, 40932, 256, 1024
STREAM = "peers"
#: name: (medium, method, payload) of ours.
OURS = {
    f"rstream {medium} {method} {payload}": (medium, method, payload)
    for medium in ("ipc", "udp")
    for method in ("send", "send_many")
    for payload in ("raw", "dict")
}
ZMQ = {
    f"zmq {medium} {payload}": (medium, payload)
    for medium in ("ipc", "tcp")
    for payload in ("raw", "dict")
}
HOPS = ("hop rstream udp", "hop rsocket tcp")
RX = ("rx plain", "rx from_stream ipc")
RATIOS = (
    ("rstream ipc send raw", "zmq ipc raw", 4.0),
    ("rstream ipc send dict", "zmq ipc dict", 3.0),
    ("rstream udp send raw", "zmq tcp raw", 2.0),
    ("rstream udp send dict", "zmq tcp dict", 1.5),
    ("hop rstream udp", "hop rsocket tcp", 10.0),
)


class Counter:
    """Counts items on any thread; the rate is taken between the warm-up and the end."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, _: object = None) -> None:
        self.count += 1

    def rate(self, seconds: float) -> float:
        deadline_s = time.monotonic() + 30
        while self.count == 0 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        time.sleep(WARM_S)
        before, began_s = self.count, time.monotonic()
        time.sleep(seconds)
        return (self.count - before) / (time.monotonic() - began_s)


# ---- ours ----


def where(medium: str) -> dict[str, Any]:
    return {"channel": rstream.Channel.udp(f"127.0.0.1:{PORT}")} if medium == "udp" else {}


def send_ours(task: dict[str, Any], medium: str, method: str, payload: str) -> None:
    codec, item = ("raw", RAW) if payload == "raw" else ("msgpack", RECORD)
    with rstream.publisher(
        STREAM, codec=codec, dir=task["dir"], linger_s=0, **where(medium)
    ) as pub:
        if method == "send":
            send = pub.send
            while True:
                send(item)
        block = [item] * CHUNK
        while True:
            pub.send_many(block)


def read_ours(task: dict[str, Any], medium: str, payload: str, counter: Counter) -> None:
    codec = "raw" if payload == "raw" else "msgpack"
    with rstream.subscriber(STREAM, codec=codec, dir=task["dir"], **where(medium)) as sub:
        for _ in sub:
            counter.count += 1


# ---- ZeroMQ ----


def zmq_address(task: dict[str, Any], medium: str) -> str:
    return f"ipc://{task['dir']}.zmq" if medium == "ipc" else f"tcp://127.0.0.1:{PORT}"


def send_zmq(task: dict[str, Any], medium: str, payload: str) -> None:
    import msgspec
    import zmq

    socket = zmq.Context().socket(zmq.PUSH)
    socket.connect(zmq_address(task, medium))
    encode = msgspec.msgpack.Encoder().encode
    while True:
        socket.send(RAW if payload == "raw" else encode(RECORD))


def read_zmq(task: dict[str, Any], medium: str, payload: str, counter: Counter) -> None:
    import msgspec
    import zmq

    socket = zmq.Context().socket(zmq.PULL)
    socket.bind(zmq_address(task, medium))
    decode = msgspec.msgpack.Decoder().decode
    while True:
        data = socket.recv()
        if payload == "dict":
            decode(data)
        counter.count += 1


# ---- a Reactive Streams hop ----


class Endless:
    """A publisher that makes as many elements as were requested."""

    def subscribe(self, subscriber: Any) -> None:
        subscriber.on_subscribe(Making(subscriber))


class Making:
    def __init__(self, subscriber: Any) -> None:
        self.subscriber, self.wanted, self.is_making = subscriber, 0, False
        self.is_cancelled = False

    def request(self, count: int) -> None:
        self.wanted += count
        if self.is_making:
            return
        self.is_making = True
        while self.wanted and not self.is_cancelled:
            self.wanted -= 1
            self.subscriber.on_next(RAW)
        self.is_making = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Requesting(rstream.abc.Subscriber[Any]):
    """Requests half of ``REQUEST`` whenever half was delivered."""

    def __init__(self, counter: Counter) -> None:
        self.counter, self.left = counter, REQUEST

    def on_subscribe(self, subscription: Any) -> None:
        self.subscription = subscription
        subscription.request(REQUEST)

    def on_next(self, item: Any) -> None:
        self.counter.count += 1
        self.left -= 1
        if self.left == REQUEST // 2:
            self.left = REQUEST
            self.subscription.request(REQUEST // 2)

    def on_error(self, error: BaseException) -> None:
        print(error, file=sys.stderr)

    def on_complete(self) -> None:
        pass


def send_hop(task: dict[str, Any]) -> None:
    sink = rstream.stream.sink(STREAM, codec="raw", dir=task["dir"], **where("udp"))
    Endless().subscribe(sink)
    threading.Event().wait()


def read_hop(task: dict[str, Any], counter: Counter) -> None:
    source = rstream.stream.source(STREAM, codec="raw", dir=task["dir"], **where("udp"))
    source.subscribe(Requesting(counter))
    threading.Event().wait()


async def serve_rsocket() -> None:
    from reactivestreams.publisher import DefaultPublisher
    from reactivestreams.subscription import Subscription
    from rsocket.payload import Payload
    from rsocket.request_handler import BaseRequestHandler
    from rsocket.rsocket_server import RSocketServer
    from rsocket.transports.tcp import TransportTCP

    item = Payload(RAW)

    class Stream(DefaultPublisher, Subscription):
        def subscribe(self, subscriber: Any) -> None:
            super().subscribe(subscriber)
            subscriber.on_subscribe(self)
            self.wanted, self.task = asyncio.Semaphore(0), asyncio.create_task(self.feed())

        async def feed(self) -> None:
            while True:
                await self.wanted.acquire()
                self._subscriber.on_next(item)

        def request(self, n: int) -> None:
            for _ in range(n):
                self.wanted.release()

        def cancel(self) -> None:
            self.task.cancel()

    class Handler(BaseRequestHandler):
        async def request_stream(self, payload: Any) -> Any:
            return Stream()

    def session(*connection: Any) -> None:
        RSocketServer(TransportTCP(*connection), handler_factory=Handler)

    async with await asyncio.start_server(session, "127.0.0.1", RSOCKET_PORT) as server:
        await server.serve_forever()


async def read_rsocket(counter: Counter) -> None:
    from rsocket.payload import Payload
    from rsocket.rsocket_client import RSocketClient
    from rsocket.transports.tcp import TransportTCP

    for _ in range(100):
        try:
            connection = await asyncio.open_connection("127.0.0.1", RSOCKET_PORT)
            break
        except OSError:
            await asyncio.sleep(0.1)
    else:
        raise SystemExit("the rsocket server did not start")

    class Reader(Requesting):
        def on_next(self, item: Any, is_complete: bool = False) -> None:
            super().on_next(item)

    async def transport() -> Any:
        yield TransportTCP(*connection)

    async with RSocketClient(transport()) as client:
        client.request_stream(Payload(b"")).initial_request_n(REQUEST).subscribe(Reader(counter))
        await asyncio.Event().wait()


# ---- RxPY ----


def rx_plain(counter: Counter) -> None:
    import itertools

    import reactivex
    from reactivex import operators as ops

    reactivex.from_iterable(itertools.repeat(RAW)).pipe(ops.map(len)).subscribe(counter.add)


def rx_stream(task: dict[str, Any], counter: Counter) -> None:
    from reactivex import operators as ops

    from rstream import rx as rrx

    rrx.from_stream(STREAM, codec="raw", dir=task["dir"]).pipe(ops.map(len)).subscribe(counter.add)
    threading.Event().wait()


def send(task: dict[str, Any]) -> None:
    name = task["system"]
    if name in OURS:
        send_ours(task, *OURS[name])
    elif name in ZMQ:
        send_zmq(task, *ZMQ[name])
    elif name == "hop rstream udp":
        send_hop(task)
    elif name == "hop rsocket tcp":
        asyncio.run(serve_rsocket())
    elif name == "rx from_stream ipc":
        send_ours(task, "ipc", "send", "raw")


def reading(task: dict[str, Any], counter: Counter) -> Callable[[], object]:
    name = task["system"]
    if name in OURS:
        medium, _, payload = OURS[name]
        return lambda: read_ours(task, medium, payload, counter)
    if name in ZMQ:
        return lambda: read_zmq(task, *ZMQ[name], counter)
    return {
        "hop rstream udp": lambda: read_hop(task, counter),
        "hop rsocket tcp": lambda: asyncio.run(read_rsocket(counter)),
        "rx plain": lambda: rx_plain(counter),
        "rx from_stream ipc": lambda: rx_stream(task, counter),
    }[name]


def work(role: str, task: dict[str, Any]) -> None:
    import os

    if role == "send":
        with contextlib.suppress(rstream.RStreamError):
            send(task)
        return
    counter = Counter()
    threading.Thread(target=reading(task, counter), daemon=True).start()
    print(counter.rate(task["seconds"]), flush=True)
    os._exit(0)  # the reading thread never ends


def measure(system: str, seconds: float) -> float:
    place = tempfile.mkdtemp(prefix="rs-peers-", dir="/dev/shm")
    task = json.dumps({"system": system, "dir": f"{place}/driver", "seconds": seconds})
    start = [sys.executable, "-m", "tests.bench.peers"]
    try:
        with (
            rstream.Driver(dir=f"{place}/driver"),
            subprocess.Popen([*start, "read", task], stdout=subprocess.PIPE, text=True) as reader,
            subprocess.Popen([*start, "send", task], stderr=subprocess.DEVNULL) as sender,
        ):
            try:
                output, _ = reader.communicate(timeout=seconds + 60)
            finally:
                reader.kill()
                sender.kill()
        return float(output)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main() -> None:
    if sys.argv[1:2] in (["send"], ["read"]):
        work(sys.argv[1], json.loads(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", default="", help="systems whose names contain this text")
    options = parser.parse_args()
    names = [n for n in (*OURS, *ZMQ, *HOPS, *RX) if options.only in n]
    seen: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.repeat):
        for name in names:
            seen[name].append(measure(name, options.seconds) / 1e6)
    for name, values in seen.items():
        spread = f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
        print(f"{name:28} {spread} M messages/s")
    for ours, theirs, target in RATIOS:
        if ours in seen and theirs in seen:
            ratio = statistics.median(a / b for a, b in zip(seen[ours], seen[theirs], strict=True))
            print(f"ratio: {ours} / {theirs}: {ratio:.2f} (target {target:g})")


if __name__ == "__main__":
    main()
