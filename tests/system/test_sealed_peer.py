"""Sealed datagrams as others see them: a peer that another library seals for, and the path between.

The peer has the layout of decision 109 and the package ``cryptography`` (tests/sealed.py), and
nothing of rstream's own sealing. The one on the path has no key.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

import rstream
from rstream.client import Client, Subscription
from rstream.driver import Driver
from rstream.keys import GroupKey
from tests import sealed
from tests.hostile import frames
from tests.hostile.frames import EOS, RTTM, RTTM_REPLY, SETUP, SM, UNFRAGMENTED, Frame, Host
from tests.hostile.streams import STREAM, connect, read, read_count, send
from tests.relay import Relay
from tests.sealed import AES_128_GCM, CHACHA20_POLY1305, Sealer, open_datagram
from tests.support import free_port, until

TERM = 7
MESSAGES = [b"the %d. message" % number for number in range(20)]
#: Runs of plain bytes that must not be on the wire. A shorter one may come by chance.
RUN = 8


@pytest.fixture
def elsewhere(make_driver_dir: Callable[[], str]) -> Iterator[Client]:
    """A client of another driver."""
    with Driver(make_driver_dir()) as far, Client(far.dir, start_driver=False) as made:
        yield made


def echo_of(question: Frame) -> bytes:
    """What answers a challenge."""
    assert question.flags & RTTM_REPLY
    return question.raw[:5] + b"\0" + question.raw[6:]


class Peer(Host):
    """A socket that seals and opens with a key, and keeps what was on the wire."""

    def __init__(self, key: GroupKey, kind: int = AES_128_GCM, port: int = 0) -> None:
        self.opened: list[sealed.Opened] = []
        self.raw_sent: list[bytes] = []
        self.raw_received: list[bytes] = []
        self._key = key
        self.sealer = Sealer(key.secret, kind)
        super().__init__(port=port, dress=self._seal, undress=self._open)

    def __enter__(self) -> Peer:
        return self

    def _seal(self, frame: bytes) -> bytes:
        self.raw_sent.append(self.sealer.seal(frame))
        return self.raw_sent[-1]

    def _open(self, datagram: bytes) -> bytes:
        self.raw_received.append(datagram)
        opened = open_datagram(self._key.secret, datagram)
        self.opened.append(opened)
        return opened.frame


@contextlib.contextmanager
def keyed_reader(client: Client, key: GroupKey) -> Iterator[tuple[Subscription, frames.Address]]:
    port = free_port()
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|rs-key={key.reference}"
    with client.add_subscription(channel, STREAM) as subscription:
        yield subscription, ("127.0.0.1", port)


def publish(
    peer: Peer,
    to: frames.Address,
    *,
    session: int = 5,
    flags: int = 0,
    ends: bool = True,
    messages: list[bytes] = MESSAGES,
) -> int:
    """A session from its SETUP to its end, as the peer's own publisher; returns its length."""
    peer.send(frames.setup(session, STREAM, TERM, flags=flags), to)
    peer.send(echo_of(peer.wait_for(RTTM)), to)
    peer.send(frames.setup(session, STREAM, TERM, flags=flags), to)
    peer.wait_for(SM)
    at = send_data(peer, to, 0, messages, session=session)
    if ends:
        peer.send(frames.heartbeat(session, STREAM, TERM, at, flags=UNFRAGMENTED | EOS), to)
    return at


def send_data(
    peer: Peer, to: frames.Address, at: int, messages: list[bytes], *, session: int = 5
) -> int:
    """Messages from a term offset on; returns the one behind them."""
    for message in messages:
        frame = frames.data(session, STREAM, TERM, at, message)
        peer.send(frame, to)
        at += len(frame)
    return at


def recorded_session(
    client: Client, key: GroupKey, *, flags: int = 0, port: int = 0
) -> list[bytes]:
    """What was on the wire of a session that a reader took. port: the peer's."""
    with keyed_reader(client, key) as (reader, address), Peer(key, port=port) as peer:
        publish(peer, address, flags=flags)
        assert read_count(reader, len(MESSAGES)) == MESSAGES
        return list(peer.raw_sent)


# ---- the peer publishes ----


