"""Writes docs/results/network.md of the results that there are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from tests.net.cells import (
    CONTROL_LOSS_MOST,
    CONTROL_PACE_LEAST,
    LONG,
    SHORT,
    STREAMS,
    Cell,
    ceiling,
)
from tests.net.figures import middle
from tests.net.picture import LINK
from tests.net.run import CONTROL_SHARE
from tests.net.verdict import Runs, bed_loss, checks, doubt, pace

PICTURE = "network.png"
HEAD = """\
# Results of the network

rstream and TCP through an emulated bottleneck between two network namespaces, real sockets and
real drivers, default settings. `make net` writes this page (an hour; Linux and root), and
`python -m tests.net one` runs flows through a link of your own.

![Goodput, drops and queueing delay of rstream and TCP over time]({picture})

The picture: {rate:g} Mbit/s, a round trip of {rtt:g} ms, a queue of {queue:g} kB.

* *Ratio*: goodput from the fifth second on, in shares of the ceiling of its kind. The ceiling is
  payload over IP bytes of a flow that loses nothing: {short:.3f} of the link for messages of 1 000
  bytes, {long:.3f} for 1 MB, {tcp:.3f} for TCP. For rstream the median of {times}, for TCP one.
* *Dropped*: by the queue, in % of the datagrams that came to it, in the same time.
* *p95*: how long a datagram waits in the queue 95 % of the time at most, in ms.
* *Control*: what UDP at a pace of {pace:g} of the rate loses, in %: the loss of the test itself.
  Where it is more than {most:.1%}, virtual time decides, and where it kept less than {least:.0%} of
  its pace, the machine was too busy: such rows do not count below.
"""


def percent(share: float) -> str:
    return f"{100 * share:.2f}" if 0 < share < 0.001 else f"{100 * share:.1f}"


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def header(*names: str) -> Iterator[str]:
    yield row(*names)
    yield "|" + "---:|" * len(names)


def link_cells(cell: Cell) -> tuple[str, ...]:
    link = cell.link
    return f"{link.rate_mbit:g}", f"{link.rtt_ms:g}", f"{link.queue_kb:g}"


def control_cell(runs: Runs) -> str:
    why = doubt(runs)
    return percent(bed_loss(runs)) + (f": {why}" if why else "")


def three(runs: Runs, case: str) -> tuple[str, ...]:
    """Ratio, drops and queue of the first flow of a case."""
    return (
        f"{middle(runs[case], 'ratio', 0):.2f}",
        percent(middle(runs[case], "dropped")),
        f"{middle(runs[case], 'wait_p95_ms'):.1f}",
    )


PLACE = ("Mbit/s", "RTT, ms", "queue, kB", "control, %")
THREE = ("dropped", "p95")


def alone(cells: Sequence[tuple[Cell, Runs]]) -> Iterator[str]:
    yield from header(*PLACE, "1 kB", *THREE, "1 MB", *THREE, "cubic", *THREE, "BBR", *THREE)
    for cell, runs in cells:
        cases = ("rstream 1 kB", "rstream 1 MB", "cubic", "bbr")
        figures = [text for case in cases for text in three(runs, case)]
        yield row(*link_cells(cell), control_cell(runs), *figures)


def lossy(cells: Sequence[tuple[Cell, Runs]]) -> Iterator[str]:
    yield from header(*PLACE, "lost, %", "1 kB", "1 MB", "cubic", "BBR")
    for cell, runs in cells:
        ratios = [
            f"{middle(runs[case], 'ratio', 0):.2f}"
            for case in ("rstream 1 kB", "rstream 1 MB", "cubic", "bbr")
        ]
        yield row(*link_cells(cell), control_cell(runs), percent(cell.link.loss), *ratios)


def beside(cells: Sequence[tuple[Cell, Runs]]) -> Iterator[str]:
    yield from header(
        *PLACE, "rstream", "cubic beside it", "rstream's drops, %", "p95", "two cubics"
    )
    for cell, runs in cells:
        pair, two = runs["rstream and cubic"], runs["two cubics"]
        yield row(
            *link_cells(cell), control_cell(runs),
            *(f"{middle(pair, 'share', number):.2f}" for number in (0, 1)),
            percent(middle(pair, "dropped")), f"{middle(pair, 'wait_p95_ms'):.1f}",
            " and ".join(f"{middle(two, 'share', number):.2f}" for number in (0, 1)),
        )  # fmt: skip


def streams(cells: Sequence[tuple[Cell, Runs]]) -> Iterator[str]:
    names = [f"{what} of {count}" for count in STREAMS for what in ("sum", "Jain", "dropped")]
    yield from header(*PLACE, *names, "latecomer's part of its share")
    for cell, runs in cells:
        figures = []
        for count in STREAMS:
            case = runs[f"{count} streams"]
            total = sum(middle(case, "ratio", number) for number in range(count))
            dropped = percent(middle(case, "dropped"))
            figures += [f"{total:.2f}", f"{middle(case, 'jain'):.2f}", dropped]
        late = f"{middle(runs['latecomer'], 'late_ratio'):.2f}"
        yield row(*link_cells(cell), control_cell(runs), *figures, late)


def changing(cells: Sequence[tuple[Cell, Runs]]) -> Iterator[str]:
    yield from header(*PLACE, "flow", "dropped in the second slow second", "ratio after 3 s back")
    for cell, runs in cells:
        for case in ("rstream 1 kB", "cubic", "bbr"):
            yield row(
                *link_cells(cell), control_cell(runs), case,
                percent(middle(runs[case], "slow_dropped")),
                f"{middle(runs[case], 'back_ratio'):.2f}",
            )  # fmt: skip


def bare(cells: Sequence[tuple[Cell, Runs]]) -> Iterator[str]:
    yield from header(*PLACE, "pace kept", "late turns")
    for cell, runs in cells:
        late = f"{middle(runs['control'], 'late_turns'):g}"
        yield row(*link_cells(cell), control_cell(runs), f"{pace(runs):.2f}", late)


#: Group of cells, title, what to know, its table.
PARTS = (
    ("alone", "Alone", "", alone),
    ("lossy", "Random loss", "Ratios; packets are lost behind the queue.", lossy),
    ("beside", "Beside TCP", "Shares of the link, not of the ceiling.", beside),
    (
        "streams",
        "Several streams",
        "Of one driver. *Sum* of the ratios; *Jain*'s index over 100 round trips after the first "
        "50,\n1 is equal. A latecomer comes after five seconds, and counts two seconds later.",
        streams,
    ),
    ("changing", "A link that changes", "From 100 to 20 Mbit/s for five seconds.", changing),
    (
        "bare",
        "What the test bed itself loses",
        "The control alone, with a short queue. *Late turns*: how often in four seconds the link "
        "came\nmore than a millisecond late.",
        bare,
    ),
)


def times(results: Mapping[str, Runs]) -> str:
    """How often rstream's cases ran."""
    counts = [
        len(runs) for cell in results.values() for name, runs in cell.items() if "rstream" in name
    ]
    least, most = min(counts, default=0), max(counts, default=0)
    count = f"{least}" if least == most else f"{least} to {most}"
    return f"{count} run{'s' if most > 1 else ''}"


