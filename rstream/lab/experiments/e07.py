"""E7: elements under request(1), request(7), request(unbounded) and bursts.

It uses real agents, over shared memory and over UDP on the loopback.
"""

from __future__ import annotations

import itertools
import socket
import statistics
from typing import TYPE_CHECKING, Final

from rstream.abc import UNBOUNDED
from rstream.lab.elements import (
    CountingUpstream,
    PatternReader,
    drivers,
    open_sink,
    open_source,
    patterns,
    until,
)
from rstream.lab.experiments._plan import Plan, at_least, at_most, columns
from rstream.lab.report import Figure, LabReport
from rstream.lab.throughput import RequestPattern, elements_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator

ELEMENTS: Final = 2_000
#: For throughput: elements of 1 KiB, a demand of 256, renewed by a quarter at a time.
PAYLOAD: Final = bytes(1024)
TURN: Final = 20_000
PREFETCH: Final = 256
ROUNDS: Final = 60

_names = itertools.count()


def _port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _channel(medium: str) -> str | None:
    if medium == "ipc":
        return None
    return f"aeron:udp?endpoint=127.0.0.1:{_port()}|term-length=4m"


def _deliver(
    medium: str, sink_dir: str, source_dir: str, count: int, sizes: Iterator[int]
) -> tuple[CountingUpstream, PatternReader]:
    """Deliver all elements of a pattern; returns both ends with their counts."""
    name = f"e7-{next(_names)}"
    reader = PatternReader(sizes)
    channel = _channel(medium)
    sink = open_sink(name, sink_dir, channel, PREFETCH)
    open_source(name, source_dir, channel).subscribe(reader)
    upstream = CountingUpstream(sink, b"x", count, lambda: reader.requested)
    until(lambda: reader.delivered >= count, f"{name}: {count} elements over {medium}")
    reader.cancel()
    sink.cancel()
    upstream.join()
    return upstream, reader


def _throughput(
    medium: str, sink_dir: str, source_dir: str, turn: int, rounds: int
) -> dict[str, float]:
    """Throughput with request(256) as a share of request(unbounded); medians of turns."""
    asked = (
        RequestPattern(channel=_channel(medium), first=PREFETCH, then=PREFETCH // 4),
        RequestPattern(channel=_channel(medium), first=UNBOUNDED),
    )
    limited, unlimited = map(
        statistics.median,
        elements_per_s(
            sink_dir, source_dir, asked, window=PREFETCH, payload=PAYLOAD, turn=turn, rounds=rounds
        ),
    )
    return {
        f"{medium}_request_256_share": limited / unlimited,
        f"{medium}_unbounded_elements_per_s": unlimited,
    }


def _group(sink_dir: str, source_dirs: list[str], seed: int, count: int) -> dict[str, float]:
    """The counts of two readers of a multi-destination stream with different demand."""
    name = f"e7-{next(_names)}"
    control = f"127.0.0.1:{_port()}"
    source = f"aeron:udp?control={control}|control-mode=dynamic|term-length=1m|fc=min,g:/2"
    sink = open_sink(name, sink_dir, source, PREFETCH)
    readers: list[PatternReader] = []
    for number, source_dir in enumerate(source_dirs):
        channel = f"aeron:udp?endpoint=127.0.0.1:{_port()}|control={control}|rcv-wnd=64k"
        readers.append(PatternReader(patterns(seed + number, count)["bursts"]()))
        open_source(name, source_dir, channel).subscribe(readers[-1])
    upstream = CountingUpstream(
        sink, PAYLOAD, count, lambda: min(reader.requested for reader in readers)
    )
    until(
        lambda: all(reader.delivered >= count for reader in readers),
        f"{name}: {count} elements to two readers",
    )
    for reader in readers:
        reader.cancel()
    sink.cancel()
    upstream.join()
    return {
        "group_delivered_beyond_demand": float(max(reader.beyond for reader in readers)),
        "group_made_beyond_demand": float(upstream.beyond),
    }


def _look(seed: int, sink_dir: str, source_dirs: list[str], scale: float) -> dict[str, float]:
    seen: dict[str, float] = {}
    count, turn = max(50, int(ELEMENTS * scale)), max(1_000, int(TURN * scale))
    rounds = max(1, int(ROUNDS * scale))
    for medium in ("ipc", "udp"):
        source_dir = sink_dir if medium == "ipc" else source_dirs[0]
        for pattern, sizes in patterns(seed, count).items():
            upstream, reader = _deliver(medium, sink_dir, source_dir, count, sizes())
            seen[f"{medium}_{pattern}_made_beyond_demand"] = float(upstream.beyond)
            seen[f"{medium}_{pattern}_delivered_beyond_demand"] = float(reader.beyond)
            seen[f"{medium}_{pattern}_made_share"] = upstream.made / count
        seen |= _throughput(medium, sink_dir, source_dir, turn, rounds)
    return seen | _group(sink_dir, source_dirs, seed, count)


def _limit(name: str) -> tuple[float | None, float | None, bool]:
    if name.endswith("request_256_share"):
        return at_least(0.95)
    if name == "group_made_beyond_demand" or name.endswith("elements_per_s"):
        return None, None, False  # in a group only the window bounds it
    return (
        at_most(0.0, in_every_run=True)
        if name.endswith("beyond_demand")
        else at_least(1.0, in_every_run=True)
    )


def e7(plan: Plan) -> LabReport:
    """Run E7.

    To pass: unicast never makes an element beyond the demand; groups deliver none beyond it;
    request(256) of 1 KiB reaches 95 % of unbounded.
    """
    with drivers(3) as (sink_dir, *source_dirs):
        rows = [
            _look(seed, sink_dir, source_dirs, plan.time_scale) for seed in range(1, plan.seeds + 1)
        ]
    figures = [Figure(name, values, "", *_limit(name)) for name, values in columns(rows).items()]
    notes = [
        "real agents and sockets: shared memory and UDP on the loopback, three embedded drivers; "
        "the reader of the throughput runs in a process of its own",
        "beyond_demand: elements made (delivered) less elements requested, "
        f"the most at any moment of {ELEMENTS} elements; 0: exactly the demand",
        "request_256_share: throughput with request(256), renewed by 64, as a share of "
        f"request(unbounded); 1 KiB elements; medians of {ROUNDS} turns of {TURN} elements each, "
        "two streams between the same two processes",
        "other laws have no demand: there is nothing to compare",
    ]
    return LabReport("E7", figures, {}, {}, {}, notes)
