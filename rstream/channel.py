"""Channels: address and settings of a stream, as a value and as an Aeron URI.

    Channel.ipc()                                        # shared memory of this host
    Channel.udp("10.0.0.7:40123", mtu=8192)              # the endpoint is the *reader's* address
    Channel.parse("aeron:udp?endpoint=localhost:40123|term-length=1m")

A channel is checked when it is made, as far as that is possible without asking the operating
system, so that an error names the setting before anything is opened. Source of keys and limits:
docs/reference/wire.md, channel URIs.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rstream._channel_checks import check
from rstream._channel_hints import hint_of_key
from rstream._channel_keys import KEYS, Key, text_of, value_of
from rstream._channel_uri import ChannelUri
from rstream.errors import ChannelError

if TYPE_CHECKING:
    from rstream.rate import RateLimit

__all__ = ("Channel",)

_FRAME_ALIGNMENT: Final = 32

_SESSION_TAG = re.compile(r"tag:(-?[0-9]{1,19})")
_TAGS = re.compile(r"(-?[0-9]{1,19})(?:,(-?[0-9]{1,19}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Address and settings of a stream; ``str(channel)`` is its URI.

    Channels are frozen, hashable and picklable.

    None leaves a setting to the driver. "Publication" and "subscription" mark the settings that
    only that side reads.

    Attributes:
        media: ``"ipc"`` (shared memory) or ``"udp"``.
        endpoint: UDP: ``host:port`` where the reader listens (port 0: any free one, see
            ``local_address``).
        interface: UDP: local interface, ``address[/prefix]``.
        control: UDP: ``host:port`` of a multi-destination control address.
        control_mode: UDP: ``"dynamic"``, ``"manual"`` or ``"response"``.
        session_id: publication: its session id; subscription: receive only this session.
        mtu: largest datagram in bytes, 64 to 65504, a multiple of 32; None: the driver's (1408).
        term_length: bytes of a term, 64 KiB to 1 GiB, a power of two; None: the driver's. A stream
            takes three terms, and a message at most an eighth of one.
        publication_window: bytes a publisher may be ahead of its readers, ``mtu`` to half a term.
        receiver_window: bytes a reader lets a sender be ahead; None: the driver's (128 KiB).
        linger_s: how long a closed publication still answers retransmission requests.
        reliable: subscription: False fills gaps with padding and requests no retransmission.
        sparse: the log file reserves no pages.
        name: name of the stream (key ``rs-name``); rstream peers compare it.
        rate: publication: how fast it may send, a law of :mod:`rstream.rate` (key ``rs-rate``);
            None: the driver's option ``rate``.
        key: UDP: where the key is that seals the datagrams: ``"file:/PATH"``, or ``key.reference``
            of a :class:`rstream.keys.GroupKey`; ``"none"``: they are plain (key ``rs-key``).
        sources: subscription over UDP: addresses and networks whose datagrams it takes, such as
            ``"10.0.0.0/8,192.168.1.7"`` (key ``rs-sources``); None: those that the driver takes.
        alias: a label for people.
        spy: subscription: read what a publication of the same driver sends (``aeron-spy:``).
        ttl: multicast hops, 0 to 255; 0: the system's.
        session_tag: publication: the session, mtu and term length of the publication that has this
            entity tag (``session-id=tag:n``).
        stream_id: the stream, for people and tools; drivers do not read it.
        initial_term_id, term_id, term_offset: publication: where the stream begins; give all three
            or none; see :meth:`at_position`.
        eos: publication: False sends no end of stream.
        tether: subscription: False: the stream goes on when this reader is too slow.
        group: subscription: whether it delays NAKs as members of a group do; ``"infer"``: the
            channel decides.
        rejoin: subscription: False: do not join a stream again after it was cut off.
        spies_simulate_connection: publication: spies alone count as a connection (``ssc``).
        flow_control: publication: ``"max"``, ``"min"``, ``"tagged,g:7"`` … (``fc``).
        group_tag: subscription: 64 bits that tagged flow control compares (``gtag``).
        congestion_control: subscription: ``"static"``, ``"cubic"`` or ``"auto"``; publication:
            ``"path"`` (``cc``).
        channel_tag, entity_tag: name the socket, and the publication or subscription (``tags``).
        socket_sndbuf, socket_rcvbuf: bytes of the socket's buffers.
        nak_delay_s: subscription: how long a gap may exist before a NAK requests it.
        max_resend: publication: most retransmissions to a group at a time, 1 to 256.
        untethered_window_limit_timeout_s, untethered_linger_timeout_s,
            untethered_resting_timeout_s: subscription: when an untethered reader is cut off, and
            when it joins again.
        evict_s: subscription: evict this reader when it holds the stream back and stands still for
            this long, 0.01 s to a day (:class:`rstream.policy.Evict`, key ``rs-evict``).
        budget_bytes: subscription over UDP unicast: limit on the bytes of one stream that are sent
            and not yet consumed; one message may exceed it. 0: no limit (key ``rs-budget``).
        fill_window: subscription over UDP: True shrinks the window for Aeron's senders while this
            reader is slower than they are; they do not understand fill NAKs (key
            ``rs-fill-window``).
        send_timestamp_offset, receive_timestamp_offset, media_timestamp_offset: byte of the message
            where the driver writes 8 bytes of nanoseconds since 1970: when it sends, when it
            receives, when its kernel got it. ``"reserved"``: the reserved value, in raw streams.
        response_correlation_id: publication: the image that it responds to, or ``"prototype"``.
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
    key: str | None = None
    sources: str | None = None
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
        check(self)

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
        """A channel in shared memory, for processes that use one driver directory."""
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
        key: str | None = None,
        alias: str | None = None,
    ) -> Channel:
        """A UDP channel; ``endpoint`` is the ``"host:port"`` where the *reader* listens."""
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
            key=key,
            alias=alias,
        )

    @classmethod
    def parse(cls, uri: str) -> Channel:
        """The channel of an Aeron URI; keys that rstream does not know are kept in ``extra``.

        Raises:
            ChannelError: the URI is malformed, or a value is not allowed.
        """
        try:
            return cls(**_fields(uri))
        except ChannelError as error:
            error.hint = error.hint or hint_of_key(uri)
            raise

    @classmethod
    def of(cls, channel: str | Channel) -> Channel:
        """The channel itself, or the parsed URI."""
        return channel if isinstance(channel, Channel) else cls.parse(channel)

    def at_position(self, position: int, *, initial_term_id: int) -> Channel:
        """A copy for a publication that begins at a position.

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
        """Whether it is in shared memory."""
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
