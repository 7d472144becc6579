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
    Asker,
    Maker,
    drivers,
    patterns,
    publisher_from,
    sink_to,
    until,
)
from rstream.lab.experiments._plan import Plan, at_least, at_most, columns
from rstream.lab.report import Figure, Report
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
    medium: str, here: str, there: str, count: int, sizes: Iterator[int]
) -> tuple[Maker, Asker]:
    """Deliver all elements of a pattern; returns both ends with their counts."""
    name = f"e7-{next(_names)}"
    asker = Asker(sizes)
    channel = _channel(medium)
    sink = sink_to(name, here, channel, PREFETCH)
    publisher_from(name, there, channel).subscribe(asker)
    maker = Maker(sink, b"x", count, lambda: asker.asked)
    until(lambda: asker.delivered >= count, f"{name}: {count} elements over {medium}")
    asker.cancel()
    sink.cancel()
    maker.join()
    return maker, asker


def _throughput(medium: str, here: str, there: str, turn: int, rounds: int) -> dict[str, float]:
    """Throughput with request(256) as a share of request(unbounded); medians of turns."""
    asked = (
        RequestPattern(channel=_channel(medium), first=PREFETCH, then=PREFETCH // 4),
        RequestPattern(channel=_channel(medium), first=UNBOUNDED),
    )
    limited, unlimited = map(
        statistics.median,
        elements_per_s(
            here, there, asked, window=PREFETCH, payload=PAYLOAD, turn=turn, rounds=rounds
        ),
    )
    return {
        f"{medium}_request_256_share": limited / unlimited,
        f"{medium}_unbounded_elements_per_s": unlimited,
    }


def _group(here: str, theres: list[str], seed: int, count: int) -> dict[str, float]:
    """The counts of two readers of a multi-destination stream with different demand."""
    name = f"e7-{next(_names)}"
    control = f"127.0.0.1:{_port()}"
    source = f"aeron:udp?control={control}|control-mode=dynamic|term-length=1m|fc=min,g:/2"
    sink = sink_to(name, here, source, PREFETCH)
    askers: list[Asker] = []
    for number, there in enumerate(theres):
        channel = f"aeron:udp?endpoint=127.0.0.1:{_port()}|control={control}|rcv-wnd=64k"
        askers.append(Asker(patterns(seed + number, count)["bursts"]()))
        publisher_from(name, there, channel).subscribe(askers[-1])
    maker = Maker(sink, PAYLOAD, count, lambda: min(asker.asked for asker in askers))
    until(
        lambda: all(asker.delivered >= count for asker in askers),
        f"{name}: {count} elements to two readers",
    )
    for asker in askers:
        asker.cancel()
    sink.cancel()
    maker.join()
    return {
        "group_delivered_beyond_demand": float(max(asker.beyond for asker in askers)),
        "group_made_beyond_demand": float(maker.beyond),
    }


def _look(seed: int, here: str, theres: list[str], scale: float) -> dict[str, float]:
    seen: dict[str, float] = {}
    count, turn = max(50, int(ELEMENTS * scale)), max(1_000, int(TURN * scale))
    rounds = max(1, int(ROUNDS * scale))
    for medium in ("ipc", "udp"):
        there = here if medium == "ipc" else theres[0]
        for pattern, sizes in patterns(seed, count).items():
            maker, asker = _deliver(medium, here, there, count, sizes())
            seen[f"{medium}_{pattern}_made_beyond_demand"] = float(maker.beyond)
            seen[f"{medium}_{pattern}_delivered_beyond_demand"] = float(asker.beyond)
            seen[f"{medium}_{pattern}_made_share"] = maker.made / count
        seen |= _throughput(medium, here, there, turn, rounds)
    return seen | _group(here, theres, seed, count)


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


def e7(plan: Plan) -> Report:
    """Run E7.

    To pass: unicast never makes an element beyond the demand; groups deliver none beyond it;
    request(256) of 1 KiB reaches 95 % of unbounded.
    """
    with drivers(3) as (here, *theres):
        rows = [_look(seed, here, theres, plan.time_scale) for seed in range(1, plan.seeds + 1)]
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
    return Report("E7", figures, {}, {}, {}, notes)
