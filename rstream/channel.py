"""Channels: where a stream flows, as a value and as an Aeron URI.

    Channel.ipc()                                        # shared memory of this host
    Channel.udp("10.0.0.7:40123", mtu=8192)              # the endpoint is the *reader's* address
    Channel.parse("aeron:udp?endpoint=localhost:40123|term-length=1m")

What can be judged without asking the operating system is judged here, so that an error names the setting
before anything is opened. Source of keys and limits: docs/wire.md, channel URIs.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rstream._channel_keys import KEYS, Key, check_value, text_of, value_of
from rstream._channel_uri import ChannelUri
from rstream.errors import ChannelError

if TYPE_CHECKING:
    from rstream.rate import RateLimit

__all__ = ("Channel",)

_TERM_MAX: Final = 1 << 30
_MTU_MIN: Final = 64
_FRAME_ALIGNMENT: Final = 32
_URI_MAX: Final = 4095

_PORT = re.compile(r".*:(\d{1,5})")
_SESSION_TAG = re.compile(r"tag:(-?[0-9]{1,19})")
_TAGS = re.compile(r"(-?[0-9]{1,19})(?:,(-?[0-9]{1,19}))?")
_TAG_LIMITS: Final = (-(2**63) + 1, 2**63 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Address and settings of a stream's way. Frozen, hashable, picklable; ``str(channel)`` is its URI.

    Attributes:
        media: ``"ipc"`` (shared memory) or ``"udp"``.
        endpoint: UDP: ``host:port`` of the reader (port 0: any free one, see ``local_address``).
        interface: UDP: local interface, ``address[/prefix]``.
        control: UDP: ``host:port`` of a multi-destination control address.
        control_mode: UDP: ``"dynamic"``, ``"manual"`` or ``"response"``.
        session_id: publication: this session; subscription: only this one.
        mtu: largest datagram in bytes, 64 to 65504, a multiple of 32; None: the driver's (1408).
        term_length: bytes of a term, 64 KiB to 1 GiB, a power of two; None: the driver's. A stream
            takes three terms, and a message at most an eighth of one.
        publication_window: bytes a publisher may be ahead of its readers, ``mtu`` to half a term.
        receiver_window: bytes a reader lets a sender be ahead; None: the driver's (128 KiB).
        linger_s: how long a closed publication still answers retransmission requests.
        reliable: subscription: False fills gaps instead of asking again.
        sparse: log file without reserved pages.
        name: name of the stream (key ``rs-name``), checked between rstream peers.
        rate: publication: how fast it may send, a law of :mod:`rstream.rate` (key ``rs-rate``);
            None: the driver's option ``rate``.
        alias: a label for people.
        spy: subscription: reads what a publication of this driver sends (``aeron-spy:``).
        ttl: multicast hops, 0 to 255; 0: the system's.
        session_tag: publication: the session, mtu and term length of the publication that has this
            entity tag (``session-id=tag:n``).
        stream_id: says to people and tools which stream is meant; drivers do not read it.
        initial_term_id, term_id, term_offset: publication: where the stream begins; all three or
            none; see :meth:`at_position`.
        eos: publication: False sends no end of stream.
        tether: subscription: False lets the stream go on when this reader is too slow.
        group: subscription: whether gaps are asked for as in a group; ``"infer"``: by the channel.
        rejoin: subscription: False does not come back to a stream that it was cut off from.
        spies_simulate_connection: publication: spies alone count as connected (``ssc``).
        flow_control: publication: ``"max"``, ``"min"``, ``"tagged,g:7"`` … (``fc``).
        group_tag: subscription: 64 bits told to tagged flow control (``gtag``).
        congestion_control: subscription: ``"static"``, ``"cubic"`` … (``cc``).
        channel_tag, entity_tag: name the socket, and the publication or subscription (``tags``).
        socket_sndbuf, socket_rcvbuf: bytes of the socket's buffers.
        nak_delay_s: subscription: how long a gap may stand before it is asked for.
        max_resend: publication: retransmissions at once to a group, 1 to 256.
        untethered_window_limit_timeout_s, untethered_linger_timeout_s,
            untethered_resting_timeout_s: subscription: how an untethered reader is cut off, and when
            it comes back.
        evict_s: subscription: a reader that holds the stream and stands still for so long, 0.01 s to a
            day, is let go for good (:class:`rstream.policy.Evict`, key ``rs-evict``).
        budget_bytes: subscription over UDP unicast: bytes of one stream that may be sent and not
            consumed yet; one message may go beyond it. 0: no limit (key ``rs-budget``).
        fill_window: subscription over UDP: True gives senders of Aeron's, which understand no fill NAKs,
            a smaller window while this reader is slower than they are (key ``rs-fill-window``).
        send_timestamp_offset, receive_timestamp_offset, media_timestamp_offset: where time stamps go
            into messages: a byte, or ``"reserved"``.
        response_correlation_id: publication: the image that it answers, or ``"prototype"``.
        extra: further Aeron keys as pairs, passed on as they are.
    """

    media: Literal["ipc", "udp"] = "ipc"
    endpoint: str | None = None
    interface: str | None = None
    control: str | None = None
    control_mode: Literal["dynamic", "manual", "response"] | None = None
    session_id: int | None = None
    mtu: int | None = None
    term_length: int | None = None
    publication_window: int | None = None
    receiver_window: int | None = None
    linger_s: float | None = None
    reliable: bool | None = None
    sparse: bool | None = None
    name: str | None = None
    rate: RateLimit | None = None
    alias: str | None = None
    spy: bool = False
    ttl: int | None = None
    session_tag: int | None = None
    stream_id: int | None = None
    initial_term_id: int | None = None
    term_id: int | None = None
    term_offset: int | None = None
    eos: bool | None = None
    tether: bool | None = None
    group: bool | Literal["infer"] | None = None
    rejoin: bool | None = None
    spies_simulate_connection: bool | None = None
    flow_control: str | None = None
    group_tag: int | None = None
    congestion_control: str | None = None
    channel_tag: int | None = None
    entity_tag: int | None = None
    socket_sndbuf: int | None = None
    socket_rcvbuf: int | None = None
    nak_delay_s: float | None = None
    max_resend: int | None = None
    untethered_window_limit_timeout_s: float | None = None
    untethered_linger_timeout_s: float | None = None
    untethered_resting_timeout_s: float | None = None
    evict_s: float | None = None
    budget_bytes: int | None = None
    fill_window: bool | None = None
    send_timestamp_offset: int | Literal["reserved"] | None = None
    receive_timestamp_offset: int | Literal["reserved"] | None = None
    media_timestamp_offset: int | Literal["reserved"] | None = None
    response_correlation_id: int | Literal["prototype"] | None = None
    extra: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        self._check_address()
        for row in KEYS:
            value = getattr(self, row.field)
            if value is not None:
                check_value(row, value)
        self._check_sizes()
        self._check_tags()
        self._check_start()
        texts = [
            ("endpoint", self.endpoint),
            ("interface", self.interface),
            ("control", self.control),
            ("flow_control", self.flow_control),
            ("congestion_control", self.congestion_control),
            ("name", self.name),
            ("alias", self.alias),
            *self.extra,
        ]
        for key, text in texts:
            if text is not None and (text == "" or any(c in "|\0\n" for c in text)):
                raise ChannelError(
                    f"{key}={text!r}: must not be empty, nor contain '|' or a line end"
                )
            if not key or any(c in "=|\0\n" for c in key):
                raise ChannelError(f"key {key!r}: must not be empty, nor contain '=' or '|'")
        if len(str(self).encode()) > _URI_MAX:
            raise ChannelError(f"channel of more than {_URI_MAX} bytes")

    def _check_address(self) -> None:
        if self.media not in ("ipc", "udp"):
            raise ChannelError(f"media={self.media!r}: must be 'ipc' or 'udp'")
        if self.media == "ipc":
            for key in ("endpoint", "interface", "control", "control_mode"):
                if getattr(self, key) is not None:
                    raise ChannelError(f"{key}={getattr(self, key)!r}: an IPC channel has none")
            return
        is_found_otherwise = self.channel_tag is not None or self.control_mode in (
            "manual",
            "response",
        )
        if self.endpoint is None and self.control is None and not is_found_otherwise:
            raise ChannelError(
                "UDP channel without endpoint or control: give Channel.udp('host:port'), the "
                "address where the *reader* listens"
            )
        for key, text in (("endpoint", self.endpoint), ("control", self.control)):
            if text is None:
                continue
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ChannelError(f"{key}={text!r}: must be a text, 'host:port'")
            match = _PORT.fullmatch(text)
            if match is None or int(match[1]) > 65535:
                raise ChannelError(f"{key}={text!r}: must be 'host:port' with a port up to 65535")
        if self.control_mode not in (None, "dynamic", "manual", "response"):
            raise ChannelError(
                f"control_mode={self.control_mode!r}: must be dynamic, manual or response"
            )
        if self.control_mode == "dynamic" and self.control is None:
            raise ChannelError("control_mode='dynamic': needs control='host:port'")

    def _check_tags(self) -> None:
        for field in ("channel_tag", "entity_tag", "session_tag"):
            tag = getattr(self, field)
            if tag is not None and not (
                isinstance(tag, int) and _TAG_LIMITS[0] <= tag <= _TAG_LIMITS[1]
            ):
                raise ChannelError(f"{field}={tag!r}: must be a number that fits 64 bits with sign")
        if self.entity_tag is not None and self.channel_tag is None:
            raise ChannelError(f"entity_tag={self.entity_tag}: needs channel_tag")
        if self.session_tag is not None and self.session_id is not None:
            raise ChannelError(
                f"session_tag={self.session_tag}: cannot go with session_id={self.session_id}"
            )

    def _check_start(self) -> None:
        start = (self.initial_term_id, self.term_id, self.term_offset)
        if start == (None, None, None):
            return
        if self.initial_term_id is None or self.term_id is None or self.term_offset is None:
            raise ChannelError("initial_term_id, term_id and term_offset go together")
        if self.term_offset % _FRAME_ALIGNMENT or self.term_offset > (
            self.term_length or _TERM_MAX
        ):
            raise ChannelError(
                f"term_offset={self.term_offset}: must be a multiple of {_FRAME_ALIGNMENT}, at most "
                "the term length"
            )
        if (self.term_id - self.initial_term_id) % (1 << 32) >= 1 << 31:
            raise ChannelError(
                f"term_id={self.term_id}: must be less than 2**31 terms behind "
                f"initial_term_id={self.initial_term_id}"
            )

    def _check_sizes(self) -> None:
        mtu, term = self.mtu, self.term_length
        if mtu is not None and mtu % _FRAME_ALIGNMENT:
            raise ChannelError(f"mtu={mtu}: must be a multiple of {_FRAME_ALIGNMENT}")
        if term is not None and term & (term - 1):
            raise ChannelError(f"term_length={term}: must be a power of two")
        window = self.publication_window
        if window is not None and not (mtu or _MTU_MIN) <= window <= (term or _TERM_MAX) // 2:
            raise ChannelError(
                f"publication_window={window}: must be at least the mtu, at most half a term"
            )

    @classmethod
    def ipc(
        cls,
        *,
        name: str | None = None,
        session_id: int | None = None,
        mtu: int | None = None,
        term_length: int | None = None,
        publication_window: int | None = None,
        rate: RateLimit | None = None,
        alias: str | None = None,
    ) -> Channel:
        """Shared memory, between processes that use one driver directory."""
        return cls(
            media="ipc",
            name=name,
            session_id=session_id,
            mtu=mtu,
            term_length=term_length,
            publication_window=publication_window,
            rate=rate,
            alias=alias,
        )

    @classmethod
    def udp(
        cls,
        endpoint: str | None = None,
        *,
        interface: str | None = None,
        control: str | None = None,
        control_mode: Literal["dynamic", "manual", "response"] | None = None,
        name: str | None = None,
        session_id: int | None = None,
        mtu: int | None = None,
        term_length: int | None = None,
        publication_window: int | None = None,
        receiver_window: int | None = None,
        linger_s: float | None = None,
        reliable: bool | None = None,
        rate: RateLimit | None = None,
        alias: str | None = None,
    ) -> Channel:
        """UDP; ``endpoint`` is the address where the *reader* listens, ``"host:port"``."""
        return cls(
            media="udp",
            endpoint=endpoint,
            interface=interface,
            control=control,
            control_mode=control_mode,
            name=name,
            session_id=session_id,
            mtu=mtu,
            term_length=term_length,
            publication_window=publication_window,
            receiver_window=receiver_window,
            linger_s=linger_s,
            reliable=reliable,
            rate=rate,
            alias=alias,
        )

    @classmethod
    def parse(cls, uri: str) -> Channel:
        """The value of an Aeron URI; keys that are not ours are kept in ``extra``."""
        return cls(**_fields(uri))

    @classmethod
    def of(cls, channel: str | Channel) -> Channel:
        """The channel itself, or the parsed URI."""
        return channel if isinstance(channel, Channel) else cls.parse(channel)

    def at_position(self, position: int, *, initial_term_id: int) -> Channel:
        """A copy for a publication that begins at a position of a stream.

        Args:
            position: in bytes of the stream, a multiple of 32; ``term_length`` must be set.
            initial_term_id: term id at position 0, 32 bits with sign.
        """
        if self.term_length is None:
            raise ChannelError("at_position: needs term_length")
        if position < 0 or position % _FRAME_ALIGNMENT or position > self.term_length << 31:
            raise ChannelError(
                f"position={position}: must be a multiple of {_FRAME_ALIGNMENT}, 0 to 2**31 terms"
            )
        terms, offset = divmod(position, self.term_length)
        return self.replace(
            initial_term_id=initial_term_id,
            term_id=(initial_term_id + terms + 2**31) % 2**32 - 2**31,
            term_offset=offset,
        )

    @property
    def is_ipc(self) -> bool:
        return self.media == "ipc"

    @property
    def uri(self) -> str:
        """The Aeron URI."""
        return str(self)

    def replace(self, **changes: Any) -> Channel:
        """A copy with other values for some fields."""
        return dataclasses.replace(self, **changes)

    def __str__(self) -> str:
        parts: list[tuple[str, str]] = []
        for row in KEYS:
            value = getattr(self, row.field)
            if row.field == "session_id" and self.session_tag is not None:
                parts.append((row.key, f"tag:{self.session_tag}"))
            elif value is not None:
                parts.append((row.key, text_of(row, value)))
        if self.channel_tag is not None:
            second = "" if self.entity_tag is None else f",{self.entity_tag}"
            parts.append(("tags", f"{self.channel_tag}{second}"))
        parts += self.extra
        return str(ChannelUri(is_spy=self.spy, media=self.media, parameters=tuple(parts)))


