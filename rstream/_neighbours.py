"""Readers and publishers of one driver that miss each other: names that differ by a slip, or one
name on two channels.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

from rstream import _core
from rstream._channel_uri import ChannelUri, name_of
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ("hint_for_publisher", "hint_for_reader")

TYPE_SUBSCRIBER_POSITION: Final = 4
TYPE_PUBLISHER_POSITION: Final = 12
TYPE_SUBSCRIPTION: Final = 7313
#: How alike two names must be, 0 to 1: "tick" and "ticks" are 0.89.
LIKENESS_LEAST: Final = 0.75
_NUMBER: Final = re.compile(r"\d+")


def hint_for_publisher(driver_dir: str, name: str, channel: str) -> str:
    """Why a publisher without readers may wait; empty: no reader waits that it may mean."""
    waiting = _channels(driver_dir, TYPE_SUBSCRIPTION)
    found = _other_name(name, waiting)
    if found is not None:
        return f"a reader of {found!r} waits here: did you mean {name!r}?"
    other = _other_channel(name, (channel,), waiting)
    return "" if other is None else f"a reader of {name!r} waits here on another channel: {other}"


def hint_for_reader(driver_dir: str, name: str, *channels: str) -> str:
    """Why a reader without publishers may wait; empty: no publisher is here that it may mean.

    Args:
        channels: all channels of the reader; a publisher on any of them is not missed.
    """
    publishers = _channels(driver_dir, TYPE_PUBLISHER_POSITION)
    found = _other_name(name, publishers)
    if found is not None:
        return f"a publisher of {found!r} is here: did you mean {found!r}?"
    other = _other_channel(name, channels, publishers)
    return "" if other is None else f"a publisher of {name!r} is here on another channel: {other}"


def _channels(driver_dir: str, type_id: int) -> list[tuple[str, str]]:
    """(name, channel) of the named publications, or of the subscriptions without an image."""
    try:
        rows = _core.read_counters(driver_dir)
    except RStreamError:
        return []  # the driver has gone
    read = {row[3] for row in rows if row[1] == TYPE_SUBSCRIBER_POSITION}
    found: list[tuple[str, str]] = []
    for row in rows:
        if row[1] != type_id or (type_id == TYPE_SUBSCRIPTION and row[3] in read):
            continue
        channel = row[6][max(0, row[6].find("aeron:")) :]
        name = name_of(channel)
        if name:
            found.append((name, channel))
    return found


def _other_name(name: str, others: Iterable[tuple[str, str]]) -> str | None:
    # "sensor-7" and "sensor-8" are two streams, not a slip.
    numbers = _NUMBER.findall(name)
    names = sorted(
        {other for other, _ in others if other != name and _NUMBER.findall(other) == numbers}
    )
    return next(iter(difflib.get_close_matches(name, names, 1, LIKENESS_LEAST)), None)


def _other_channel(
    name: str, channels: Iterable[str], others: Iterable[tuple[str, str]]
) -> str | None:
    own = {_place(channel) for channel in channels}
    return next((uri for other, uri in others if other == name and _place(uri) not in own), None)


def _place(channel: str) -> tuple[str, str | None]:
    """Medium and address: what both sides of a stream must have in common."""
    try:
        uri = ChannelUri.parse(channel)
    except RStreamError:
        return channel, None
    return uri.media, uri.get("control") or uri.get("endpoint")
