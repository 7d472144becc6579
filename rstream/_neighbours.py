"""Readers and publishers of one driver that miss each other: names that differ by a slip, one name
on two channels or of two kinds (a stream, shared work, a service), or a reader that has left.
"""

from __future__ import annotations

import difflib
import re
import time
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from rstream import _core
from rstream._channel_uri import ChannelUri, name_of
from rstream._other_drivers import tell_others
from rstream._process_text import is_stopped, process_text
from rstream.errors import RStreamError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = (
    "age_of",
    "hint_for_publisher",
    "hint_for_reader",
    "last_reader",
    "tell_last_reader",
    "why_quiet",
    "why_refused",
    "work_stream_id",
)

TYPE_SUBSCRIBER_POSITION: Final = 4
TYPE_PUBLISHER_POSITION: Final = 12
TYPE_SUBSCRIPTION: Final = 7313
TYPE_KEY_REFUSED: Final = 7321
#: How alike two names must be, 0 to 1: "tick" and "ticks" are 0.89.
LIKENESS_LEAST: Final = 0.75
_NUMBER: Final = re.compile(r"\d+")
_TYPES: Final = frozenset({TYPE_PUBLISHER_POSITION, TYPE_SUBSCRIPTION})
#: Stream id and channel at the end of a counter's label.
_STREAM: Final = re.compile(r" (-?\d+) (aeron(?:-spy)?:\S.*)$")
#: A peer that is refused for its key; others are refused for their address, or as forgers.
_OTHER_KEY: Final = re.compile(" (asks for|seals with) key | (sends|takes) plain datagrams")
#: What to do about it.
KEY_REMEDY: Final = ": give both ends one key (key=, or RSTREAM_KEY_FILE)"
_HANDLE: Final = "handle"
_WHO: Final = {
    ("stream", True): "a publisher of a plain stream",
    ("stream", False): "a reader of a plain stream",
    ("work", True): "a publisher of shared work",
    ("work", False): "a reader of shared work",
    ("service", True): "a caller of a service",
    ("service", False): "a service",
}
#: What to open instead, by the kind of the other side and whether one publishes.
_HOW: Final = {
    ("stream", True): "send with rstream.publisher",
    ("stream", False): "read with rstream.subscriber",
    ("work", True): "send with rstream.work.publisher",
    ("work", False): "read with rstream.work.subscriber",
    ("service", True): "ask it with rstream.request",
    ("service", False): "answer it with rstream.serve",
}


class Party(NamedTuple):
    """A publisher or reader, of a plain stream or of another face."""

    kind: str  # a stream, shared work, or a service
    is_publisher: bool  # for a service: a caller
    name: str
    channel: str
    is_waiting: bool  # a reader without a publisher


def hint_for_publisher(driver_dir: str, name: str, channel: str, stream_id: int = 0) -> str:
    """Why a publisher without readers may wait; empty: no reader waits that it may mean.

    Args:
        stream_id: of its publication; 0: the one of a plain stream of that name.
    """
    found = _parties(driver_dir)
    own = _party(name, channel, stream_id, is_publication=True)
    if own is None or not own.is_publisher:
        return "" if own is None else _hint_for_reader(found, own, (channel,))
    if own.kind == "service":
        return _hint_for_caller(found, own, channel)
    readers = [one for one in found if not one.is_publisher]
    waiting = [(one.name, one.channel) for one in readers if _is_like(one, own) and one.is_waiting]
    other = _other_name(own.name, waiting)
    if other is not None:
        return f"a reader of {other!r} waits here: did you mean {own.name!r}?"
    uri = _other_channel(own.name, (channel,), waiting)
    if uri is not None:
        return f"a reader of {own.name!r} waits here on another channel: {uri}"
    return _other_kind(own, readers)


def hint_for_reader(driver_dir: str, name: str, *channels: str, stream_id: int = 0) -> str:
    """Why a reader without publishers may wait; empty: no publisher is here that it may mean.

    Args:
        channels: all channels of the reader; a publisher on any of them is not missed.
        stream_id: of its subscription; 0: the one of a plain stream of that name.
    """
    found = _parties(driver_dir)
    own = _party(name, channels[0] if channels else "", stream_id, is_publication=False)
    if own is None:
        return ""
    if own.is_publisher:  # of shared work: it hears its readers
        return _other_kind(own, [one for one in found if not one.is_publisher])
    return _hint_for_reader(found, own, channels)


def why_quiet(driver_dir: str, name: str, *channels: str, stream_id: int = 0) -> str:
    """The hint of a reader that got no message in time: where it looks, and what else is there.

    Args:
        channels: all channels of a reader without a publisher; none: it has one.
    """
    hint = f"`rstream stat` shows whether a publisher sends to this reader in {driver_dir}"
    if not channels:
        return hint
    neighbour = hint_for_reader(driver_dir, name, *channels, stream_id=stream_id) if name else ""
    told = (hint, "no publisher is here", neighbour, tell_others(driver_dir))
    return "; ".join(text for text in told if text)