_ROWS: Final[dict[str, Key]] = {row.key: row for row in KEYS}


def _fields(text: str) -> dict[str, Any]:
    """The fields of :class:`Channel` that a URI sets."""
    uri = ChannelUri.parse(text)
    fields: dict[str, Any] = {"media": uri.media, "spy": uri.is_spy}
    extra: list[tuple[str, str]] = []
    seen: set[str] = set()
    for key, value in uri.parameters:
        if key in seen and (key in _ROWS or key == "tags"):
            raise ChannelError(f"channel {text!r}: {key}={value!r}: given twice")
        seen.add(key)
        _set_field(text, fields, extra, key, value)
    if extra:
        fields["extra"] = tuple(extra)
    return fields


def _set_field(
    uri: str, fields: dict[str, Any], extra: list[tuple[str, str]], key: str, value: str
) -> None:
    row = _ROWS.get(key)
    if key == "tags":
        match = _TAGS.fullmatch(value)
        if match is None:
            raise ChannelError(
                f"channel {uri!r}: tags={value!r} must be a number, or two with a comma between"
            )
        fields["channel_tag"] = int(match[1])
        if match[2] is not None:
            fields["entity_tag"] = int(match[2])
    elif key == "session-id" and (match := _SESSION_TAG.fullmatch(value)) is not None:
        fields["session_tag"] = int(match[1])
    elif row is not None:
        fields[row.field] = value_of(uri, row, value)
    elif key.startswith("rs-"):
        raise ChannelError(f"channel {uri!r}: unknown key {key!r} of rstream")
    else:
        extra.append((key, value))
