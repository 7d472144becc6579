"""Forged frames and a socket to send them from, for all tests of this folder.

The layouts are those of docs/reference/aeron/wire.md, written by `struct` and not by our own
encoder, so that a test can also forge what our encoder refuses. All numbers are little-endian.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

PAD, DATA, NAK, SM, ERR, SETUP, RTTM, RES, RSP_SETUP = 0, 1, 2, 3, 4, 5, 6, 7, 0x0B
UNFRAGMENTED, EOS, REVOKED = 0xC0, 0x20, 0x10
SETUP_SEND_RESPONSE, SETUP_GROUP, SETUP_RSTREAM, SETUP_FILL = 0x80, 0x40, 0x01, 0x02
SM_SEND_SETUP, SM_EOS = 0x80, 0x40
RTTM_REPLY = 0x80
ITEM_TAG, ITEM_DEMAND, ITEM_BUDGET, ITEM_FILL = 1, 3, 4, 9
ITEM_ROUND_TRIP, ITEM_ARRIVAL_RATE, ITEM_NOOP, ITEM_TARGET_DELAY = 5, 6, 7, 8

Address = tuple[str, int]


def header(length: int, flags: int, kind: int) -> bytes:
    return struct.pack("<iBBh", length, 0, flags, kind)


def setup(
    session_id: int,
    stream_id: int,
    initial_term_id: int = 0,
    *,
    active_term_id: int | None = None,
    term_offset: int = 0,
    term_length: int = 65536,
    mtu: int = 1408,
    ttl: int = 0,
    flags: int = SETUP_RSTREAM,
) -> bytes:
    active = initial_term_id if active_term_id is None else active_term_id
    return header(40, flags, SETUP) + struct.pack(
        "<8i", term_offset, session_id, stream_id, initial_term_id, active, term_length, mtu, ttl
    )


def data(
    session_id: int,
    stream_id: int,
    term_id: int,
    term_offset: int,
    payload: bytes = b"",
    *,
    flags: int = UNFRAGMENTED,
    kind: int = DATA,
    reserved: int = 0,
) -> bytes:
    """A data frame with its padding to 32 bytes."""
    length = 32 + len(payload)
    frame = (
        header(length, flags, kind)
        + struct.pack("<4iq", term_offset, session_id, stream_id, term_id, reserved)
        + payload
    )
    return frame + bytes(-length % 32)


def heartbeat(
    session_id: int,
    stream_id: int,
    term_id: int,
    term_offset: int = 0,
    *,
    flags: int = UNFRAGMENTED,
    reserved: int = 0,
) -> bytes:
    return header(0, flags, DATA) + struct.pack(
        "<4iq", term_offset, session_id, stream_id, term_id, reserved
    )


def status(
    session_id: int,
    stream_id: int,
    term_id: int = 0,
    term_offset: int = 0,
    *,
    window: int = 32768,
    receiver_id: int = 1,
    flags: int = 0,
    tag: int | None = None,
    sm_items: bytes | None = None,
) -> bytes:
    """A status message. tag: the group tag. sm_items: what `items` returns, behind the tag."""
    tail = b"" if tag is None and sm_items is None else struct.pack("<q", tag or 0)
    tail += sm_items or b""
    return (
        header(36 + len(tail), flags, SM)
        + struct.pack("<5iq", session_id, stream_id, term_id, term_offset, window, receiver_id)
        + tail
    )


def items(*pairs: tuple[int, bytes], version: int = 1) -> bytes:
    """The tail of an additional status message: pairs of type and value."""
    body = b"".join(struct.pack("<BB", kind, len(value)) + value for kind, value in pairs)
    tail = struct.pack("<BBH", version, len(pairs), len(body)) + body
    return tail + bytes(max(0, 16 - len(tail)))


def nak(session_id: int, stream_id: int, term_id: int, term_offset: int, length: int) -> bytes:
    return header(28, 0, NAK) + struct.pack(
        "<5i", session_id, stream_id, term_id, term_offset, length
    )


def rttm(
    session_id: int,
    stream_id: int,
    *,
    echo: int = 0,
    delta: int = 0,
    receiver_id: int = 1,
    flags: int = 0,
) -> bytes:
    return header(40, flags, RTTM) + struct.pack(
        "<2i3q", session_id, stream_id, echo, delta, receiver_id
    )


def error(
    session_id: int,
    stream_id: int,
    text: str = "",
    *,
    code: int = 0,
    receiver_id: int = 1,
    tag: int | None = None,
) -> bytes:
    encoded = text.encode()
    return (
        header(40 + len(encoded), 0 if tag is None else 0x08, ERR)
        + struct.pack("<2i2q2i", session_id, stream_id, receiver_id, tag or 0, code, len(encoded))
        + encoded
    )


def response_setup(session_id: int, stream_id: int, response_session_id: int) -> bytes:
    return header(20, 0, RSP_SETUP) + struct.pack("<3i", session_id, stream_id, response_session_id)


@dataclass(frozen=True)
class Frame:
    """The header of a received frame, and the whole datagram."""

    kind: int
    flags: int
    length: int
    raw: bytes
    session_id: int
    stream_id: int

    @property
    def initial_term_id(self) -> int:
        """Of a SETUP."""
        return int(struct.unpack_from("<i", self.raw, 20)[0])

    @property
    def active_term_id(self) -> int:
        """Of a SETUP."""
        return int(struct.unpack_from("<i", self.raw, 24)[0])

    @property
    def term_offset(self) -> int:
        """Of a SETUP, a data frame or a heartbeat."""
        return int(struct.unpack_from("<i", self.raw, 8)[0])

    @property
    def term_id(self) -> int:
        """Of a data frame or a heartbeat."""
        return int(struct.unpack_from("<i", self.raw, 20)[0])

    @property
    def is_heartbeat(self) -> bool:
        return self.kind == DATA and len(self.raw) == 32


def parse(datagram: bytes) -> Frame:
    """The first frame of a datagram."""
    length, _, flags, kind = struct.unpack_from("<iBBh", datagram)
    place = 12 if kind in (SETUP, DATA, PAD) else 8
    session_id, stream_id = (
        struct.unpack_from("<2i", datagram, place) if len(datagram) >= place + 8 else (0, 0)
    )
    return Frame(kind, flags, length, datagram, session_id, stream_id)


@dataclass
class Host:
    """A UDP socket of the attacker. It counts what it sends and what comes back.

    dress: what becomes of each frame before it is sent, such as a seal. undress: what becomes of
    each datagram that comes; empty: it is not looked at.
    """

    ip: str = "127.0.0.1"
    port: int = 0
    dress: Callable[[bytes], bytes] = bytes
    undress: Callable[[bytes], bytes] = bytes
    sent_bytes: int = 0
    received_bytes: int = 0
    received: list[Frame] = field(default_factory=list)
    keep: int = 4096  # frames in `received`; further ones are only counted

    def __post_init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind((self.ip, self.port))
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def address(self) -> Address:
        return (self.ip, self.port)

    @property
    def gain(self) -> float:
        """Bytes received for each byte sent: the amplification that an attacker gets."""
        return self.received_bytes / max(1, self.sent_bytes)

    def send(self, frame: bytes, to: Address) -> None:
        """Sends one datagram. A full socket is waited for, an unreachable peer is ignored."""
        datagram = self.dress(frame)
        while True:
            try:
                self._socket.sendto(datagram, to)
            except BlockingIOError:
                select.select([], [self._socket], [], 1.0)
            except ConnectionRefusedError:
                continue  # an earlier datagram met a closed port; this one was not sent yet
            else:
                break
        self.sent_bytes += len(datagram)

    def send_all(self, frames: Iterable[bytes], to: Address) -> None:
        for frame in frames:
            self.send(frame, to)

    def drain(self) -> int:
        """Takes what has arrived; returns the number of datagrams."""
        count = 0
        while True:
            try:
                datagram = self._socket.recv(65536)
            except BlockingIOError:
                return count
            except ConnectionRefusedError:
                continue
            count += 1
            self.received_bytes += len(datagram)
            datagram = self.undress(datagram)
            if len(self.received) < self.keep and len(datagram) >= 8:
                self.received.append(parse(datagram))

    def listen(self, seconds: float) -> None:
        """Receives for this long. The passing of time is what is tested: an attack that goes on."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            select.select([self._socket], [], [], min(left, 0.05))
            self.drain()

    def wait_for(self, kind: int, timeout_s: float = 10.0) -> Frame:
        """The next frame of this kind that was received and not yet taken by this function."""
        end = time.monotonic() + timeout_s
        while True:
            self.drain()
            for index, frame in enumerate(self.received):
                if frame.kind == kind and not (kind == DATA and frame.is_heartbeat):
                    del self.received[index]
                    return frame
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no frame of type {kind} within {timeout_s} s")
            select.select([self._socket], [], [], min(left, 0.1))


@contextlib.contextmanager
def hosts(
    count: int, ip: str = "127.0.0.1", dress: Callable[[bytes], bytes] = bytes
) -> Iterator[list[Host]]:
    """Several sockets of the attacker."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Host(ip, dress=dress)) for _ in range(count)]
