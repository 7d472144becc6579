"""What a record batch costs as a message, and what its schema takes of that.

For batches of several shapes: bytes of the message and of its schema; CPU time to encode and to
decode one; and from one process to another, over shared memory, batches a second and the CPU time
of both ends for each. Beside ``codecs.arrow()`` two others, alternating in one run: ``stream`` lets
Arrow's own writer and reader make and read each message, and ``bare`` is the arrow codec with a
number in place of the schema, which both ends know from the start. No codec that sends the schema
once can do less. (Batches of 512 KiB and more have no such form.)

python -m tests.bench.tables [--rounds 5] [--seconds 1.0] [--shapes 10x6,100x6,1000x6,100x50]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import rstream
from rstream import codecs

NAME = "bench tables"
SHAPES = "10x6,100x6,300x6,1000x6,10000x6,10x50,100x50,1000x50"


def batch_of(rows: int, columns: int) -> Any:
    """Columns of floats, of integers and of short texts, in turn."""
    kinds: tuple[Callable[[int], Any], ...] = (
        lambda row: row * 0.37,
        lambda row: row % 1000,
        lambda row: f"SYM{row % 50:03d}",
    )
    return pa.record_batch(
        {f"column_{n}": [kinds[n % 3](row) for row in range(rows)] for n in range(columns)}
    )


class Stream:
    """Arrow's own writer and reader for each message."""

    codec_id = codecs.USER_CODEC_ID

    def encode(self, batch: Any) -> Any:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write(batch)
        return sink.getvalue()

    def decode_many(self, messages: Any) -> list[Any]:
        batches = [pa.ipc.open_stream(pa.py_buffer(one)).read_next_batch() for one in messages]
        for batch in batches:
            batch.validate()
        return batches


class Bare:
    """The arrow codec, with a number in place of the schema."""

    codec_id = codecs.USER_CODEC_ID + 1

    def __init__(self, schema: Any) -> None:
        number = (1).to_bytes(8, "little")
        self._schemas = {number: schema}
        self._codec: Any = codecs.arrow()
        self._codec._writer._last = schema, number
        self.encode = self._codec.encode

    def decode_many(self, messages: Any) -> list[Any]:
        return [self._decode_one(message) for message in messages]

    def _decode_one(self, message: Any) -> Any:
        schema = self._schemas[message[:8]]
        batches = self._codec._reader._batches_behind(8, schema, message)
        for batch in batches:
            batch.validate()
        return self._codec._batch(schema, batches)


def codec_of(kind: str, schema: Any) -> Any:
    return {"arrow": codecs.arrow, "stream": Stream, "bare": lambda: Bare(schema)}[kind]()


def cpu_us(call: Callable[[], object], seconds: float) -> float:
    """CPU time of one call, the best of ten runs."""
    for _ in range(3):
        call()
    began = time.perf_counter()
    call()
    count = max(1, int(seconds / 10 / max(time.perf_counter() - began, 1e-7)))
    runs: list[float] = []
    for _ in range(10):
        start = time.process_time()
        for _ in range(count):
            call()
        runs.append((time.process_time() - start) / count)
    return min(runs) * 1e6


def read(kind: str, rows: int, columns: int) -> None:
    with rstream.subscriber(NAME, codec=codec_of(kind, batch_of(rows, columns).schema)) as sub:
        print("ready", flush=True)
        batches = iter(sub)
        next(batches)
        count, cpu, began = 0, time.process_time(), time.perf_counter()
        for _ in batches:
            count += 1
        took = time.perf_counter() - began
        print(json.dumps([count / took, (time.process_time() - cpu) / count * 1e6]), flush=True)


def flow(kind: str, rows: int, columns: int, seconds: float) -> tuple[float, float, float]:
    """Batches a second, and the writer's and the reader's CPU time for each in µs."""
    batch = batch_of(rows, columns)
    command = [sys.executable, "-m", "tests.bench.tables", "--read", kind]
    reader = subprocess.Popen(
        [*command, "--shapes", f"{rows}x{columns}"], stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout is not None
    reader.stdout.readline()
    with rstream.publisher(NAME, codec=codec_of(kind, batch.schema)) as pub:
        pub.send(batch)
        count, cpu, end = 0, time.process_time(), time.perf_counter() + seconds
        while time.perf_counter() < end:
            for _ in range(10):
                pub.send(batch)
            count += 10
        writer_us = (time.process_time() - cpu) / count * 1e6
    rate, reader_us = json.loads(reader.stdout.readline())
    reader.wait(10)
    return rate, writer_us, reader_us


def compare(rows: int, columns: int, rounds: int, seconds: float) -> None:
    batch = batch_of(rows, columns)
    print(f"{rows} rows x {columns} columns: schema {batch.schema.serialize().size} bytes")
    kinds = ("stream", "arrow", "bare")
    flows: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            flows[kind].append(flow(kind, rows, columns, seconds))
    for kind in kinds:
        codec = codec_of(kind, batch.schema)
        encoded = codec.encode(batch)
        message = b"".join(map(bytes, encoded if isinstance(encoded, list) else [encoded]))
        encode_us = cpu_us(lambda codec=codec: codec.encode(batch), seconds)
        decode_us = cpu_us(lambda codec=codec, one=message: codec.decode_many([one]), seconds)
        rate, writer_us, reader_us = map(statistics.median, zip(*flows[kind], strict=True))
        print(
            f"  {kind:6}  {len(message):9} bytes  encode {encode_us:6.1f} us  "
            f"decode {decode_us:5.1f} us | {rate:7.0f} batches/s  writer {writer_us:6.1f} us  "
            f"reader {reader_us:6.1f} us",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--read", choices=("stream", "arrow", "bare"))
    options = parser.parse_args()
    for shape in options.shapes.split(","):
        rows, columns = map(int, shape.split("x"))
        if options.read:
            read(options.read, rows, columns)
        else:
            compare(rows, columns, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