def why_refused(driver_dir: str, channel_status_ids: Iterable[int] | None = None) -> list[str]:
    """A text for each peer that had another key, or none, within the last 5 s.

    Args:
        channel_status_ids: only of the sockets of these publications and subscriptions; below 0:
            shared memory. None: of all sockets of the driver; then the text names the socket.
    """
    wanted = None if channel_status_ids is None else {one for one in channel_status_ids if one >= 0}
    try:
        counters = [] if wanted == set() else _core.read_counters(driver_dir)
    except RStreamError:
        return []  # the driver has gone
    texts = [
        one.label.partition(": ")[2]
        for one in counters
        if one.type_id == TYPE_KEY_REFUSED and (wanted is None or one.registration_id in wanted)
    ]
    if wanted is not None:
        texts = [text.rpartition(": ")[0] for text in texts]
    return [text + KEY_REMEDY if _OTHER_KEY.search(text) else text for text in texts]


def _hint_for_reader(found: list[Party], own: Party, channels: tuple[str, ...]) -> str:
    publishers = [one for one in found if one.is_publisher]
    here = [(one.name, one.channel) for one in publishers if _is_like(one, own)]
    other = _other_name(own.name, here)
    if other is not None:
        return f"a publisher of {other!r} is here: did you mean {other!r}?"
    uri = _other_channel(own.name, channels, here)
    if uri is not None:
        return f"a publisher of {own.name!r} is here on another channel: {uri}"
    return _other_kind(own, publishers)


def _hint_for_caller(found: list[Party], own: Party, channel: str) -> str:
    servers = [one for one in found if not one.is_publisher]
    here = [(one.name, one.channel) for one in servers if _is_like(one, own)]
    other = _other_name(own.name, here)
    if other is not None:
        return f"{other!r} is served here: did you mean {other!r}?"
    uri = _other_channel(own.name, (channel,), here)
    if uri is not None:
        return f"{own.name!r} is served here on another channel: {uri}"
    return _other_kind(own, servers)


def _is_like(one: Party, own: Party) -> bool:
    return one.kind == own.kind


def _other_kind(own: Party, others: Iterable[Party]) -> str:
    """That the other side is here under the same name, and uses another face of it."""
    for one in others:
        if one.name == own.name and one.kind != own.kind and _HANDLE not in (one.kind, own.kind):
            who, how = _WHO[one.kind, one.is_publisher], _HOW[one.kind, own.is_publisher]
            return f"{who} with this name is here: {how}"
    return ""


def last_reader(driver_dir: str, publication_id: int) -> tuple[int, str, str]:
    """When the last reader left that a publication had (ms since 1970), the error with which it
    left as it said, and who it was: program and pid, or ``ip:port``; (0, "", ""): a reader is
    there, or none has left, or it is not known.
    """
    try:
        last = _core.read_last_reader(driver_dir, publication_id)
    except RStreamError:
        return 0, "", ""  # the driver or the publication has gone
    who = process_text(last.name, last.pid or None)
    if last.pid and is_stopped(last.pid):
        who = f"{who}, which is stopped"
    return last.left_ms, last.why, who


def tell_last_reader(left_ms: int, why: str, who: str) -> str:
    """For people what :func:`last_reader` returned; empty: nothing."""
    if left_ms <= 0:
        return ""
    reader = f"the last reader ({_core.printable(who)})" if who else "the last reader"
    said = f": {_core.printable(why)}" if why else " and said no error: it closed, or was cut off"
    return f"{reader} left {age_of(left_ms)} ago{said}"


def age_of(since_ms: int) -> str:
    """Seconds, minutes or hours since then."""
    age_s = max(0.0, time.time() - since_ms / 1000)
    for unit, seconds in (("h", 3600), ("min", 60)):
        if age_s >= 2 * seconds:
            return f"{age_s / seconds:.0f} {unit}"
    return f"{age_s:.0f} s"


def _parties(driver_dir: str) -> list[Party]:
    """The named publishers and readers of a driver."""
    try:
        counters = _core.read_counters(driver_dir)
    except RStreamError:
        return []  # the driver has gone
    read = {one.registration_id for one in counters if one.type_id == TYPE_SUBSCRIBER_POSITION}
    found: list[Party] = []
    for one in counters:
        match = _STREAM.search(one.label) if one.type_id in _TYPES else None
        name = None if match is None else name_of(match[2])
        if match is None or name is None:
            continue
        is_publication = one.type_id == TYPE_PUBLISHER_POSITION
        party = _party(name, match[2], int(match[1]), is_publication=is_publication)
        if party is not None:
            is_waiting = not is_publication and one.registration_id not in read
            found.append(party._replace(is_waiting=is_waiting))
    return found


def _party(name: str, channel: str, stream_id: int, *, is_publication: bool) -> Party | None:
    """Whose publication or subscription it is; None: one that is of no use without another."""
    service, mark, part = name.rpartition("#")
    if mark and part in ("ask", "answer", "server"):
        is_ask = part == "ask"
        return Party("service", is_publication, service, channel, False) if is_ask else None
    if stream_id == work_stream_id("hello", name):
        return Party("work", is_publication, name, channel, False)
    if stream_id == work_stream_id("reports", name):  # from readers to publishers
        return Party("work", not is_publication, name, channel, False)
    # Below 0: a reader with an address of its own, which only its handle tells (decision 74).
    return Party(_HANDLE if stream_id < 0 else "stream", is_publication, name, channel, False)


def work_stream_id(kind: str, name: str) -> int:
    """The stream id of one of the streams of shared work: hello, or reports."""
    return (zlib.crc32(f"work {kind} {name}".encode()) & 0x7FFF_FFFF) or 1


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
