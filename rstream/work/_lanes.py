"""Where a reader of shared work gets its messages: the lanes of all publishers are one stream."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from rstream import stream
from rstream._addresses import bound_port, bracketed, local_address_towards
from rstream._channel_uri import ChannelUri
from rstream.channel import Channel
from rstream.codecs import raw
from rstream.errors import ConfigError
from rstream.stream._internal import inner_reader, new_stream_id

if TYPE_CHECKING:
    from rstream.stream._internal import StreamReading
    from rstream.work._settings import TakingSettings

__all__ = ("open_lanes",)

#: Receiver window of the lanes on UDP, in bytes.
WINDOW_BYTES = 512 * 1024


def open_lanes(chosen: TakingSettings, title: str) -> tuple[StreamReading[bytes], str]:
    """Open the stream of all lanes.

    Args:
        chosen: the reader's settings.
        title: the reader, for people.
    Returns:
        Its reader, and ``host:port`` where publishers send to it; empty: shared memory.
    Raises:
        ConfigError: the host is not known. DriverError: as for a reader.
    """
    is_network = not chosen.uris[0].startswith("aeron:ipc")
    host = ""
    if is_network:  # publishers believe no name, and no address of somebody else
        host = _numeric(chosen.host) if chosen.host else _towards(chosen.uris[0])
    lanes: stream.Reader[bytes] = stream.reader(
        chosen.name,
        channels=[_channel(host, chosen.port)] if is_network else None,
        stream_id=new_stream_id(),
        codec=raw(),
        on_lost="event",
        on_gap="resume",
        dir=chosen.dir,
    )
    source = inner_reader(lanes, title)
    if not is_network:
        return source, ""
    try:
        return source, f"{host}:{bound_port(source.subscriptions)}"
    except BaseException:
        source.close()
        raise


def _channel(host: str, port: int) -> Channel:
    return Channel(
        media="udp",
        endpoint=f"{host}:{port}",
        receiver_window=WINDOW_BYTES,
        socket_rcvbuf=2 * WINDOW_BYTES,
    )


def _numeric(host: str) -> str:
    """The address of a host."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise ConfigError(f"host={host!r}: no address is known: {error}") from error
    return bracketed(str(found[0][4][0]))


def _towards(uri: str) -> str:
    """The local address from which datagrams to a channel's endpoint leave."""
    return bracketed(local_address_towards(ChannelUri.parse(uri).get("endpoint") or ""))
