"""Readers and publishers of one driver that miss each other: names that differ by a slip, one name
on two channels, or a reader that has left.
"""

from __future__ import annotations

import difflib
import re
import time
from typing import TYPE_CHECKING, Final

from rstream import _core
from rstream._channel_uri import ChannelUri, name_of
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ("age_of", "hint_for_publisher", "hint_for_reader", "last_reader", "tell_last_reader")

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


def last_reader(driver_dir: str, publication_id: int) -> tuple[int, str]:
    """When the last reader left that a publication had (ms since 1970), and the error with which it
    left as it said; (0, ""): a reader is there, or none has left, or it is not known.
    """
    try:
        return _core.read_last_reader(driver_dir, publication_id)
    except RStreamError:
        return 0, ""  # the driver or the publication has gone


def tell_last_reader(left_ms: int, why: str) -> str:
    """For people what :func:`last_reader` returned; empty: nothing."""
    if left_ms <= 0:
        return ""
    said = f": {_core.printable(why)}" if why else " and said no error"
    return f"the last reader left {age_of(left_ms)} ago{said}"


def age_of(since_ms: int) -> str:
    """Seconds, minutes or hours since then."""
    age_s = max(0.0, time.time() - since_ms / 1000)
    for unit, seconds in (("h", 3600), ("min", 60)):
        if age_s >= 2 * seconds:
            return f"{age_s / seconds:.0f} {unit}"
    return f"{age_s:.0f} s"


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
