"""What publishers and readers of shared work tell each other.

Three streams of one name, with three stream ids:

    hello     publishers -> readers   in shared memory only, and no message on it: a publisher that
                                      comes is an event, and readers report to it at once
    reports   readers -> publishers   a :class:`ReaderReport` says where a reader is, what it did
    lane      publisher -> reader     one for each pair: a random stream id below 0, as a handle has
                                      (docs/explanation/decisions/0074-a-handle-is-one-reader.md)

Reports are the whole state of their reader, so a lost one is made good by the next. A state that is
longer than a report goes in several; all but the last one are partial. A message on a lane begins
with a head: the lane, its number on the lane from 1 on, and how often it was sent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

from rstream._addresses import is_multicast, split_endpoint
from rstream._channel_uri import ChannelUri
from rstream._checks import is_whole
from rstream._neighbours import work_stream_id
from rstream.errors import ChannelError, ConfigError, NotSupported
from rstream.stream._internal import check_name

#: Both sides refuse reports of another version.
VERSION: Final = 1
#: Lane, number, deliveries.
HEAD: Final = struct.Struct("<QQI")
#: Most messages that one reader takes ahead of what it has acknowledged.
PREFETCH_MAX: Final = 65_536
#: Longest report in bytes. A publisher skips longer ones: decoded, they take ten times as much.
REPORT_BYTES_MAX: Final = 1 << 16
#: Most numbers of messages in one report, of 9 bytes at most: it goes in one piece (REPORT_TERM).
REPORT_NUMBERS_MAX: Final = 2048
#: Terms of the streams of reports: 256 KiB, so a window of some hundred reports.
REPORT_TERM: Final = 1 << 18


@dataclass(slots=True)
class LaneReport:
    """What a reader has done with the messages of one lane.

    Attributes:
        lane: which lane.
        last: the number of the last message that has come; when the reader leaves, of the last one
            that somebody has seen.
        upto: it is done with all messages up to this number.
        beyond: and with these.
        returned: of those it is done with: it gave these back, not worked on. The last ones.
        held: how many it has and is not done with.
    """

    lane: int
    last: int
    upto: int
    beyond: list[int] = field(default_factory=list[int])
    returned: list[int] = field(default_factory=list[int])
    held: int = 0


@dataclass(slots=True)
class ReaderReport:
    """The state of one reader.

    Attributes:
        version: of this message.
        reader: a random number.
        session: the session id of the publication that carries the report.
        stream_id: of its lanes.
        endpoint: ``host:port`` of its lanes; empty: shared memory.
        prefetch: most messages that it wants ahead.
        codec_id: of its codec.
        is_leaving: it takes no more.
        is_partial: more of the same state follows.
        lanes: what it has done.
        pid: of its process, on its host; 0: it did not say.
        why: the error with which it leaves; empty: it said none.
    """

    version: int
    reader: int
    session: int
    stream_id: int
    endpoint: str
    prefetch: int
    codec_id: int
    is_leaving: bool
    lanes: list[LaneReport]
    pid: int = 0
    is_partial: bool = False
    why: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether it can be used: what another program sends is not trusted."""
        return (
            self.version == VERSION
            and 1 <= self.prefetch <= PREFETCH_MAX
            and -(2**31) <= self.stream_id < 0
        )

    @property
    def title(self) -> str:
        """The reader, for people."""
        who = f"reader pid {self.pid}" if self.pid else "reader"
        return f"{who} at {self.endpoint}" if self.endpoint else who


def hello_id(name: str) -> int:
    """The stream id on which publishers show themselves."""
    return work_stream_id("hello", name)


def reports_id(name: str) -> int:
    """The stream id of the reports."""
    return work_stream_id("reports", name)


def check_address(name: object, channel: object) -> tuple[str, str]:
    """The name, and the URI of the channel for reports.

    Raises:
        ConfigError: no name. ChannelError, NotSupported: the channel cannot be used.
    """
    if not isinstance(name, str):
        raise ConfigError(f"name={name!r}: shared work has a name, no stream id")
    uri = ChannelUri.parse("aeron:ipc" if channel is None else str(channel))
    if uri.is_spy or uri.media not in ("ipc", "udp"):
        raise ChannelError(f"channel {uri}: shared work needs shared memory or UDP")
    endpoint = uri.get("endpoint") or ""
    if uri.media == "udp" and not endpoint:
        raise ChannelError(
            f"channel {uri}: it has no endpoint",
            hint="give the address where the publisher listens for readers: "
            'rstream.Channel.udp("10.0.0.7:40200") on both sides',
        )
    if uri.media == "udp" and is_multicast(split_endpoint(endpoint)[0]):
        raise NotSupported(
            f"channel {uri}: shared work is no multicast",
            hint="give each publisher an address of its own, and the readers all of them",
        )
    return check_name(name), str(uri)


def check_count(name: str, value: object, most: int) -> None:
    """Refuse what is no whole number from 1 to ``most``.

    Raises:
        ConfigError: says what it must be.
    """
    if not is_whole(value) or not 1 <= value <= most:  # pyright: ignore[reportOperatorIssue]
        raise ConfigError(f"{name}={value!r}: must be a whole number, 1 to {most}")