#: File beside the results, title, what to know: tables that other commands have written.
BESIDE = (
    (
        "ray_nodes.md",
        "Between two Ray nodes",
        "Two nodes in namespaces that a veth pair joins, tbf with a burst of 2 ms as the "
        "bottleneck, no delay of its own, arrays of 1 MB; dropped from the fifth second on, in "
        "brackets before. Datagrams are sealed, as they are by default. 64 MB arrays: without a "
        "bottleneck (`python -m tests.net.ray_nodes`).",
    ),
    (
        "arrays.md",
        "Arrays without a bottleneck",
        "A veth pair with its offloads, two cores for all processes of both ends. TCP hands on "
        "segments of 64 kB, raw UDP sends 64 kB a call (`python -m tests.net.arrays`).",
    ),
)


def text(table: Sequence[Cell], results: Mapping[str, Runs], beside: Mapping[str, str]) -> str:
    """The whole page.

    Args:
        table: all cells.
        results: of those that have run.
        beside: the tables that other commands have written, by the name of their file.
    """
    lines = [
        HEAD.format(
            picture=PICTURE,
            rate=LINK.rate_mbit,
            rtt=LINK.rtt_ms,
            queue=LINK.queue_kb,
            short=ceiling("rstream", SHORT),
            long=ceiling("rstream", LONG),
            tcp=ceiling("cubic", SHORT),
            times=times(results),
            pace=CONTROL_SHARE,
            most=CONTROL_LOSS_MOST,
            least=CONTROL_PACE_LEAST,
        )
    ]
    count = sum(cell.name in results for cell in table)
    if count < len(table):
        lines.append(f"{count} of {len(table)} cells have results.\n")
    for group, title, note, part in PARTS:
        cells = [
            (cell, results[cell.name])
            for cell in table
            if cell.group == group and cell.name in results
        ]
        if cells:
            lines += [f"## {title}\n", *([f"{note}\n"] if note else []), *part(cells), ""]
    for name, title, note in BESIDE:
        if name in beside:
            lines += [f"## {title}\n", f"{wrapped(note)}\n", beside[name].strip(), ""]
    found = checks(table, results)
    missed = sum(not check.holds for check in found)
    lines.append(f"## Verdict: {missed} of {len(found)} limits missed\n")
    lines += [wrapped(f"* {check}") for check in found]
    return "\n".join(lines) + "\n"


def wrapped(line: str, width: int = 98) -> str:
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False)
