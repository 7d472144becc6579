"""The rows of ``rstream top``: rates and queueing delays from two looks at a driver."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rstream import metrics
from rstream._channel_uri import ChannelUri
from rstream.cli._jobs import with_job
from rstream.cli._path import path_text
from rstream.errors import ChannelError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("HEADINGS", "CounterLook", "TopRow", "cells", "look", "rows")

HEADINGS: Final = ("stream", "session", "way", "rate", "limit", "fill", "delay", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterLook:
    """What the counters said at ``time_s`` (monotonic)."""

    time_s: float
    publications: Sequence[metrics.PublicationState]
    images: Sequence[metrics.ImageState]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRow:
    """One session that is published or received on this host.

    Attributes:
        stream: its name, else its stream id.
        session_id: the session.
        way: ``"ipc"``, or ``"to"`` or ``"from"`` and the address.
        bytes_per_s: published: sent; received: consumed. None: not known yet.
        limit_bytes_per_s: the rate limit; None: none.
        is_beside_large: large messages in shared memory went, too. No rate limits them, but the
            bytes of them that readers have not consumed (flow/unread.py), so ``limit_bytes_per_s``
            cannot count them.
        fill: how full the slowest reader's buffer is, 0 to 1; None: not known.
        delay_s: how long a byte that is sent now waits at this drain rate; infinite when nothing
            is drained; None: not known yet.
        state: what the session waits for, and which reader holds it.
    """

    stream: str
    session_id: int
    way: str
    bytes_per_s: float | None
    limit_bytes_per_s: int | None
    is_beside_large: bool = False
    fill: float | None
    delay_s: float | None
    state: str


def look(driver_dir: str) -> CounterLook:
    """Read the counters.

    Raises:
        DriverNotFound: there is no readable CnC file.
    """
    return CounterLook(
        time_s=time.monotonic(),
        publications=metrics.publications(driver_dir),
        images=metrics.images(driver_dir),
    )


def rows(before: CounterLook | None, now: CounterLook) -> list[TopRow]:
    """The sessions, those that send most first.

    A session that is published here stands there once, whoever reads it.
    """
    here = {(state.stream_id, state.session_id) for state in now.publications}
    found = [_published(before, now, state) for state in now.publications]
    found += [
        _received(before, now, state)
        for state in now.images
        if state.received is not None and (state.stream_id, state.session_id) not in here
    ]
    return sorted(found, key=lambda row: (-(row.bytes_per_s or 0.0), row.stream, row.session_id))


def _per_s(
    before: CounterLook | None, now: CounterLook, old: int | None, new: int | None
) -> float | None:
    if before is None or old is None or new is None or now.time_s <= before.time_s:
        return None
    return max(0, new - old) / (now.time_s - before.time_s)


def _delay_s(queued: int | None, drain: float | None) -> float | None:
    if queued is None or (drain is None and queued > 0):
        return None
    if queued == 0:
        return 0.0
    return queued / drain if drain else float("inf")


def _published(
    before: CounterLook | None, now: CounterLook, state: metrics.PublicationState
) -> TopRow:
    old = next(
        (
            one
            for one in (before.publications if before else ())
            if one.registration_id == state.registration_id
        ),
        None,
    )
    drain = _per_s(before, now, old and old.consumed_bytes, state.consumed_bytes)
    return TopRow(
        stream=state.name or str(state.stream_id),
        session_id=state.session_id,
        way="ipc" if state.is_ipc else f"to {_address(state.channel)}",
        bytes_per_s=_per_s(before, now, old and old.sent_bytes, state.sent_bytes),
        limit_bytes_per_s=state.rate and state.rate.limit_bytes_per_s,
        is_beside_large=old is not None and state.large_bytes > old.large_bytes,
        fill=None if state.slowest is None else state.fill,
        delay_s=_delay_s(state.queued_bytes, drain),
        state=with_job(_state(state), state) + (f"; {path_text(state.path)}" if state.path else ""),
    )


def _state(state: metrics.PublicationState) -> str:
    if state.is_ended:
        return "ended, not all of it is read"
    if state.waits_for is None:
        return "flows"
    holder = "" if state.holder is None else f": {state.holder.name}"
    return f"waits for {state.waits_for}{holder}"


def _received(before: CounterLook | None, now: CounterLook, state: metrics.ImageState) -> TopRow:
    old = next(
        (
            one
            for one in (before.images if before else ())
            if (one.registration_id, one.session_id) == (state.registration_id, state.session_id)
        ),
        None,
    )
    received = state.consumed if state.received is None else state.received
    drain = _per_s(before, now, old and old.consumed, state.consumed)
    has_gap = state.highest is not None and state.highest > received
    return TopRow(
        stream=state.name or str(state.stream_id),
        session_id=state.session_id,
        way=f"from {_address(state.channel)}",
        bytes_per_s=drain,
        limit_bytes_per_s=None,
        fill=None,
        delay_s=_delay_s(max(0, received - state.consumed), drain),
        state=f"read by {f'{state.process}, ' if state.process else ''}subscription "
        f"{state.registration_id} of client {state.client_id}"
        + (", a gap waits to be sent again" if has_gap else ""),
    )


def _address(channel: str) -> str:
    try:
        uri = ChannelUri.parse(channel)
    except ChannelError:
        return channel  # cut off: a label holds 380 bytes
    return uri.get("endpoint") or uri.get("control") or channel


def cells(row: TopRow) -> tuple[str, ...]:
    """The texts of a row, in the order of :data:`HEADINGS`."""
    return (
        row.stream,
        str(row.session_id),
        row.way,
        "" if row.bytes_per_s is None else f"{_bytes(row.bytes_per_s)}/s",
        _limit(row),
        "" if row.fill is None else f"{row.fill:.0%}",
        "" if row.delay_s is None else _duration(row.delay_s),
        row.state,
    )


def _limit(row: TopRow) -> str:
    if row.limit_bytes_per_s is None:
        return ""
    return f"{_bytes(row.limit_bytes_per_s)}/s" + (" + large" if row.is_beside_large else "")


def _bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def _duration(seconds: float) -> str:
    if seconds == float("inf"):
        return "stands"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
