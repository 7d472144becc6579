"""The options of a UDP link by name: ``rcv_wnd``, ``cc``, ``mtu``, ``key`` and ``sources``, as
every face takes them.

Each belongs to one side: the window to the reader, the length of datagrams to the publisher. ``cc``
is the law of the reader's window there, and of the sender here. The key belongs to both.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from rstream._channel_checks import check_key
from rstream._channel_keys import KEYS, Key, check_value, value_of
from rstream._channel_uri import ChannelUri
from rstream.errors import ChannelError, ConfigError
from rstream.keys import PLAIN, reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.channel import Channel
    from rstream.keys import KeyLike

__all__ = ("READER_LAWS", "SENDER_LAWS", "with_link_options")

#: What ``cc`` may be, by the side that it is given to.
SENDER_LAWS: Final = ("path", "static")
READER_LAWS: Final = ("static", "cubic", "auto")
_ROWS: Final = {row.key: row for row in KEYS}


def with_link_options(
    channel: Channel | str | None,
    *,
    is_publisher: bool,
    rcv_wnd: int | str | None = None,
    cc: str | None = None,
    mtu: int | str | None = None,
    key: KeyLike = "default",
    sources: str | Sequence[str] | None = None,
) -> Channel | str | None:
    """The channel with these parameters; itself if all are None.

    Raises:
        ConfigError: a value cannot be used, the channel says another one, or has no network.
    """
    if sources is not None and not isinstance(sources, str):
        sources = ",".join(sources)
    given = {"rcv-wnd": rcv_wnd, "cc": cc, "mtu": mtu, "rs-sources": sources}
    channel = _with_key(channel, key)
    wanted = {key: value for key, value in given.items() if value is not None}
    if not wanted:
        return channel
    uri = ChannelUri.parse("aeron:ipc" if channel is None else str(channel))
    for key, value in wanted.items():
        text = _checked(key, value, is_publisher)
        name = key.removeprefix("rs-").replace("-", "_")
        if uri.media != "udp" or uri.is_spy:
            raise ConfigError(
                f"{name}={value!r} on {uri}: only UDP has it, and nothing crosses a network here",
                hint=f'leave {name} out, or give channel="aeron:udp?endpoint=HOST:PORT"',
            )
        other = uri.get(key)
        if other is not None and _same(key, other) != _same(key, text):
            raise ConfigError(
                f"{name}={value!r}: the channel {uri} says {key}={other}",
                hint=f"give {name} once: beside the channel, or in it",
            )
        uri = uri.with_value(key, text)
    return str(uri)


def _with_key(channel: Channel | str | None, key: KeyLike) -> Channel | str | None:
    wanted = reference(key)
    if wanted is None:
        return channel
    uri = ChannelUri.parse("aeron:ipc" if channel is None else str(channel))
    other = uri.get("rs-key")
    check_key(other or PLAIN)
    if key is None and uri.media == "ipc":
        return channel
    if uri.media != "udp":
        raise ConfigError(
            f"key={key!r} on {uri}: only UDP has it, and shared memory is not encrypted",
            hint='leave key out, or give channel="aeron:udp?endpoint=HOST:PORT"',
        )
    if other is not None and other != wanted:
        raise ConfigError(
            f"key={key!r}: the channel {uri} says rs-key={other}",
            hint="give the key once: beside the channel, or in it",
        )
    return str(uri.with_value("rs-key", wanted))


def _checked(key: str, value: int | str, is_publisher: bool) -> str:
    name = key.replace("-", "_")
    if key == "rs-sources":
        return _checked_sources(str(value))
    if key == "cc":
        allowed, others = SENDER_LAWS, READER_LAWS
        side = "the subscriber: the law of its window"
        if not is_publisher:
            allowed, others = READER_LAWS, SENDER_LAWS
            side = "the publisher: its sender follows the path"
        if value not in allowed:
            words = " or ".join(f'"{word}"' for word in allowed)
            hint = f"cc={value!r} belongs to {side}" if value in others else ""
            raise ConfigError(f"cc={value!r}: must be {words}", hint=hint)
        return str(value)
    row: Key = _ROWS[key]
    try:
        number = value_of("", row, value) if isinstance(value, str) else value
        check_value(row, number)
    except ChannelError:
        raise ConfigError(
            f'{name}={value!r}: must be {row.least} to {row.most} bytes, such as 65536 or "64k"'
        ) from None
    return str(number)


def _checked_sources(text: str) -> str:
    for one in text.split(","):
        try:
            ipaddress.ip_network(one.strip().replace("[", "").replace("]", ""), strict=False)
        except ValueError as error:
            raise ConfigError(
                f"sources={text!r}: {error}",
                hint='give addresses and networks, such as ["10.0.0.0/8", "192.168.1.7"]',
            ) from None
    return ",".join(one.strip() for one in text.split(","))


def _same(key: str, text: str) -> object:
    """What two texts of one value have in common."""
    row = _ROWS[key]
    return value_of("", row, text) if row.kind == "size" else text
