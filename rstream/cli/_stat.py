"""``rstream stat``: a driver's streams and counters, live, and what keeps a stream from flowing."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Final

from rstream import _core, metrics
from rstream._channel_uri import ChannelUri, name_of
from rstream._held_by import HeldBy
from rstream._neighbours import (
    age_of,
    hint_for_publisher,
    hint_for_reader,
    tell_last_reader,
)
from rstream._other_drivers import tell_others
from rstream.cli._directory import tell_missing
from rstream.cli._jobs import with_job
from rstream.cli._live_options import goes_on, interval_s
from rstream.cli._path import path_text, window_advice
from rstream.cli._stat_json import report
from rstream.cli._stat_keys import KeysOf, keys_of, sealed_lines
from rstream.driver import resolve_dir

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rstream._facts import SlowestReader

#: From this headroom on no stop of a reader lost datagrams in experiment E4 (docs/results/flow.md).
HEADROOM_ENOUGH: Final = 1.2
HELD_BY: Final = {
    HeldBy.WINDOW: "waits: its window is full: the slowest reader holds it back",
    HeldBy.DEMAND: "waits: a reader has requested no more messages (request(n)): "
    "it holds the stream back",
    HeldBy.PATH: "waits: the path holds it back: its receiver has read what has arrived, and waits "
    "for what was lost or is on the way",
    HeldBy.RATE: "waits: its rate holds it back",
    HeldBy.BUDGET: "waits: as much is unread as the readers' host grants: the budget holds it back",
    HeldBy.SUBSCRIBER: "waits: no subscriber (same directory? same name or stream id?)",
    HeldBy.STORAGE: "waits: no room in the driver directory for the next term of its log",
}
FOLLOWS: Final = "waits: a reader takes no more: its reports hold the rate down"
WAITING: Final = (
    "waits: a message of {:,} bytes waits until readers have consumed earlier ones in shared memory"
)
ENDED: Final = "ended: its publisher has closed it, and a reader has not consumed everything yet"
NO_RECEIVER: Final = "waits: no receiver has answered (the endpoint must be the reader's address)"
INCOMPLETE: Final = (
    "waits: its channel wants {} receivers (fc=), and fewer are there; readers of one driver at "
    "one address are one receiver"
)
DRIVER_STATES: Final = {
    0: "no driver",
    1: "dead driver",
    2: "driver alive",
    3: "driver alive (Aeron's own)",
}


def run(options: argparse.Namespace) -> int:
    """Print once, or again and again until Ctrl-C or the end of a pipe."""
    is_live = goes_on(options)
    driver_dir = resolve_dir(options.dir)
    before: dict[int, int] = {}
    before_s = 0.0
    while True:
        now_s = time.monotonic()
        life = _core.probe(driver_dir)
        if life == 0:
            return tell_missing(driver_dir)
        if options.json:
            print(json.dumps(report(driver_dir), indent=1))
            return 0
        lines, before = screen(driver_dir, life, before, now_s - before_s, options.all)
        before_s = now_s
        if is_live and sys.stdout.isatty():
            print("\x1b[2J\x1b[H", end="")
        print("\n".join(lines), flush=True)
        if not is_live:
            return 0
        time.sleep(interval_s(options))


def screen(
    driver_dir: str, life: int, before: dict[int, int], seconds: float, show_all: bool
) -> tuple[list[str], dict[int, int]]:
    """The lines of one print, and the counter values that the next one compares with."""
    counters = metrics.counters(driver_dir)
    now = {counter.id: counter.value for counter in counters}
    info = _core.driver_info(driver_dir)
    state, age_ms = DRIVER_STATES[life], info.heartbeat_age_ms
    lines = [f"{driver_dir}: {state}, pid {info.pid}, last heartbeat {age_ms} ms ago", ""]
    published = metrics.publications(driver_dir)
    keys = keys_of(counters)
    lines += publication_lines(published, driver_dir, before, seconds, keys)
    now |= {-state.registration_id: state.offered_bytes for state in published}  # no counter's id
    lines += destination_lines(counters)
    waiting = [state for state in metrics.subscriptions(driver_dir) if state.images == 0]
    lines += ["", *image_lines(metrics.images(driver_dir), published, keys)]
    lines += waiting_lines(waiting, driver_dir, keys)
    if waiting or any(state.is_alone for state in published):
        others = tell_others(driver_dir)
        lines += ["", f"{others} (rstream stat --dir DIR)"] if others else []
    lines += ["", "counters: number: value - label"]
    for counter in counters:
        if counter.value == 0 and not show_all:
            continue
        change_per_s = ""
        if before and seconds > 0 and counter.type_id != metrics.TYPE_CLIENT_HEARTBEAT:
            change = (counter.value - before.get(counter.id, 0)) / seconds
            change_per_s = f"  ({change:+,.0f}/s)" if change else ""
        lines.append(f"{counter.id:5d}: {counter.value:>26,d} - {counter.label}{change_per_s}")
    return lines, now


def publication_lines(
    states: list[metrics.PublicationState],
    driver_dir: str = "",
    before: dict[int, int] | None = None,
    seconds: float = 0.0,
    keys: KeysOf | None = None,
) -> list[str]:
    """A few lines for each publication: where it is, whether it flows, and how fast.

    Args:
        before: what each had sent at the last print, by its negative number.
        seconds: since then.
        keys: that the driver uses.
    """
    lines = ["publications" if states else "publications: none"]
    for state in states:
        room = max(state.limit - state.position, 0)
        readers = f"; local subscribers: {state.subscribers}" if state.is_ipc else ""
        lines += [
            f"  {_stream(state)}",
            f"    {with_job(_what_it_waits_for(state), state)}",
            *_holder_lines(state),
            *_hint_lines(hint_for_publisher, driver_dir, state, state.is_alone),
            f"    sent {state.offered_bytes:,} bytes{_speed(state, before or {}, seconds)}; "
            f"room for {room:,} bytes more{readers}",
        ]
        if state.demand is not None:
            lines.append(f"    demand: readers want {state.demand:,} messages more")
        if state.rate is not None:
            lines += _rate_lines(state.rate)
        if state.path is not None:
            lines.append(f"    {path_text(state.path)}")
        if state.slowest is not None:
            lines.append(
                f"    slowest reader: {state.slowest.name}, {_buffer(state, state.slowest)}, "
                f"consumed {state.bytes_below(state.slowest.position):,} bytes, "
                f"slowest for {age_of(state.slowest.since_ms)}"
            )
        if state.process:
            lines.append(f"    publisher: {state.process}")
        lines += [f"    channel: {state.channel}", *sealed_lines(state.channel, keys or {})]
    return lines


def _speed(state: metrics.PublicationState, before: dict[int, int], seconds: float) -> str:
    old = before.get(-state.registration_id)
    if old is None or seconds <= 0:
        return ""
    return f" ({(state.offered_bytes - old) / seconds:,.0f}/s in the last {seconds:.1f} s)"


def _buffer(state: metrics.PublicationState, reader: SlowestReader) -> str:
    """How full its buffer is. Over UDP that is what has arrived, where it is known."""
    if state.is_ipc or not reader.waits_for_path(state.sent):
        return f"buffer {state.fill:.0%} full"
    queued = max(0, (reader.received_position or 0) - reader.position)
    return f"{queued:,} of {state.sent - reader.position:,} bytes have arrived in order"


def _holder_lines(state: metrics.PublicationState) -> list[str]:
    """The reader that holds the publication back, where it is not simply the slowest one."""
    reader = state.holder
    if reader is None or not reader.is_report:
        return []
    drain = reader.drain_bytes_per_s or 0
    takes = f"takes {drain:,} bytes/s while it reads, " if drain else ""
    return [f"    held back by: {reader.name}, {takes}for {age_of(reader.since_ms)}"]


def destination_lines(counters: list[metrics.Counter]) -> list[str]:
    """A line for each destination to which the system refuses to send, and for each peer with
    another key.
    """
    lines: list[str] = []
    for counter in counters:
        if counter.type_id == metrics.TYPE_DESTINATION_FAILED:
            where, _, channel = counter.label.partition(": ")[2].partition(" ")
            lines.append(
                f"  destination {where} cannot be reached: {counter.value:,} datagrams were not "
                f"sent to it; the error log says why (channel {channel})"
            )
        elif counter.type_id == metrics.TYPE_KEY_REFUSED:
            lines.append(f"  refused: {counter.label.partition(': ')[2]}")
    return lines


def _titled(stream_id: int, channel: str) -> str:
    """Name and stream id."""
    name = name_of(channel)
    return f"stream {stream_id}" if name is None else f'stream "{name}" (id {stream_id})'


def _stream(state: metrics.PublicationState | metrics.ImageState) -> str:
    """Name, stream id and session."""
    return f"{_titled(state.stream_id, state.channel)}, session {state.session_id}"


def _hint_lines(
    hint_for: Callable[..., str],
    driver_dir: str,
    state: metrics.PublicationState | metrics.SubscriptionState,
    is_alone: bool,
) -> list[str]:
    """The line on a reader or publisher that this one may mean."""
    name = name_of(state.channel)
    if not is_alone or name is None:
        return []
    hint = hint_for(driver_dir, name, state.channel, stream_id=state.stream_id)
    return [f"    {hint}"] if hint else []


def _what_it_waits_for(state: metrics.PublicationState) -> str:
    if left := tell_last_reader(state.left_ms, state.left_why, state.left_who):
        return f"waits: no subscriber any more: {left}"
    if state.is_ipc and state.subscribers == 0:
        return HELD_BY[HeldBy.SUBSCRIBER]
    if state.sender_limit == 0 and not state.is_ipc:
        wanted = ChannelUri.parse(state.channel).group_size
        return INCOMPLETE.format(wanted) if wanted > 1 and state.slowest else NO_RECEIVER
    if state.is_ended:
        return ENDED
    if state.held_by is None:
        return "flows"
    if state.held_by is HeldBy.STORAGE and state.storage_usable < 0:
        return f"{HELD_BY[state.held_by]}: the driver could not open its log (`rstream errors`)"
    if state.held_by is HeldBy.STORAGE:
        return (
            f"{HELD_BY[state.held_by]}: it needs {state.storage_needed:,} bytes, "
            f"{state.storage_usable:,} are usable (enlarge the file system, or use smaller terms)"
        )
    if state.waiting_bytes and state.held_by is HeldBy.WINDOW:
        return WAITING.format(state.waiting_bytes)
    if state.held_by is HeldBy.RATE and state.followed is not None:
        return FOLLOWS
    is_unnamed = state.slowest is None and state.held_by is HeldBy.WINDOW
    return HELD_BY[state.held_by] + (
        " (only rstream's own driver tells which one)" if is_unnamed else ""
    )


def _rate_lines(rate: metrics.RateState) -> list[str]:
    limit = rate.limit_bytes_per_s
    lines = [
        f"    rate limit now: {'none' if limit is None else f'{limit:,} bytes/s'}; "
        f"reports of a filling buffer (fill NAKs) from readers: {rate.fill_naks:,}"
    ]
    if rate.headroom is not None:
        verdict = (
            f"below {HEADROOM_ENOUGH} some is lost and sent again: use a larger receiver window"
            if rate.headroom < HEADROOM_ENOUGH
            else f"{HEADROOM_ENOUGH} is enough"
        )
        lines.append(
            f"    headroom: {rate.headroom:.2f} (the buffer of a reader that stops holds "
            f"{rate.headroom:.2f} times the data that still arrives; {verdict})"
        )
    return lines


def image_lines(
    states: list[metrics.ImageState],
    published: list[metrics.PublicationState],
    keys: KeysOf | None = None,
) -> list[str]:
    """A few lines for each subscriber of each session."""
    lines = ["readers" if states else "readers: none"]
    local = {state.session_id: state for state in published if state.is_ipc}
    for state in states:
        publication = local.get(state.session_id) if state.received is None else None
        consumed = publication.bytes_below(state.consumed) if publication else state.consumed
        text = f"    consumed {consumed:,} bytes"
        if state.received is not None:
            text += f"; {state.received - state.consumed:,} bytes received and not yet consumed"
            if state.highest is not None and state.highest > state.received:
                text += f"; a gap from {state.received:,} on waits to be sent again"
        lines += [f"  {_stream(state)}", text]
        if advice := window_advice(state):
            lines.append(f"    window bounded by so-rcvbuf: {advice}")
        if state.process:
            lines.append(f"    reader: {state.process}")
        lines += [f"    channel: {state.channel}", *sealed_lines(state.channel, keys or {})]
    return lines


def waiting_lines(
    states: list[metrics.SubscriptionState], driver_dir: str, keys: KeysOf | None = None
) -> list[str]:
    """A few lines for each subscription without a publisher."""
    lines = ["", "readers that wait for a publisher"] if states else []
    for state in states:
        lines += [
            f"  {_titled(state.stream_id, state.channel)}, subscription {state.registration_id} "
            f"of client {state.client_id}{f' ({state.process})' if state.process else ''}",
            f"    waits for {age_of(state.since_ms)} (same directory? same name or stream id?)",
            *_hint_lines(hint_for_reader, driver_dir, state, is_alone=True),
            f"    channel: {state.channel}",
            *sealed_lines(state.channel, keys or {}),
        ]
    return lines
