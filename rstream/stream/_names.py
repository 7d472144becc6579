"""Names of streams: the stream id, the channel and the header value that follow from a name."""

from __future__ import annotations

import secrets
import zlib
from typing import TYPE_CHECKING, Final

from rstream import _core
from rstream._channel_hints import warn_of_unknown_keys
from rstream._channel_uri import ChannelUri, name_of
from rstream._checks import check_stream_id, short
from rstream.errors import ConfigError
from rstream.keys import default_reference

if TYPE_CHECKING:
    from rstream.channel import Channel
    from rstream.rate import RateLimit

#: Kinds of a message, as the header says (docs/reference/wire.md).
KIND_PLAIN: Final = 0
KIND_BATCH: Final = 1
KIND_PART: Final = 2
KIND_COMPLETE: Final = 3
KIND_ERROR: Final = 4
KIND_SCHEMA: Final = 5
KIND_BLOCK: Final = 7  # 6 is a segment, which the core takes out
FLAGS_KNOWN: Final = 1

NAME_BYTES_MAX: Final = 200
_FORBIDDEN: Final = frozenset("|=?")


def check_name(name: str) -> str:
    """Return the name if it can stand in a channel.

    Raises:
        ConfigError: a channel, empty, longer than 200 bytes, or with ``|``, ``=``, ``?`` or a
            control character.
    """
    uri = str(name)
    if uri.startswith(("aeron:", "aeron-spy:")):
        raise ConfigError(
            f"stream name {uri!r} is a channel",
            hint=f"give the name of the stream first, and channel={uri!r} beside it",
        )
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise _no_name(name)
    if not name or len(name.encode()) > NAME_BYTES_MAX:
        raise ConfigError(f"stream name {name[:40]!r}: give 1 to {NAME_BYTES_MAX} bytes")
    bad = [char for char in name if char in _FORBIDDEN or not char.isprintable()]
    if bad:
        raise ConfigError(
            f"stream name {name!r}: {bad[0]!r} cannot stand in a name, because the name goes into "
            "the channel's URI; leave out '|', '=', '?' and control characters"
        )
    return name


def _no_name(name: object) -> ConfigError:
    return ConfigError(
        f"stream name {short(name)}: give a text, or a stream id as an int",
        hint=f"did you mean type={name.__name__}?" if isinstance(name, type) else "",
    )


def stream_id_of(name: str) -> int:
    """The stream id of a name, 1 to 2**31 - 1; the same in all processes and releases.

    Two names may have one id. The reader tells them apart by the 16-bit hash in each message's
    header, which another hash function makes.
    """
    return (zlib.crc32(check_name(name).encode()) & 0x7FFF_FFFF) or 1


def new_stream_id() -> int:
    """A random stream id below 0, where no id made from a name lies: the address of one reader.

    Of a thousand readers on one host two have the same with a probability of 0.02 %; those of
    different names are then refused by the driver.
    """
    return -1 - secrets.randbelow(1 << 31)


def resolve_address(
    name_or_id: str | int,
    channel: Channel | str | None,
    stream_id: int | None,
) -> tuple[str, str, int]:
    """Name ("": none), channel URI and stream id for the arguments of a publisher or subscriber.

    Raises:
        ConfigError: they contradict each other, or the name cannot be used.
    """
    _refuse_reserved(channel)
    if stream_id is not None:
        check_stream_id(stream_id)
    if isinstance(name_or_id, bool):
        raise _no_name(name_or_id)
    channel = _with_default_key(channel)
    if isinstance(name_or_id, int):
        check_stream_id(name_or_id)
        if stream_id is not None and stream_id != name_or_id:
            raise ConfigError(f"stream id {name_or_id} and stream_id={stream_id}: give one of them")
        return "", "aeron:ipc" if channel is None else str(channel), name_or_id
    name = check_name(name_or_id)
    uri = named_channel(name, channel)
    return name, uri, stream_id_of(name) if stream_id is None else stream_id


