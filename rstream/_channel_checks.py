"""What is wrong with a channel, as far as it can be known without asking the operating system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rstream._channel_keys import KEYS, check_value
from rstream.errors import ChannelError

if TYPE_CHECKING:
    from rstream.channel import Channel

__all__ = ("check", "check_key")

_TERM_MAX: Final = 1 << 30
_MTU_MIN: Final = 64
_FRAME_ALIGNMENT: Final = 32
_URI_MAX: Final = 4095
_KEY: Final = re.compile(r"file:/.{1,249}|id:[0-9a-f]{8}")
_PORT: Final = re.compile(r".*:(\d{1,5})")
_TAG_LIMITS: Final = (-(2**63) + 1, 2**63 - 1)


def check(channel: Channel) -> None:
    """Refuse a channel that no driver would take.

    Raises:
        ChannelError: names the field, its value and what is allowed.
    """
    _check_address(channel)
    for row in KEYS:
        value = getattr(channel, row.field)
        if value is not None:
            check_value(row, value)
    _check_sizes(channel)
    _check_tags(channel)
    _check_start(channel)
    _check_texts(channel)
    _check_key(channel)


def _check_texts(channel: Channel) -> None:
    texts = [
        ("endpoint", channel.endpoint),
        ("interface", channel.interface),
        ("control", channel.control),
        ("flow_control", channel.flow_control),
        ("congestion_control", channel.congestion_control),
        ("name", channel.name),
        ("alias", channel.alias),
        ("sources", channel.sources),
        *channel.extra,
    ]
    for key, text in texts:
        if text is not None and (text == "" or any(c in "|\0\n" for c in text)):
            raise ChannelError(f"{key}={text!r}: must not be empty, nor contain '|' or a line end")
        if not key or any(c in "=|\0\n" for c in key):
            raise ChannelError(f"key {key!r}: must not be empty, nor contain '=' or '|'")
    if len(str(channel).encode()) > _URI_MAX:
        raise ChannelError(f"channel of more than {_URI_MAX} bytes")


def _check_key(channel: Channel) -> None:
    if channel.key is None or channel.key == "none":
        return
    check_key(channel.key)
    if channel.media == "ipc":
        raise ChannelError(f"key={channel.key!r}: an IPC channel has none: memory is not encrypted")


def check_key(reference: str) -> None:
    """Refuse an ``rs-key`` that is no reference; it may be the key itself, so no text repeats it.

    Raises:
        ChannelError: says what it must be.
    """
    is_text = isinstance(reference, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_text or (reference != "none" and _KEY.fullmatch(reference) is None):
        raise ChannelError(
            'rs-key: must be "file:/PATH", "id:" and eight hex digits, or "none"; a channel never '
            "has the key itself, because channels are printed",
            hint="key= of publishers and readers takes a GroupKey, 'env:NAME' and relative paths; "
            "for a channel, key.reference of a GroupKey",
        )


def _check_address(channel: Channel) -> None:
    if channel.media not in ("ipc", "udp"):
        raise ChannelError(f"media={channel.media!r}: must be 'ipc' or 'udp'")
    if channel.media == "ipc":
        for key in ("endpoint", "interface", "control", "control_mode"):
            if getattr(channel, key) is not None:
                raise ChannelError(f"{key}={getattr(channel, key)!r}: an IPC channel has none")
        return
    is_found_otherwise = channel.channel_tag is not None or channel.control_mode in (
        "manual",
        "response",
    )
    if channel.endpoint is None and channel.control is None and not is_found_otherwise:
        raise ChannelError(
            "UDP channel without endpoint or control: give Channel.udp('host:port'), the "
            "address where the *reader* listens"
        )
    for key, text in (("endpoint", channel.endpoint), ("control", channel.control)):
        if text is None:
            continue
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ChannelError(f"{key}={text!r}: must be a text, 'host:port'")
        match = _PORT.fullmatch(text)
        if match is None or int(match[1]) > 65535:
            raise ChannelError(f"{key}={text!r}: must be 'host:port' with a port up to 65535")
    if channel.control_mode not in (None, "dynamic", "manual", "response"):
        raise ChannelError(
            f"control_mode={channel.control_mode!r}: must be dynamic, manual or response"
        )
    if channel.control_mode == "dynamic" and channel.control is None:
        raise ChannelError("control_mode='dynamic': needs control='host:port'")


def _check_tags(channel: Channel) -> None:
    for field in ("channel_tag", "entity_tag", "session_tag"):
        tag = getattr(channel, field)
        if tag is not None and not (
            isinstance(tag, int) and _TAG_LIMITS[0] <= tag <= _TAG_LIMITS[1]
        ):
            raise ChannelError(f"{field}={tag!r}: must be a number that fits 64 bits with sign")
    if channel.entity_tag is not None and channel.channel_tag is None:
        raise ChannelError(f"entity_tag={channel.entity_tag}: needs channel_tag")
    if channel.session_tag is not None and channel.session_id is not None:
        raise ChannelError(
            f"session_tag={channel.session_tag}: cannot go with session_id={channel.session_id}"
        )


def _check_start(channel: Channel) -> None:
    start = (channel.initial_term_id, channel.term_id, channel.term_offset)
    if start == (None, None, None):
        return
    if channel.initial_term_id is None or channel.term_id is None or channel.term_offset is None:
        raise ChannelError("initial_term_id, term_id and term_offset go together")
    if channel.term_offset % _FRAME_ALIGNMENT or channel.term_offset > (
        channel.term_length or _TERM_MAX
    ):
        raise ChannelError(
            f"term_offset={channel.term_offset}: must be a multiple of {_FRAME_ALIGNMENT}, at most "
            "the term length"
        )
    if (channel.term_id - channel.initial_term_id) % (1 << 32) >= 1 << 31:
        raise ChannelError(
            f"term_id={channel.term_id}: must be less than 2**31 terms behind "
            f"initial_term_id={channel.initial_term_id}"
        )


def _check_sizes(channel: Channel) -> None:
    mtu, term = channel.mtu, channel.term_length
    if mtu is not None and mtu % _FRAME_ALIGNMENT:
        raise ChannelError(f"mtu={mtu}: must be a multiple of {_FRAME_ALIGNMENT}")
    if term is not None and term & (term - 1):
        raise ChannelError(f"term_length={term}: must be a power of two")
    window = channel.publication_window
    if window is not None and not (mtu or _MTU_MIN) <= window <= (term or _TERM_MAX) // 2:
        raise ChannelError(
            f"publication_window={window}: must be at least the mtu, at most half a term"
        )
