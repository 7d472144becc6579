"""Which sessions of a stream ``rstream watch`` reads, and through which channel.

It must not change what it looks at. So it reads a session only while somebody else reads it, too
(``alone`` lifts that), and by a subscription that cannot hold it:

* ``tether=false``: the law of rate does not follow the subscription.
* ``rs-evict``: the driver goes on without it once it stands still and three quarters of the window
  wait for it.
* It tells no demand, so that no pipeline waits for it or works for it.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rstream._channel_uri import ChannelUri, name_of
from rstream._neighbours import work_stream_id
from rstream.errors import ChannelError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from rstream import metrics

__all__ = ("TARGETS_MAX", "WatchTarget", "is_of", "targets", "what_is_missing")

#: Most sessions that are read at a time.
TARGETS_MAX: Final = 64
#: Streams that are named when the wanted one is not there.
NAMED_MAX: Final = 8
EVICT: Final = "250ms"


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """One session, and the channel to read it by."""

    channel: str
    stream_id: int
    session_id: int

    @property
    def key(self) -> tuple[int, int]:
        """Stream and session."""
        return self.stream_id, self.session_id


def is_of(stream: str) -> Callable[[str, int], bool]:
    """Whether a channel and stream id belong to the stream that a user has typed.

    A number means a stream id, and a name of digits as well. Of shared work a name means the jobs.
    """
    # What the two ends of shared work tell each other is none of its messages.
    inner = {work_stream_id(kind, stream) for kind in ("hello", "reports")}

    def is_named(channel: str, stream_id: int) -> bool:
        return name_of(channel) == stream and stream_id not in inner

    try:
        number = int(stream)
    except ValueError:
        return is_named
    return lambda channel, stream_id: number == stream_id or is_named(channel, stream_id)


def what_is_missing(
    stream: str,
    publications: Iterable[metrics.PublicationState],
    images: Iterable[metrics.ImageState],
    subscriptions: Iterable[metrics.SubscriptionState],
) -> str:
    """What the command waits for when no session is of the stream, and which streams there are."""
    is_wanted = is_of(stream)
    wait = any(is_wanted(one.channel, one.stream_id) for one in subscriptions)
    text = f"waits for a publisher of {stream!r}{', as a reader does' if wait else ''}"
    names = sorted({name_of(one.channel) or str(one.stream_id) for one in (*publications, *images)})
    if not names:
        return f"{text}; nothing is published here"
    meant = difflib.get_close_matches(stream, names, 1)
    shown = ", ".join(map(repr, names[:NAMED_MAX]))
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    hint = f" did you mean {meant[0]!r}?" if meant else ""
    return f"{text};{hint} published here: {shown}{more}"


def targets(
    publications: Iterable[metrics.PublicationState],
    images: Collection[metrics.ImageState],
    is_wanted: Callable[[str, int], bool],
    *,
    own_client: int | None = None,
    alone: bool = False,
) -> tuple[list[WatchTarget], int]:
    """The sessions to read now, and how many wait for another reader.

    Args:
        publications, images: what the directory has now.
        is_wanted: as :func:`is_of`.
        own_client: the client that watches; what it reads counts for nothing.
        alone: also read sessions that nobody else reads.
    """
    read = {state.session_id for state in images if state.client_id != own_client}
    found: dict[tuple[int, int], WatchTarget] = {}
    unread = 0
    for state in publications:
        if not is_wanted(state.channel, state.stream_id):
            continue
        if state.is_ipc and not alone and state.session_id not in read:
            unread += 1
            continue
        key = (state.stream_id, state.session_id)
        found[key] = WatchTarget(
            _local(state) if state.is_ipc else _spy(state), state.stream_id, state.session_id
        )
    for image in images:
        key = (image.stream_id, image.session_id)
        is_unfit = image.received is None or image.client_id == own_client
        if is_unfit or key in found or not is_wanted(image.channel, image.stream_id):
            continue
        channel = _beside(image.channel, image.session_id)
        if channel is not None:
            found[key] = WatchTarget(channel, image.stream_id, image.session_id)
    return list(found.values())[:TARGETS_MAX], unread


def _untied(uri: ChannelUri, session_id: int) -> str:
    for key, value in (
        ("session-id", str(session_id)),
        ("tether", "false"),
        ("rs-evict", EVICT),
    ):
        uri = uri.with_value(key, value)
    return str(uri)


def _local(state: metrics.PublicationState) -> str:
    return _untied(ChannelUri(media="ipc"), state.session_id)


def _spy(state: metrics.PublicationState) -> str:
    """A spy makes no publication connected, unless its channel says ``ssc=true``."""
    kept = ("endpoint", "control", "control-mode", "interface", "tags")
    try:
        uri = ChannelUri.parse(state.channel)
    except ChannelError:
        uri = ChannelUri(media="udp")
    parameters = tuple((key, value) for key, value in uri.parameters if key in kept)
    return _untied(ChannelUri(is_spy=True, media="udp", parameters=parameters), state.session_id)


def _beside(channel: str, session_id: int) -> str | None:
    """The channel of a reader for a second one; None: it cannot be read by two."""
    try:
        uri = ChannelUri.parse(channel)
    except ChannelError:
        return None  # cut off: a label holds 380 bytes
    if uri.get("endpoint") is None or (uri.get("endpoint") or "").endswith(":0"):
        return None  # its destinations or its port were chosen later
    return _untied(uri, session_id)
