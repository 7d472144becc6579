"""``python -m tests.net [table|picture|page|one]``: the network's table, or one link of your own.

table: every cell, or those whose name matches ``--only``; results go to build/net/results.json as
they come, so that a run may be cut and continued (``--missing``).
picture: three runs that are drawn, into build/net/tracks.json.
page: docs/results/network.md with its picture, of what is in build/net; needs no root.
one: some flows through a link, with a line of figures for each: ``python -m tests.net one --rate
100 --rtt 10 --queue 62 rstream rstream:1000000 cubic``.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from tests.net import cells, page, picture
from tests.net.bed import ROOT, Link, why_not
from tests.net.cells import Case, Cell
from tests.net.figures import figures
from tests.net.run import CONTROL_BYTES, Flow, run

RESULTS = ROOT / "build" / "net" / "results.json"
TRACKS = RESULTS.with_name("tracks.json")
PAGE = ROOT / "docs" / "results" / "network.md"
#: Name of the cell, name of the case, its runs.
Results = dict[str, dict[str, list[dict[str, Any]]]]
#: What a run takes beside its flows' time.
AROUND_S = 1.8


def load(path: Path) -> Results:
    return json.loads(path.read_text()) if path.exists() else {}


def save(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1))


def lacking(chosen: Sequence[Cell], results: Results, times: int | None) -> list[tuple[Cell, Case]]:
    """The runs that results lack: first one of each case, then the second ones, and so on."""
    found = []
    for number in range(times or cells.TIMES):
        for cell in chosen:
            have = results.get(cell.name, {})
            found += [
                (cell, case)
                for case in cell.cases
                if len(have.get(case.name, ())) <= number < case.times
            ]
    return found


def said(case: Case, found: dict[str, Any]) -> str:
    ratios = " ".join(f"{ratio:.2f}" for ratio in found["ratio"])
    more = f", bed lost {found['bed_loss']:.2%}" if "bed_loss" in found else ""
    return f"{case.name}: {ratios} of the ceiling, {found['dropped']:.1%} dropped{more}"


def run_table(options: argparse.Namespace) -> None:
    results = load(options.results)
    chosen = [cell for cell in cells.table() if re.search(options.only, cell.name)]
    if not options.missing:
        results = {
            name: runs for name, runs in results.items() if not re.search(options.only, name)
        }
    wanted = lacking(chosen, results, options.times)
    minutes = sum(case.seconds + AROUND_S for _, case in wanted) / 60
    print(f"net: {len(wanted)} runs, {minutes:.0f} minutes", flush=True)
    if options.list:
        for cell in chosen:
            print(f"  {cell.name}")
        return
    until_s = time.monotonic() + 60 * options.minutes
    for cell, case in wanted:
        if time.monotonic() + case.seconds + AROUND_S > until_s:
            print("net: the time is used up; --missing continues")
            break
        found = figures(case, run(cell.link, case.flows, case.seconds))
        print(f"net: {cell.name}: {said(case, found)}", flush=True)
        results.setdefault(cell.name, {}).setdefault(case.name, []).append(found)
        save(options.results, results)


def complete(results: Results) -> Results:
    """The cells of which each case has a run."""
    return {
        cell.name: results[cell.name]
        for cell in cells.table()
        if all(case.name in results.get(cell.name, {}) for case in cell.cases)
    }


def run_picture(options: argparse.Namespace) -> None:
    save(options.tracks, picture.tracks())
    print(f"net: {options.tracks}")


def write_page(options: argparse.Namespace) -> None:
    results = complete(load(options.results))
    if not results or not options.tracks.exists():
        print(f"net: no page: {options.results} or {options.tracks} is missing")
        return
    files = [options.results.with_name(name) for name, _, _ in page.BESIDE]
    beside = {path.name: path.read_text() for path in files if path.exists()}
    options.page.write_text(page.text(cells.table(), results, beside))
    picture.draw(options.page.with_name(page.PICTURE), json.loads(options.tracks.read_text()))
    print(f"net: {options.page}")


def flow_of(text: str) -> Flow:
    """cubic, rstream:1000000"""
    kind, _, size = text.partition(":")
    return Flow(kind, int(size or (CONTROL_BYTES if kind == "udp" else cells.SHORT)))


def run_one(options: argparse.Namespace) -> None:
    link = Link(
        options.rate, options.rtt, options.queue, options.loss, options.reorder, options.hold,
        seed=options.seed,
    )  # fmt: skip
    flows = tuple(
        replace(flow_of(text), shares_driver=not options.own_drivers) for text in options.flows
    )
    done = run(link, flows, options.seconds)
    from_s = min(cells.START_S, options.seconds / 2)
    for number, flow in enumerate(flows):
        share, counts = done.share(number, from_s), done.counts(number)
        print(
            f"{flow.kind} {flow.size}: {share:.3f} of the link, "
            f"{share / cells.ceiling(flow.kind, flow.size):.3f} of the ceiling, "
            f"{counts.dropped_share:.2%} dropped, {counts.came} packets came"
        )
    print(
        f"queue p95 {done.wait_p95_ms(from_s):.1f} ms; the link was late "
        f"{done.report.late_turns} times, {done.report.late_most_ms:.1f} ms at most"
    )


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.net", description=__doc__)
    made.set_defaults(act=run_table, needs_bed=True)
    commands = made.add_subparsers()
    table = commands.add_parser("table")
    for one in (made, table):
        one.add_argument("--only", default="", help="cells whose name this expression finds")
        one.add_argument("--times", type=int, help="runs of a case at most")
        one.add_argument("--missing", action="store_true", help="only runs that there are not")
        one.add_argument("--list", action="store_true", help="print the cells and run none")
        one.add_argument("--minutes", type=float, default=60.0, help="begin no run beyond")
        one.add_argument("--results", type=Path, default=RESULTS)
    drawn = commands.add_parser("picture")
    drawn.set_defaults(act=run_picture)
    written = commands.add_parser("page")
    written.set_defaults(act=write_page, needs_bed=False)
    written.add_argument("--page", type=Path, default=PAGE)
    written.add_argument("--results", type=Path, default=RESULTS)
    for one in (drawn, written):
        one.add_argument("--tracks", type=Path, default=TRACKS)
    link = commands.add_parser("one")
    link.set_defaults(act=run_one)
    link.add_argument("--rate", type=float, default=100.0, help="Mbit/s")
    link.add_argument("--rtt", type=float, default=10.0, help="ms")
    link.add_argument("--queue", type=float, default=64.0, help="kB")
    link.add_argument("--loss", type=float, default=0.0, help="share of packets")
    link.add_argument("--reorder", type=float, default=0.0, help="share of packets held back")
    link.add_argument("--hold", type=float, default=1.0, help="ms that they are held back")
    link.add_argument("--seconds", type=float, default=8.0)
    link.add_argument("--seed", type=int, default=1)
    link.add_argument("--own-drivers", action="store_true", help="two drivers for each rstream")
    link.add_argument(
        "flows",
        nargs="+",
        help="rstream[:BYTES], window[:BYTES] (rstream with cc=static), cubic, bbr, reno, udp",
    )
    return made


def end(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    options = parser().parse_args()
    signal.signal(signal.SIGTERM, end)  # namespaces are removed on the way out
    if options.needs_bed and (reason := why_not()):
        print(f"net: skipped: {reason}")
        return 0
    options.act(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
