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
from typing import Any, Final, Literal

from rstream.errors import ChannelError

__all__ = ("Channel",)

_TERM_MIN: Final = 64 * 1024
_TERM_MAX: Final = 1 << 30
_MTU_MIN: Final = 64
_MTU_MAX: Final = 65504
_URI_MAX: Final = 4095

_SIZE = re.compile(r"(\d{1,18})([kKmMgG]?)")
_DURATION = re.compile(r"(\d{1,18})(s|ms|us|ns)?", re.IGNORECASE)
_PORT = re.compile(r".*:(\d{1,5})")
_NS_PER: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1, "": 1}
_FACTOR: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


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
        alias: a label for people.
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
    alias: str | None = None
    extra: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        self._check_address()
        self._check_sizes()
        if self.session_id is not None and not -(2**31) <= self.session_id < 2**31:
            raise ChannelError(f"session_id={self.session_id}: must fit 32 bits with sign")
        if self.linger_s is not None and not 0 <= self.linger_s <= 3600:
            raise ChannelError(f"linger_s={self.linger_s}: must be 0 to 3600 seconds")
        texts = [
            ("endpoint", self.endpoint),
            ("interface", self.interface),
            ("control", self.control),
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
        has_tags = any(key == "tags" for key, _ in self.extra)
        is_later = has_tags or self.control_mode in ("manual", "response")
        if self.endpoint is None and self.control is None and not is_later:
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

    def _check_sizes(self) -> None:
        mtu, term = self.mtu, self.term_length
        if mtu is not None and (not _MTU_MIN <= mtu <= _MTU_MAX or mtu % 32):
            raise ChannelError(f"mtu={mtu}: must be {_MTU_MIN} to {_MTU_MAX} and a multiple of 32")
        if term is not None and (not _TERM_MIN <= term <= _TERM_MAX or term & (term - 1)):
            raise ChannelError(
                f"term_length={term}: must be a power of two, {_TERM_MIN} to {_TERM_MAX}"
            )
        window = self.publication_window
        if window is not None and not (mtu or _MTU_MIN) <= window <= (term or _TERM_MAX) // 2:
            raise ChannelError(
                f"publication_window={window}: must be at least the mtu, at most half a term"
            )
        if self.receiver_window is not None and not 256 <= self.receiver_window <= _TERM_MAX:
            raise ChannelError(
                f"receiver_window={self.receiver_window}: must be 256 to {_TERM_MAX}"
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
            alias=alias,
        )

    @classmethod
    def parse(cls, uri: str) -> Channel:
        """The value of an Aeron URI; keys that are not ours are kept in ``extra``."""
        return cls(**_parse(uri))

    @classmethod
    def of(cls, channel: str | Channel) -> Channel:
        """The channel itself, or the parsed URI."""
        return channel if isinstance(channel, Channel) else cls.parse(channel)

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
        parts: list[str] = []
        for key, field in _KEYS.items():
            value = getattr(self, field)
            if value is None:
                continue
            if field == "linger_s":
                value = f"{round(value * 1e9)}ns"
            elif isinstance(value, bool):
                value = "true" if value else "false"
            parts.append(f"{key}={value}")
        parts += [f"{key}={value}" for key, value in self.extra]
        head = f"aeron:{self.media}"
        return f"{head}?{'|'.join(parts)}" if parts else head


#: URI key to field, in the order in which they are written.
_KEYS: Final[dict[str, str]] = {
    "endpoint": "endpoint",
    "interface": "interface",
    "control": "control",
    "control-mode": "control_mode",
    "session-id": "session_id",
    "mtu": "mtu",
    "term-length": "term_length",
    "pub-wnd": "publication_window",
    "rcv-wnd": "receiver_window",
    "linger": "linger_s",
    "reliable": "reliable",
    "sparse": "sparse",
    "rs-name": "name",
    "alias": "alias",
}
_SIZES: Final = frozenset({"mtu", "term_length", "publication_window", "receiver_window"})
_BOOLS: Final = frozenset({"reliable", "sparse"})


def _parse(uri: str) -> dict[str, Any]:
    if not uri.startswith("aeron:"):
        raise ChannelError(
            f"channel {uri!r}: must begin with 'aeron:udp?' or 'aeron:ipc', for example "
            "'aeron:udp?endpoint=localhost:40123'"
        )
    media, question, query = uri[len("aeron:") :].partition("?")
    if media not in ("ipc", "udp"):
        raise ChannelError(f"channel {uri!r}: media {media!r} must be 'ipc' or 'udp'")
    if media == "udp" and not question:
        raise ChannelError(f"channel {uri!r}: '?' with parameters must follow 'aeron:udp'")
    fields: dict[str, Any] = {"media": media}
    extra: list[tuple[str, str]] = []
    for part in query.split("|") if query else ():
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise ChannelError(f"channel {uri!r}: parameter {part!r} must be key=value")
        field = _KEYS.get(key)
        if field is None and key.startswith("rs-"):
            raise ChannelError(f"channel {uri!r}: unknown key {key!r} of rstream")
        if field is None or (field == "session_id" and value.startswith("tag:")):
            extra.append((key, value))
        else:
            fields[field] = _value(uri, key, field, value)
    if extra:
        fields["extra"] = tuple(extra)
    return fields


def _value(uri: str, key: str, field: str, text: str) -> Any:
    if field in _SIZES:
        match = _SIZE.fullmatch(text)
        if match is None:
            raise ChannelError(
                f"channel {uri!r}: {key}={text!r} must be a size such as 65536 or 64k"
            )
        return int(match[1]) * _FACTOR[match[2].lower()]
    if field == "linger_s":
        match = _DURATION.fullmatch(text)
        if match is None:
            raise ChannelError(f"channel {uri!r}: {key}={text!r} must be a duration such as 5s")
        return int(match[1]) * _NS_PER[(match[2] or "").lower()] / 1e9
    if field in _BOOLS:
        if text not in ("true", "false"):
            raise ChannelError(f"channel {uri!r}: {key}={text!r} must be true or false")
        return text == "true"
    if field == "session_id":
        try:
            return int(text)
        except ValueError:
            raise ChannelError(f"channel {uri!r}: {key}={text!r} must be an integer") from None
    return text