@pytest.mark.parametrize("kind", sealed.KINDS, ids=["AES-128-GCM", "ChaCha20-Poly1305"])
@pytest.mark.parametrize("flags", [0, frames.SETUP_RSTREAM], ids=["as Aeron's", "as rstream's"])
def test_a_reader_takes_what_the_peer_seals(
    driver: Driver, client: Client, key: GroupKey, kind: int, flags: int
) -> None:
    """The sender chooses the kind; the reader answers with its own."""
    with keyed_reader(client, key) as (reader, address), Peer(key, kind) as peer:
        publish(peer, address, flags=flags)
        assert read_count(reader, len(MESSAGES)) == MESSAGES
        peer.drain()
        assert {one.key_id for one in peer.opened} == {int(key.id, 16)}
        assert len({one.salt for one in peer.opened}) == 1


@pytest.mark.parametrize("flags", [0, frames.SETUP_RSTREAM], ids=["as Aeron's", "as rstream's"])
def test_a_source_without_the_echo_gets_no_image(
    driver: Driver, client: Client, key: GroupKey, flags: int
) -> None:
    """Sealed SETUPs alone may be recorded ones, so none is admitted by its second one either."""
    with keyed_reader(client, key) as (reader, address), Peer(key) as peer:
        for _ in range(5):
            peer.send(frames.setup(5, STREAM, TERM, flags=flags), address)
            peer.send(frames.data(5, STREAM, TERM, 0, b"x"), address)
            peer.listen(0.1)
        assert [frame for frame in peer.received if frame.kind == RTTM]
        assert reader.image_count == 0
        publish(peer, address)
        assert read_count(reader, len(MESSAGES)) == MESSAGES


def test_a_plain_echo_is_none(driver: Driver, client: Client, key: GroupKey) -> None:
    """The challenge must be answered by the socket that sealed the SETUP."""
    with keyed_reader(client, key) as (reader, address), Peer(key) as peer:
        peer.send(frames.setup(5, STREAM, TERM, flags=0), address)
        echo = echo_of(peer.wait_for(RTTM))
        peer.undress = bytes  # refusals are plain
        for dress in (bytes, Sealer(key.secret).seal, Sealer(bytes(32)).seal, peer.sealer.forge):
            peer.dress = dress  # the same address: plain, another socket, another key, no key
            peer.send(echo, address)
            peer.dress = peer.sealer.seal
            peer.send(frames.setup(5, STREAM, TERM, flags=0), address)
            peer.listen(0.1)
            assert reader.image_count == 0
        peer.send(echo, address)
        peer.send(frames.setup(5, STREAM, TERM, flags=0), address)
        until(lambda: reader.image_count == 1)


def test_altered_datagrams_are_dropped(driver: Driver, client: Client, key: GroupKey) -> None:
    """One bit of any byte: the length, the frame, the seal. The stream then goes on."""
    with keyed_reader(client, key) as (reader, address), Peer(key) as peer:
        at = publish(peer, address, ends=False)
        assert read_count(reader, len(MESSAGES)) == MESSAGES
        frame = frames.data(5, STREAM, TERM, at, b"forged")
        peer.undress = bytes
        for place in range(len(frame) + sealed.OVERHEAD):
            altered = bytearray(peer.sealer.seal(frame))
            altered[place] ^= 1 << place % 8
            peer.dress = bytes
            peer.send(bytes(altered), address)
        peer.dress = peer.sealer.seal
        peer.send(frames.data(5, STREAM, TERM, at, b"true"), address)
        assert read_count(reader, 1) == [b"true"]


# ---- the peer reads ----


def without_runs(datagrams: list[bytes], plain: bytes) -> bool:
    runs = {plain[at : at + RUN] for at in range(len(plain) - RUN + 1)}
    return not any(
        datagram[at : at + RUN] in runs
        for datagram in datagrams
        for at in range(len(datagram) - RUN + 1)
    )


def test_the_peer_opens_what_a_publisher_seals(
    driver: Driver, client: Client, key: GroupKey
) -> None:
    """All is sealed with one kind, no nonce comes twice, and a NAK is answered by a new one."""
    payload = os.urandom(3000)
    with Peer(key, CHACHA20_POLY1305) as peer:
        channel = (
            f"aeron:udp?endpoint=127.0.0.1:{peer.port}|rs-key={key.reference}|term-length=64k"
            f"|init-term-id={TERM}|term-id={TERM}|term-offset=0"
        )
        with client.add_publication(channel, STREAM, exclusive=True) as publication:
            setup = peer.wait_for(SETUP)
            to = peer_of(driver.dir)
            (mtu,) = struct.unpack_from("<i", setup.raw, 32)
            assert mtu == 1408 - 64  # the seal has its place within the driver's longest datagram
            status = frames.status(setup.session_id, STREAM, TERM, window=32768)
            peer.send(status, to)
            until(lambda: publication.is_connected)
            send(publication, payload)
            parts: dict[int, bytes] = {}
            while sum(map(len, parts.values())) < len(payload):
                frame = peer.wait_for(frames.DATA)
                parts[frame.term_offset] = frame.raw[32 : frame.length]
            assert b"".join(parts[at] for at in sorted(parts)) == payload
            peer.send(frames.nak(setup.session_id, STREAM, TERM, 0, 1344), to)
            assert peer.wait_for(frames.DATA).raw[32:] == parts[0]
    assert max(map(len, peer.raw_received)) <= 1408
    assert without_runs(peer.raw_received, payload)
    nonces = Counter((one.salt, one.counter) for one in peer.opened)
    assert max(nonces.values()) == 1
    assert len({(one.salt, one.kind) for one in peer.opened}) == 1


