"""``rstream why``: who holds a stream up, from hop to hop through the programs of this host."""

from __future__ import annotations

import dataclasses
import re
import sys
import time
from typing import TYPE_CHECKING, Final

from rstream import _core, metrics
from rstream._channel_uri import ChannelUri
from rstream._held_by import HeldBy
from rstream._neighbours import (
    hint_for_publisher,
    hint_for_reader,
    tell_last_reader,
    why_refused,
)
from rstream._other_drivers import other_drivers
from rstream._process_text import is_stopped
from rstream.cli._directory import ALIVE, tell_missing
from rstream.cli._jobs import job_text, with_job
from rstream.driver import resolve_dir
from rstream.errors import RStreamError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from rstream._facts import SlowestReader

#: Seconds between the two looks from which the drain of readers is known.
BETWEEN_S: Final = 1.0
#: Directories of other drivers on this host that a chain may pass.
OTHERS_MAX: Final = 16


@dataclasses.dataclass(frozen=True, slots=True)
class Hop:
    """A publication in its directory, at two looks; ``before`` is None if it is new."""

    directory: str
    before: metrics.PublicationState | None
    state: metrics.PublicationState


def run(options: argparse.Namespace) -> int:
    """Print the chain of each session of the stream."""
    driver_dir = resolve_dir(options.dir)
    if _core.probe(driver_dir) < ALIVE:
        return tell_missing(driver_dir)
    stream: str = options.stream
    hops = _hops([driver_dir, *other_drivers(driver_dir)[0][:OTHERS_MAX]])
    wanted = [hop for hop in hops if hop.directory == driver_dir and stream in _names(hop.state)]
    if not wanted:
        return _tell_absent(driver_dir, stream)
    for hop in wanted:
        print("\n".join(chain(hop, hops)))
    return 0


def _names(state: metrics.PublicationState | metrics.SubscriptionState) -> tuple[str | None, str]:
    return state.name, str(state.stream_id)


def _hops(directories: Sequence[str]) -> list[Hop]:
    def look() -> dict[tuple[str, int], metrics.PublicationState]:
        return {
            (path, state.registration_id): state
            for path in directories
            for state in _publications(path)
        }

    before = look()
    time.sleep(BETWEEN_S)
    return [Hop(key[0], before.get(key), state) for key, state in look().items()]


def _publications(path: str) -> list[metrics.PublicationState]:
    try:
        return metrics.publications(path)
    except RStreamError:
        return []  # another user's, or it has ended


def _tell_absent(driver_dir: str, stream: str) -> int:
    waiting = [one for one in metrics.subscriptions(driver_dir) if stream in _names(one)]
    readers = ", ".join(one.process or f"client {one.client_id}" for one in waiting)
    text = f"rstream: nobody publishes {stream!r} in {driver_dir}"
    print(f"{text}; {readers} waits for it" if readers else text, file=sys.stderr)
    channels = [one.channel for one in waiting]
    for text in (*_refused(driver_dir, *channels), hint_for_reader(driver_dir, stream, *channels)):
        if text:
            print(f"rstream: {text}", file=sys.stderr)
    return 1


def _refused(driver_dir: str, *channels: str) -> list[str]:
    """A text for each peer with another key at the ports of these channels."""
    found: list[str] = []
    for channel in channels:
        uri = ChannelUri.parse(channel)
        port = (uri.get("control") or uri.get("endpoint") or "").rpartition(":")[2]
        if uri.media == "udp" and port:
            where = re.compile(rf":{re.escape(port)}\b")
            found += [f"refused: {one}" for one in why_refused(driver_dir) if where.search(one)]
    return list(dict.fromkeys(found))


def chain(first: Hop, hops: Sequence[Hop]) -> list[str]:
    """A line for each hop, and at the end of each branch a line on what is slow."""
    lines: list[str] = []
    seen: set[tuple[str, int]] = set()
    todo = [(first, 0)]
    while todo:
        hop, depth = todo.pop()
        if (hop.directory, hop.state.registration_id) in seen:
            continue
        seen.add((hop.directory, hop.state.registration_id))
        lines.append("  " * depth + _what(hop.state))
        after = list(_after(hop, hops))
        todo += [(one, depth + 1) for one in reversed(after)]
        if not after:
            lines.append("  " * (depth + 1) + _root(hop))
    return lines


def _after(hop: Hop, hops: Sequence[Hop]) -> Iterator[Hop]:
    """The publications for which the process waits that holds this one."""
    reader = hop.state.holder
    if reader is None or reader.pid is None or hop.state.waits_for is HeldBy.PATH:
        return
    for one in hops:
        if one.state.pid == reader.pid and one.state.waits_for is not None and one is not hop:
            yield one


def _what(state: metrics.PublicationState) -> str:
    name = f'"{state.name}"' if state.name else f"stream {state.stream_id}"
    publisher = state.process or f"client {state.client_id}"
    waits = "flows" if state.waits_for is None else f"waits for {state.waits_for}"
    holder = "" if state.holder is None else f": {state.holder.name}"
    text = f"{name}, session {state.session_id}, published by {publisher}: {waits}{holder}"
    return with_job(text, state)


def _root(hop: Hop) -> str:
    state = hop.state
    if state.is_ended:
        return "=> its publisher has closed it, and a reader has not read the rest yet"
    match state.waits_for:
        case None if state.job_held_ms:
            return f"=> {job_text(state)}"
        case None:
            return f"=> nothing holds {state.process or 'the publisher'}: it may send more"
        case HeldBy.SUBSCRIBER:
            hint = (
                hint_for_publisher(hop.directory, state.name, state.channel) if state.name else ""
            )
            refused = _refused(hop.directory, state.channel)
            left = tell_last_reader(state.left_ms, state.left_why, state.left_who)
            told = filter(None, (*refused, left, hint))
            return ": ".join(("=> no subscriber is there", "; ".join(told))).removesuffix(": ")
        case HeldBy.STORAGE:
            return f"=> {hop.directory} has no room for the next term of its log"
        case HeldBy.PATH if state.holder is not None:
            return (
                f"=> the path to {state.holder.source or 'the receiver'}: the reader has read what "
                "has arrived (`rstream loss` on its host says what was lost)"
            )
        case _ if state.holder is not None:
            return _slow(hop, state.holder)
        case HeldBy.RATE:
            return "=> its own rate (rate=, set_rate), which no reader lowers"
        case _:
            return "=> a reader that this driver cannot name (Aeron's own drivers do not tell)"


def _slow(hop: Hop, reader: SlowestReader) -> str:
    state = hop.state
    queued = state.queued_bytes or 0
    old = hop.before and hop.before.consumed_bytes
    took = max(0, (state.consumed_bytes or 0) - old) / BETWEEN_S if old is not None else 0.0
    since_s = max(0.0, time.time() - reader.since_ms / 1000)
    who = reader.process or f"the reader at {reader.source}"
    text = (
        f"=> {who} is slow: it takes {took:,.0f} bytes/s, {queued:,} bytes wait for it, "
        f"the slowest for {since_s:.0f} s"
    )
    if state.waits_for is HeldBy.DEMAND:
        text = f"=> {who} has requested no more messages (request(n)) for {since_s:.0f} s"
    if reader.pid is None:
        return f"{text}; run `rstream why` on its host"
    return text + (", and its process is stopped" if is_stopped(reader.pid) else "")
