"""``rstream stat``: the counters of a driver directory, live, and what keeps a stream from flowing."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from rstream import _core, metrics
from rstream.driver import resolve_dir

if TYPE_CHECKING:
    import argparse

ALIVE = 2
ENOUGH = 1.1  # X from which on no stop overran (E4 of docs/flow.md)
#: Why a publication whose limit is reached cannot go on.
HELD_BY = {
    "window": "window is full: the slowest reader holds it",
    "rate": "its rate holds it",
    "budget": "as much is under way as its reader's host grants: the budget holds it",
}
LIVES = {0: "no driver", 1: "dead driver", 2: "alive", 3: "alive (an Aeron driver)"}


def run(options: argparse.Namespace) -> int:
    """Print once or until Ctrl-C."""
    driver_dir = resolve_dir(options.dir)
    before: dict[int, int] = {}
    before_s = 0.0
    while True:
        now_s = time.monotonic()
        life = _core.probe(driver_dir)
        if life == 0:
            print(
                f"rstream: no driver in {driver_dir} (one starts with the first publisher or subscriber)",
                file=sys.stderr,
            )
            print("\n".join(others(driver_dir)), file=sys.stderr)
            return 1
        lines, before = screen(driver_dir, life, before, now_s - before_s, options.all)
        before_s = now_s
        if not options.once and sys.stdout.isatty():
            print("\x1b[2J\x1b[H", end="")
        print("\n".join(lines), flush=True)
        if options.once:
            return 0
        time.sleep(options.interval)


def others(driver_dir: str) -> list[str]:
    """Driver directories beside this one: the usual reason why nothing arrives. Dead ones are counted only."""
    alive: list[str] = []
    dead = 0
    for parent in sorted({os.path.dirname(driver_dir), "/dev/shm"}):
        if not os.path.isdir(parent):
            continue
        for name in sorted(os.listdir(parent)):
            path = os.path.join(parent, name)
            if path == driver_dir or not os.path.exists(os.path.join(path, "cnc.dat")):
                continue
            if _core.probe(path) >= ALIVE:
                alive.append(path)
            else:
                dead += 1
    lines = [f"  alive: {path}   (rstream stat --dir {path})" for path in alive] or [
        "  no other driver is alive"
    ]
    if dead:
        lines.append(f"  and {dead} directories of dead drivers (rstream driver --clean --dir DIR)")
    return lines


def screen(
    driver_dir: str, life: int, before: dict[int, int], seconds: float, show_all: bool
) -> tuple[list[str], dict[int, int]]:
    """The lines of one print, and the values to compare the next one with."""
    counters = metrics.counters(driver_dir)
    now = {counter.id: counter.value for counter in counters}
    pid, age_ms = _core.driver_info(driver_dir)
    lines = [f"{driver_dir}: {LIVES[life]}, pid {pid}, heartbeat {age_ms} ms ago"]
    streams = metrics.stream_counters(driver_dir)
    lines += publication_lines(metrics.publications(driver_dir))
    lines += image_lines(metrics._images(streams))  # pyright: ignore[reportPrivateUsage]
    lines.append("counters")
    for counter in counters:
        if counter.value == 0 and not show_all:
            continue
        rate = ""
        if before and seconds > 0 and counter.type_id != metrics.TYPE_CLIENT_HEARTBEAT:
            change = (counter.value - before.get(counter.id, 0)) / seconds
            rate = f"  ({change:+,.0f}/s)" if change else ""
        lines.append(f"{counter.id:5d}: {counter.value:>26,d} - {counter.label}{rate}")
    return lines, now


def publication_lines(states: list[metrics.PublicationState]) -> list[str]:
    """One line per publication, with the reason when it cannot go on."""
    lines = ["publications"] if states else ["publications: none"]
    for state in states:
        room = state.limit - state.position
        if state.is_ipc and state.subscribers == 0:
            why = "no subscriber (same directory? same name or stream id?)"
        elif not state.is_ipc and state.sender_limit is not None and state.sender_limit == 0:
            why = "no receiver has answered (endpoint is the reader's address)"
        elif state.held_by is not None:
            why = HELD_BY[state.held_by]
            if state.slowest is None and state.held_by == "window":
                why += " (which one, only a driver of rstream tells)"
        else:
            why = "flows"
        lines.append(
            f"  stream {state.stream_id} session {state.session_id} position {state.position:,} room {max(room, 0):,} "
            f"readers {state.subscribers if state.is_ipc else '-'}: {why}  {state.channel}"
        )
        if state.rate is not None:
            room = (
                ""
                if state.rate.margin is None
                else f", X {state.rate.margin:.2f}"
                + (
                    " (too little buffer for a reader that stops)"
                    if state.rate.margin < ENOUGH
                    else ""
                )
            )
            lines.append(
                f"    rate: {state.rate.bytes_per_s:,} bytes/s, {state.rate.fill_naks:,} fill NAKs{room}"
            )
        if state.slowest is not None:
            lines.append(
                f"    slowest: {state.slowest.name}, {state.fill:.0%} full, for {_age(state.slowest.since_ms)}, consumed {state.slowest.position:,}"
            )
    return lines


def _age(since_ms: int) -> str:
    """Seconds, minutes or hours since then."""
    age_s = max(0.0, time.time() - since_ms / 1000)
    for unit, seconds in (("h", 3600), ("min", 60)):
        if age_s >= 2 * seconds:
            return f"{age_s / seconds:.0f} {unit}"
    return f"{age_s:.0f} s"


def image_lines(states: list[metrics.ImageState]) -> list[str]:
    """One line per reader."""
    lines = ["readers"] if states else ["readers: none"]
    for state in states:
        held = ""
        if state.received is not None:
            held = f" received and not consumed {state.received - state.consumed:,}"
            if state.highest is not None and state.highest > state.received:
                held += f" gap before {state.highest:,}"
        lines.append(
            f"  stream {state.stream_id} session {state.session_id} consumed {state.consumed:,}{held}  {state.channel}"
        )
    return lines