def peer_of(directory: str) -> frames.Address:
    """Where the only publication's socket listens."""
    from tests.hostile.test_unicast_receiver import sender_port

    return ("127.0.0.1", sender_port(directory))


# ---- the path ----


def test_nothing_of_a_stream_is_readable_on_the_path(
    driver: Driver, make_driver_dir: Callable[[], str], key: GroupKey
) -> None:
    """Neither items, nor the stream's name, in either direction; with a driver for each end."""
    secret = os.urandom(20_000)
    name = "a-name-that-nobody-on-the-path-may-read"
    port = free_port()
    with (
        Driver(make_driver_dir()) as far,
        Relay(("127.0.0.1", port)) as relay,
        rstream.subscriber(
            name, channel=f"aeron:udp?endpoint=127.0.0.1:{port}", key=key, dir=far.dir
        ) as sub,
        rstream.publisher(
            name, channel=f"aeron:udp?endpoint=127.0.0.1:{relay.port}", key=key, dir=driver.dir
        ) as pub,
    ):
        pub.send(secret)
        assert sub.get(timeout_s=20) == secret
        pub.send_many([secret[:1000]] * 20)
        assert [sub.get(timeout_s=20) for _ in range(20)] == [secret[:1000]] * 20
        assert pub.wait_consumed(timeout_s=20)
    assert relay.to_publisher
    assert all(map(sealed.is_sealed, relay.seen))
    assert without_runs(relay.seen, secret)
    assert without_runs(relay.seen, name.encode())
    assert without_runs(relay.seen, key.secret)
    for datagram in relay.seen:
        open_datagram(key.secret, datagram)


def test_what_the_path_alters_and_repeats_changes_nothing(
    driver: Driver, make_driver_dir: Callable[[], str], key: GroupKey
) -> None:
    """Of each datagram come an altered copy, the datagram, and once more the datagram."""
    port = free_port()

    def change(datagram: bytes) -> list[bytes]:
        altered = bytearray(datagram)
        altered[len(datagram) // 2] ^= 0x10
        return [bytes(altered), datagram, datagram]

    with (
        Driver(make_driver_dir()) as far,
        Relay(("127.0.0.1", port), change) as relay,
        rstream.subscriber(
            "altered", channel=f"aeron:udp?endpoint=127.0.0.1:{port}", key=key, dir=far.dir
        ) as sub,
        rstream.publisher(
            "altered", channel=f"aeron:udp?endpoint=127.0.0.1:{relay.port}", key=key, dir=driver.dir
        ) as pub,
    ):
        for number in range(2000):
            pub.send(number)
        assert [sub.get(timeout_s=20) for _ in range(2000)] == list(range(2000))


@pytest.mark.parametrize("flags", [0, frames.SETUP_RSTREAM], ids=["as Aeron's", "as rstream's"])
def test_a_recorded_session_delivers_nothing_to_a_new_reader(
    client: Client, elsewhere: Client, key: GroupKey, flags: int
) -> None:
    """Each datagram of it is authentic, the answer to the challenge too, but to another one."""
    recorded = recorded_session(client, key, flags=flags)
    with (
        keyed_reader(elsewhere, key) as (fresh, address),
        Host(undress=lambda datagram: open_datagram(key.secret, datagram).frame) as thief,
        Peer(key) as honest,
    ):
        for _ in range(2):
            for datagram in recorded:
                thief.send(datagram, address)
                thief.listen(0.06)  # a second SETUP admits Aeron's publishers after 50 ms
        assert [frame for frame in thief.received if frame.kind == RTTM]  # it was opened
        assert fresh.image_count == 0
        publish(honest, address, session=6)
        assert read_count(fresh, len(MESSAGES)) == MESSAGES
        assert read(fresh) == []
        assert fresh.image_count <= 1


def test_a_recorded_session_delivers_nothing_again(
    driver: Driver, make_driver_dir: Callable[[], str], key: GroupKey
) -> None:
    """To the reader that had it, from the publisher's own address, while it reads and later."""
    port = free_port()
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}"
    with (
        Driver(make_driver_dir()) as far,
        Relay(("127.0.0.1", port)) as relay,
        rstream.subscriber("again", channel=channel, key=key, dir=far.dir, stays=True) as sub,
    ):
        through = f"aeron:udp?endpoint=127.0.0.1:{relay.port}"
        for begin in (0, 100):
            with rstream.publisher("again", channel=through, key=key, dir=driver.dir) as pub:
                for number in range(begin, begin + 100):
                    pub.send(number)
                assert [sub.get(timeout_s=20) for _ in range(100)] == list(
                    range(begin, begin + 100)
                )
                for datagram in list(relay.to_reader):
                    relay.send(datagram)
            for datagram in list(relay.to_reader):
                relay.send(datagram)
        with rstream.publisher("again", channel=through, key=key, dir=driver.dir) as pub:
            pub.send(b"last")
            assert sub.get(timeout_s=20) == b"last"


