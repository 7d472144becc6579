"""Records real consumers for the laboratory: ``python -m tests.make_traces [NAME ...]``.

Writes rstream/lab/traces/NAME.trace. Each consumer works on bytes in memory, which are always
there, so the recording is its capacity. The names:

* ``json``: parses JSON, keeps the last objects (so garbage collection takes long), adds them up,
  and sorts what it keeps now and then.
* ``flights``: the pipeline of an actor of the demo (examples/flights) on its own tables.
* ``arrow``: a partition reader as Spark runs it: reads some Arrow batches, then works on their
  rows.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import platform
import random
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from rstream.lab.trace import record, write

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "rstream" / "lab" / "traces"
SECONDS = 10.0
ROWS = 1000
#: Arrow batches that a partition reader takes in one go.
BATCHES = 40


def read_json() -> Iterator[int]:
    dice = random.Random("orders")
    messages = [
        json.dumps(
            {
                "id": number,
                "customer": f"customer {dice.randrange(500)}",
                "lines": [
                    {"item": dice.randrange(1000), "count": dice.randrange(1, 9), "text": "x" * 20}
                    for _ in range(dice.randrange(1, 40))
                ],
            }
        ).encode()
        for number in range(1000)
    ]
    kept: deque[dict[str, object]] = deque(maxlen=20_000)
    sums: dict[str, int] = {}
    work_due = 0
    for count, message in enumerate(itertools.cycle(messages)):
        order = json.loads(message)
        kept.append(order)
        total = sum(line["count"] for line in order["lines"])
        sums[order["customer"]] = sums.get(order["customer"], 0) + total
        yield len(message)
        if count >= work_due:
            sorted(kept, key=lambda order: (str(order["customer"]), order["id"]))
            work_due = count + dice.randrange(5_000, 40_000)
            yield 0


def flights_batches() -> list[bytes]:
    """The flights of the demo with their weather, as the rows that Spark sends to its actors."""
    import pyarrow as pa

    from examples.flights.actors import COLUMNS
    from examples.flights.data import fetch

    tables = fetch(ROOT / "build" / "demo")

    def rows_of(name: str) -> Iterator[dict[str, str]]:
        with (tables / name).open(newline="") as file:
            yield from csv.DictReader(file)

    def whole(text: str, scale: int = 1) -> int | None:
        return None if text in ("", "NA") else round(float(text) * scale)

    weather = {(row["origin"], row["time_hour"]): row["temp"] for row in rows_of("weather.csv")}
    rows = [
        (
            row["carrier"], int(row["month"]), whole(row["dep_delay"]), int(row["distance"]),
            whole(weather.get((row["origin"], row["time_hour"]), ""), 100),
            int((row["origin"], row["time_hour"]) in weather),
        )
        for row in itertools.islice(rows_of("flights.csv"), 100_000)
    ]  # fmt: skip
    batches: list[bytes] = []
    for first in range(0, len(rows), ROWS):
        columns = zip(*rows[first : first + ROWS], strict=True)
        batch = pa.record_batch([list(column) for column in columns], names=list(COLUMNS))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        batches.append(sink.getvalue().to_pybytes())
    return batches


def read_flights() -> Iterator[int]:
    import pyarrow as pa
    import reactivex as rx
    from reactivex import operators as ops

    from examples.flights.actors import WINDOW_ROWS, FlightActor, add_flight

    batches = flights_batches()
    actor = object.__new__(FlightActor)  # its pipeline alone, without streams
    results: deque[bytes] = deque(maxlen=1000)
    source: rx.Subject[pa.RecordBatch] = rx.Subject()
    source.pipe(
        ops.flat_map(lambda batch: rx.from_iterable(actor._rows_of(batch))),
        ops.window_with_count(WINDOW_ROWS),
        ops.flat_map(lambda window: window.pipe(ops.reduce(add_flight, {}))),
        ops.filter(bool),
    ).subscribe(lambda sums: results.append(json.dumps(sums).encode()))
    for message in itertools.cycle(batches):
        source.on_next(pa.ipc.open_stream(message).read_next_batch())
        yield len(message)


def read_arrow() -> Iterator[int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    batches = flights_batches()
    messages = itertools.cycle(batches)
    while True:
        taken: list[pa.RecordBatch] = []
        rows: list[dict[str, object]] = []
        for message in itertools.islice(messages, BATCHES):
            batch = pa.ipc.open_stream(message).read_next_batch()
            taken.append(batch.filter(pc.is_valid(batch["dep_delay"])))
            rows += taken[-1].to_pylist()
            yield len(message)
        rows.sort(key=lambda row: (row["carrier"], row["dep_delay"]))
        table = pa.Table.from_batches(taken).group_by(["carrier", "month"])
        assert table.aggregate([("dep_delay", "mean"), ("distance", "sum")]).num_rows <= len(rows)
        yield 0


CONSUMERS: dict[str, Callable[[], Iterator[int]]] = {
    "json": read_json,
    "flights": read_flights,
    "arrow": read_arrow,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.make_traces")
    parser.add_argument("names", nargs="*", choices=[*CONSUMERS, []], help="default: all")
    for name in parser.parse_args().names or CONSUMERS:
        levels = record(CONSUMERS[name](), SECONDS)
        notes = [
            f"The capacity of a real consumer over {SECONDS:g} s, in bins of 1 ms, scaled to a "
            "mean of 100 MB/s.",
            f"Recorded by: python -m tests.make_traces {name} "
            f"(CPython {platform.python_version()}, {platform.machine()})",
        ]
        path = FOLDER / f"{name}.trace"
        write(path, levels, notes)
        print(f"{path.name}: {len(levels)} levels, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