def _with_default_key(channel: Channel | str | None) -> Channel | str | None:
    """The channel with the key of ``$RSTREAM_KEY_FILE``, if it opens a socket and names no key."""
    if channel is None:
        return None
    uri = ChannelUri.parse(str(channel))
    opens = any(uri.get(key) is not None for key in ("endpoint", "control", "control-mode"))
    if uri.media != "udp" or uri.is_spy or not opens or uri.get("rs-key") is not None:
        return channel
    key = default_reference()
    return channel if key is None else str(uri.with_value("rs-key", key))


def _refuse_reserved(channel: Channel | str | None) -> None:
    """Typed streams have their header in the reserved value; a time stamp would overwrite it."""
    if channel is None:
        return
    for key, value in ChannelUri.parse(str(channel)).parameters:
        if key.endswith("-ts-offset") and value == "reserved":
            raise ConfigError(
                f"channel {channel}: {key}=reserved would overwrite the header that this stream "
                "has in the reserved value; give a byte of the message, or use a raw publication "
                "and subscription of rstream.client"
            )
    warn_of_unknown_keys(str(channel))


def named_channel(name: str, channel: Channel | str | None) -> str:
    """The channel with the defaults of a named stream: ``rs-name``, and terms of 1 MiB in shared
    memory. Over UDP the driver chooses them.
    """
    uri = ChannelUri.parse("aeron:ipc" if channel is None else str(channel))
    given = uri.get("rs-name")
    if given not in (None, name):
        raise ConfigError(f"stream {name!r}: its channel {uri} carries rs-name={given}")
    if uri.media == "ipc":
        uri = uri.with_defaults({"term-length": "1m"})
    return str(uri.with_defaults({"rs-name": name}))


def uri_keys(uri: str) -> dict[str, str]:
    """Keys and values of a channel URI."""
    return dict(ChannelUri.parse(uri).parameters)


def counts_readers(uri: str) -> bool:
    """Whether the readers of a publication on this channel can be counted."""
    channel = ChannelUri.parse(uri)
    flow_control = (channel.get("fc") or "").partition(",")[0]
    return channel.media == "ipc" or flow_control in ("min", "tagged")


def with_rate(uri: str, limit: RateLimit | None) -> str:
    """The channel with ``rs-rate`` set to the law; unchanged without one."""
    if limit is None:
        return uri
    if not hasattr(limit, "to_text"):
        raise ConfigError(
            f"rate={limit!r} is no law of rate",
            hint='use one of rstream.rate, such as rate.Fixed("200MB/s")',
        )
    return str(ChannelUri.parse(uri).with_value("rs-rate", limit.to_text()))


def with_default_rate(uri: str) -> str:
    """The channel with ``rs-rate=default`` unless it names a law: a stream's readers slow its
    publisher down by the driver's law, while a raw publication has none.
    """
    parsed = ChannelUri.parse(uri)
    return (
        uri if parsed.get("rs-rate") is not None else str(parsed.with_value("rs-rate", "default"))
    )


def with_endpoint(uri: str, address: str) -> str:
    """The channel with another endpoint: a reader that was bound to port 0 joins again with its
    real port.
    """
    return str(ChannelUri.parse(uri).with_value("endpoint", address))


def header_of(kind: int, codec_id: int, name: str) -> int:
    """The reserved value of a message."""
    return _core.encode_header(kind, 0, codec_id, 0, _core.name_hash(name) if name else 0)


def known_name(directory: str, session_id: int, stream_id: int, name_hash: int) -> str | None:
    """The stream name with this hash in the counter labels of a session; None: not known.

    It is for error texts.
    """
    marker = f" {session_id} {stream_id} "
    for counter in _core.read_counters(directory):
        name = name_of(counter.label) if marker in counter.label else None
        if name is not None and _core.name_hash(name) == name_hash:
            return name
    return None