def test_a_recorded_session_is_not_mixed_into_a_living_one(
    client: Client, elsewhere: Client, key: GroupKey
) -> None:
    """The same session, terms and address, but another socket sealed what was recorded."""
    port = free_port()
    others = [b"the %d. anew..." % number for number in range(len(MESSAGES))]
    recorded = recorded_session(client, key, port=port)
    with (
        keyed_reader(elsewhere, key) as (fresh, address),
        Peer(key, port=port) as living,
    ):
        at = publish(living, address, messages=others[:5], ends=False)
        assert read_count(fresh, 5) == others[:5]
        living.dress = bytes
        living.send_all(recorded, address)
        living.dress = living.sealer.seal
        send_data(living, address, at, others[5:])
        assert read_count(fresh, len(others) - 5) == others[5:]


def test_two_members_of_a_group_have_different_nonces(
    driver: Driver, make_driver_dir: Callable[[], str], key: GroupKey
) -> None:
    """Sockets of one driver and of two: each has a salt of its own, and so an AEAD key."""
    with Peer(key) as peer, Driver(make_driver_dir()) as far, contextlib.ExitStack() as stack:
        for number, directory in enumerate((driver.dir, driver.dir, far.dir)):
            client = stack.enter_context(Client(directory, start_driver=False))
            # Another local port makes another socket of it.
            channel = (
                f"aeron:udp?endpoint=127.0.0.1:{peer.port}|control=127.0.0.1:{free_port()}"
                f"|rs-key={key.reference}"
            )
            stack.enter_context(client.add_publication(channel, STREAM + number))

        def all_are_here() -> bool:
            peer.drain()
            return {frame.stream_id for frame in peer.received} >= {1001, 1002, 1003}

        until(all_are_here)
        assert len({one.salt for one in peer.opened}) == 3


def test_keys_connect_as_the_peer_expects(driver: Driver, client: Client, key: GroupKey) -> None:
    """The wrong key at the peer: nothing is opened here, and the plain answer names the key."""
    with (
        keyed_reader(client, key) as (reader, address),
        Host(dress=Sealer(bytes(32)).seal) as stranger,
    ):
        stranger.send(frames.setup(5, STREAM, TERM), address)
        until(stranger.drain)
        (refusal,) = stranger.received
        assert sealed.is_refusal(refusal.raw)
        assert f"{sealed.key_id_in(refusal.raw):08x}" == key.id
        assert refusal.raw[12:] == bytes(20)
        for _ in range(100):
            stranger.send(frames.setup(5, STREAM, TERM), address)
        stranger.listen(0.5)
        assert len(stranger.received) <= 1 + 6  # ten in a second
        assert reader.image_count == 0
        connect_honest(client, key, reader, address)


def connect_honest(
    client: Client, key: GroupKey, reader: Subscription, address: frames.Address
) -> None:
    channel = f"aeron:udp?endpoint={address[0]}:{address[1]}|rs-key={key.reference}"
    with client.add_publication(channel, STREAM, exclusive=True) as publication:
        connect(publication, reader)
        send(publication, b"honest")
        assert read_count(reader, 1) == [b"honest"]
