"""The parameters of an Aeron URI, one row each: key, field of ``Channel``, kind and limits.

Source: docs/reference/wire.md, channel URIs; the limits are those of the driver's parser.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

from rstream import rate
from rstream.errors import ChannelError, ConfigError

__all__ = ("KEYS", "Key", "check_value", "text_of", "value_of")

_GIB: Final = 1 << 30
_I32: Final = (-(2**31), 2**31 - 1)
_I64: Final = (-(2**63) + 1, 2**63 - 1)
_DAY_S: Final = 86400


class Key(NamedTuple):
    """One parameter: how it is written, and which values it may have."""

    key: str
    field: str
    kind: Literal[
        "text", "number", "size", "duration", "bool", "group", "offset", "response", "rate"
    ]
    least: float = 0
    most: int = 0


#: In the order in which a channel writes them.
KEYS: Final[tuple[Key, ...]] = (
    Key("endpoint", "endpoint", "text"),
    Key("interface", "interface", "text"),
    Key("control", "control", "text"),
    Key("control-mode", "control_mode", "text"),
    Key("ttl", "ttl", "number", 0, 255),
    Key("session-id", "session_id", "number", *_I32),
    Key("stream-id", "stream_id", "number", *_I32),
    Key("mtu", "mtu", "size", 64, 65504),
    Key("term-length", "term_length", "size", 64 * 1024, _GIB),
    Key("init-term-id", "initial_term_id", "number", *_I32),
    Key("term-id", "term_id", "number", *_I32),
    Key("term-offset", "term_offset", "number", 0, _GIB),
    Key("pub-wnd", "publication_window", "size", 64, _GIB // 2),
    Key("rcv-wnd", "receiver_window", "size", 256, _GIB),
    Key("linger", "linger_s", "duration", 0, 3600),
    Key("reliable", "reliable", "bool"),
    Key("sparse", "sparse", "bool"),
    Key("eos", "eos", "bool"),
    Key("tether", "tether", "bool"),
    Key("group", "group", "group"),
    Key("rejoin", "rejoin", "bool"),
    Key("ssc", "spies_simulate_connection", "bool"),
    Key("fc", "flow_control", "text"),
    Key("gtag", "group_tag", "number", *_I64),
    Key("cc", "congestion_control", "text"),
    Key("so-sndbuf", "socket_sndbuf", "size", 0, 2**31 - 1),
    Key("so-rcvbuf", "socket_rcvbuf", "size", 0, 2**31 - 1),
    Key("nak-delay", "nak_delay_s", "duration", 0, _DAY_S),
    Key("max-resend", "max_resend", "number", 1, 256),
    Key(
        "untethered-window-limit-timeout",
        "untethered_window_limit_timeout_s",
        "duration",
        0,
        _DAY_S,
    ),
    Key("untethered-linger-timeout", "untethered_linger_timeout_s", "duration", 0, _DAY_S),
    Key("untethered-resting-timeout", "untethered_resting_timeout_s", "duration", 0, _DAY_S),
    Key("channel-snd-ts-offset", "send_timestamp_offset", "offset", 0, 2**31 - 1),
    Key("channel-rcv-ts-offset", "receive_timestamp_offset", "offset", 0, 2**31 - 1),
    Key("media-rcv-ts-offset", "media_timestamp_offset", "offset", 0, 2**31 - 1),
    Key("response-correlation-id", "response_correlation_id", "response", -1, 2**63 - 1),
    Key("rs-name", "name", "text"),
    Key("rs-rate", "rate", "rate"),
    Key("rs-evict", "evict_s", "duration", 0.01, _DAY_S),
    Key("rs-budget", "budget_bytes", "size", 0, 2**63 - 1),
    Key("rs-fill-window", "fill_window", "bool"),
    Key("rs-key", "key", "text"),
    Key("rs-sources", "sources", "text"),
    Key("alias", "alias", "text"),
)

_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
_SIZE: Final = re.compile(r"([0-9]{1,18})([kKmMgG]?)")
_DURATION: Final = re.compile(r"([0-9]{1,18})(s|ms|us|ns)?", re.IGNORECASE)
_NS_PER: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1, "": 1}
_FACTOR: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def _refuse(uri: str, row: Key, text: str, must: str) -> ChannelError:
    return ChannelError(f"channel {uri!r}: {row.key}={text!r} must be {must}")


def value_of(uri: str, row: Key, text: str) -> Any:
    """The value of a parameter's text; :func:`check_value` looks at its limits.

    Raises:
        ChannelError: the text is not of the parameter's kind.
    """
    if row.kind == "size":
        match = _SIZE.fullmatch(text)
        if match is None:
            raise _refuse(uri, row, text, "a size such as 65536 or 64k")
        return int(match[1]) * _FACTOR[match[2].lower()]
    if row.kind == "duration":
        match = _DURATION.fullmatch(text)
        if match is None:
            raise _refuse(uri, row, text, "a duration such as 5s")
        return int(match[1]) * _NS_PER[(match[2] or "").lower()] / 1e9
    if row.kind == "bool" or (row.kind == "group" and text != "infer"):
        if text not in ("true", "false"):
            words = "true, false or infer" if row.kind == "group" else "true or false"
            raise _refuse(uri, row, text, words)
        return text == "true"
    if row.kind == "rate":
        try:
            return rate.from_text(text)
        except ConfigError as error:
            raise ChannelError(f"channel {uri!r}: {error}") from None
    if row.kind == "number" or (row.kind == "offset" and text != "reserved"):
        if _NUMBER.fullmatch(text) is None:
            raise _refuse(uri, row, text, "an integer")
        return int(text)
    if row.kind == "response" and text != "prototype":
        if _NUMBER.fullmatch(text) is None:
            raise _refuse(uri, row, text, "an integer or prototype")
        return int(text)
    return text


def text_of(row: Key, value: Any) -> str:
    """The reverse of :func:`value_of`."""
    if row.kind == "duration":
        return f"{round(value * 1e9)}ns"
    if row.kind == "rate":
        return value.to_text()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_WORDS: Final = {"group": ("infer",), "offset": ("reserved",), "response": ("prototype",)}


def check_value(row: Key, value: Any) -> None:
    """Refuse a value of a wrong type or outside its limits; texts are checked elsewhere."""
    words = _WORDS.get(row.kind, ())
    if row.kind == "text" or value in words:
        return
    if row.kind in ("bool", "group"):
        if not isinstance(value, bool):
            raise ChannelError(f"{row.field}={value!r}: must be True or False")
        return
    if row.kind == "rate":
        if not isinstance(value, rate.RateLimit):
            raise ChannelError(f"{row.field}={value!r}: must be a law of rstream.rate")
        return
    is_number = isinstance(value, int | float if row.kind == "duration" else int)
    if not is_number or isinstance(value, bool):
        must = " or ".join(("a number", *map(repr, words)))
        raise ChannelError(f"{row.field}={value!r}: must be {must}")
    if not row.least <= value <= row.most:
        if (row.least, row.most) == _I32:
            raise ChannelError(f"{row.field}={value}: must fit 32 bits with sign")
        unit = " seconds" if row.kind == "duration" else ""
        raise ChannelError(f"{row.field}={value}: must be {row.least} to {row.most}{unit}")
