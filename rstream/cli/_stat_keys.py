"""The keys of channels over UDP, for ``rstream stat``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from rstream import metrics
from rstream._channel_uri import ChannelUri
from rstream.errors import RStreamError
from rstream.keys import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ("KeysOf", "keys_of", "sealed_ids", "sealed_lines")

#: By ``rs-key``: the ids of its keys; the first one seals, both open.
KeysOf: TypeAlias = "dict[str, list[str]]"

_LABEL: Final = re.compile(r"rs-key: seals ([0-9a-f]{8})(?:, opens ([0-9a-f]{8}))?: (.+)")
#: A label holds no longer channel for certain; what is cut off may be its ``rs-key``.
_CHANNEL_LENGTH_MAX: Final = 300


def keys_of(counters: Iterable[metrics.Counter]) -> KeysOf:
    """The keys that a driver uses just now."""
    found = (_LABEL.fullmatch(one.label) for one in counters if one.type_id == metrics.TYPE_KEY)
    return {one[3]: [key for key in one.group(1, 2) if key] for one in found if one}


def sealed_ids(channel: str, keys: KeysOf) -> list[str] | None:
    """The ids of the keys of a channel; empty: it is plain; None: not UDP, or not known."""
    try:
        uri = ChannelUri.parse(channel)
    except RStreamError:
        return None
    if uri.media != "udp" or uri.is_spy:
        return None
    reference = uri.get("rs-key")
    if reference is None and (
        uri.get("tags") is not None or len(channel.encode()) > _CHANNEL_LENGTH_MAX
    ):
        return None
    return [] if reference in (None, PLAIN) else keys.get(reference)


def sealed_lines(channel: str, keys: KeysOf) -> list[str]:
    """The line that says with which key the datagrams of a channel are sealed; or none."""
    ids = sealed_ids(channel, keys)
    if ids is None:
        return []
    opens = "".join(f", opens also {one}" for one in ids[1:])
    return [f"    sealed: {ids[0]}{opens}" if ids else "    plain: no key seals its datagrams"]
