"""Where requests and answers go: the streams and channels that follow from a name and a channel.

caller -> server    stream "NAME#ask" on the server's channel
server -> caller    stream "NAME#answer" with a random stream id of the caller alone
                    (decision 74); over UDP to a port of the caller
server              holds stream "NAME#server" with one session id, so no other one can start
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rstream._addresses import bracketed, is_multicast, split_endpoint
from rstream._channel_uri import ChannelUri
from rstream.errors import ConfigError
from rstream.stream._internal import check_name, uri_keys

if TYPE_CHECKING:
    from rstream.channel import Channel

#: Bytes of a name that its three streams add.
SUFFIX_BYTES = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePlace:
    """The address of a service.

    Attributes:
        name: as the user gave it.
        channel: URI of the channel on which the server is asked.
    """

    name: str
    channel: str

    @property
    def is_udp(self) -> bool:
        return self.channel.startswith("aeron:udp")

    @property
    def ask_name(self) -> str:
        return f"{self.name}#ask"

    @property
    def answer_name(self) -> str:
        return f"{self.name}#answer"

    @property
    def lock_name(self) -> str:
        return f"{self.name}#server"

    @property
    def lock_channel(self) -> str:
        """Only one publication of a stream may have a session id: the driver keeps watch."""
        session_id = zlib.crc32(self.channel.encode()) & 0x7FFF_FFFF
        return f"aeron:ipc?session-id={session_id}|term-length=64k"

    def answer_channel(self, host: str, port: int) -> str:
        """The channel of the answers to a caller; with port 0 over UDP the one it listens on."""
        if not self.is_udp:
            return str(ChannelUri.parse(self.channel).with_defaults({}))
        keys = {"term-length": ANSWER_TERM, **uri_keys(self.channel)}
        kept = "".join(f"|{key}={keys[key]}" for key in _KEPT if key in keys)
        return f"aeron:udp?endpoint={bracketed(host)}:{port}{kept}"


#: Terms of the answers to one caller over UDP, unless the service's channel says another length: a
#: host may open many, and each takes memory at once.
ANSWER_TERM = "256k"
#: What the answers have in common with the questions.
_KEPT = ("term-length", "mtu", "rs-key")


def place_of(name: str, channel: Channel | str | None) -> ServicePlace:
    """The address of a service. A server may also listen on a socket that is open, by its tag.

    Raises:
        ConfigError: the name or the channel cannot be used for requests.
    """
    check_name(name)
    if len(name.encode()) > 200 - SUFFIX_BYTES:
        raise ConfigError(f"service name {name[:40]!r}: give 1 to {200 - SUFFIX_BYTES} bytes")
    uri = ChannelUri.parse("aeron:ipc" if channel is None else str(channel))
    if uri.is_spy or uri.media not in ("ipc", "udp"):
        raise ConfigError(f"channel {uri}: a server is asked in shared memory or over UDP")
    if uri.get("control") or uri.get("control-mode"):
        raise ConfigError(f"channel {uri}: a server has one address; leave out control=")
    if uri.media == "udp" and (uri.get("endpoint") or not uri.get("tags")):
        host, _ = split_endpoint(uri.get("endpoint") or "")
        if is_multicast(host):
            raise ConfigError(
                f"channel {uri}: a group has many readers, and a request has one server",
                hint="give the server's own address",
            )
    return ServicePlace(name=name, channel=str(uri))
