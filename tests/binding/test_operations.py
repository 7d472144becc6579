"""What clients do besides offering and polling, against the embedded driver over loopback.

Destinations, rejection, revocation, counters, session ids, images, bounded and raw polls. Each test
names its lines of docs/reference/conformance.md.
"""

from __future__ import annotations

import os
import resource
import socket
import struct
import time
from contextlib import suppress

import pytest

from rstream import _core, errors, rate, stream
from rstream.channel import Channel
from rstream.client import BACK_PRESSURED, CLOSED, ERROR, ChannelStatus, Client
from tests.binding._util import IPC, pair, receive, send, until

UDP = "aeron:udp?endpoint=localhost:0"


# ---- counters ----


def test_every_client_sees_a_counter_of_another(client):
    """M1, M2, E4."""
    with Client(client.dir, start_driver=False, name="onlooker") as onlooker:
        counter = client.add_counter(1001, "orders seen", key=b"\x01\x02")
        counter.value = 5
        assert counter.add(3) == 5
        assert counter.value == 8
        assert not counter.propose_max(7)
        assert counter.propose_max(9)
        place = onlooker.find_counter(1001, counter.registration_id)
        assert place == counter.counter_id
        reading = onlooker.read_counter(place)
        assert reading is not None
        assert (reading.value, reading.type_id, reading.label) == (9, 1001, "orders seen")
        assert reading.owner_id == client.client_id
        assert reading.registration_id == counter.registration_id
        came = until(
            lambda: [e for e in onlooker.counter_events() if e.counter_id == counter.counter_id]
        )
        assert [event.is_available for event in came] == [True]
        counter.close()
        counter.close()
        assert counter.is_closed
        gone = until(lambda: [e for e in onlooker.counter_events() if e.counter_id == place])
        assert [event.is_available for event in gone] == [False]
        assert onlooker.find_counter(1001, counter.registration_id) is None
        with pytest.raises(errors.ClosedError):
            counter.value = 1
        with pytest.raises(errors.ClosedError):
            counter.add(1)


def test_a_static_counter_outlives_its_client(client):
    """N26."""
    with Client(client.dir, start_driver=False) as maker:
        counter = maker.add_static_counter(1002, "static", registration_id=-77)
        counter.value = 4
        place = counter.counter_id
    assert counter.is_closed
    again = client.add_static_counter(1002, "other label", registration_id=-77)
    assert again.counter_id == place
    assert again.value == 4
    own = client.add_counter(1003, "mine")
    with pytest.raises(errors.RegistrationError):
        client.add_static_counter(1003, "x", registration_id=own.registration_id)


@pytest.mark.parametrize(("label", "key"), [("x" * 381, b""), ("x", b"k" * 113), ("ü" * 191, b"")])
def test_counter_labels_and_keys_have_limits(client, label, key):
    """E3."""
    with pytest.raises(errors.ConfigError, match="bytes"):
        client.add_counter(1001, label, key=key)
    assert client.add_counter(1001, "x" * 380, key=b"k" * 112).value == 0


def test_a_counter_ends_with_its_client_or_object(client):
    """M6."""
    with Client(client.dir, start_driver=False) as other:
        counter = other.add_counter(1001, "mine")
        number = counter.registration_id
    assert counter.is_closed
    with pytest.raises(errors.ClosedError):
        _ = counter.value
    until(lambda: client.find_counter(1001, number) is None)
    number = client.add_counter(1001, "dropped").registration_id
    until(lambda: client.find_counter(1001, number) is None)


def test_arguments_of_counters(client):
    with pytest.raises(TypeError):
        client.add_counter("1001", "x")
    with pytest.raises(OverflowError):
        client.add_counter(2**31, "x")
    with pytest.raises(errors.ConfigError):
        client.read_counter(2**30)
    assert client.read_counter(8000) is None
    counter = client.add_counter(1001, "x")
    with pytest.raises(OverflowError):
        counter.value = 2**63
    with pytest.raises(TypeError):
        counter.value = None
    with pytest.raises((AttributeError, TypeError)):
        del counter.value
    with pytest.raises(TypeError):
        type(counter)()


# ---- session ids ----


def test_next_session_ids_are_free(client):
    """M8, L8."""
    first = client.next_session_id(7)
    publication = client.add_publication(Channel.ipc(session_id=first), 7, exclusive=True)
    assert publication.session_id == first
    second = client.next_session_id(7)
    assert second != first
    with pytest.raises(errors.ConfigError):
        client.next_session_id(2**31)


# ---- images ----


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_images_report_their_positions(client, channel):
    """B10."""
    publication, subscription = pair(client, channel=channel, exclusive=True)
    (image,) = subscription.images()
    assert image.session_id == publication.session_id
    assert image.term_length == publication.term_length
    assert image.mtu == publication.mtu
    assert image.initial_term_id == publication.initial_term_id
    assert (image.join_position, image.position, image.end_position) == (0, 0, None)
    assert not image.is_revoked
    assert not image.is_end_of_stream
    event = subscription.next_event()
    assert event is not None
    assert image.source == event.source
    send(publication, b"x" * 10)
    assert receive(subscription, 1) == [b"x" * 10]
    position = publication.position
    assert until(lambda: subscription.images()[0].position == position)
    if channel == UDP:
        assert until(lambda: subscription.images()[0].active_transports == 1)
    publication.close()
    until(lambda: subscription.next_event() or subscription.poll(1) is None)
    assert subscription.images() == ()
    subscription.close()
    assert subscription.images() == ()


def test_channel_status_and_addresses(client):
    """N26."""
    publication, subscription = pair(client, channel=UDP)
    assert publication.channel_status is ChannelStatus.ACTIVE
    assert subscription.channel_status is ChannelStatus.ACTIVE
    assert subscription.local_addresses == (subscription.local_address,)
    (address,) = publication.local_addresses
    assert address.rpartition(":")[2] != "0"
    ipc, other = pair(client)
    assert ipc.channel_status is other.channel_status is ChannelStatus.ACTIVE
    assert ipc.local_addresses == other.local_addresses == ()
    publication.close()
    subscription.close()
    assert publication.channel_status is None
    assert subscription.channel_status is None
    assert publication.local_addresses == subscription.local_addresses == ()


def test_where_the_next_frame_goes(client):
    """A11."""
    publication, subscription = pair(client, exclusive=True)
    assert publication.next_frame == (publication.initial_term_id, 0)
    window = publication.available_window
    send(publication, b"x")
    assert publication.next_frame == (publication.initial_term_id, 64)
    assert publication.available_window == window - 64
    assert publication.max_position == publication.term_length << 31
    assert 1 << publication.position_bits == publication.term_length
    publication.close()
    assert publication.next_frame is None
    assert publication.available_window == CLOSED
    assert subscription.close() is None


# ---- padding, frames ----


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_padding_moves_the_position_and_is_not_delivered(client, channel):
    """A13."""
    publication, subscription = pair(client, channel=channel, exclusive=True)
    send(publication, b"before")
    before = publication.position
    assert publication.core.sent_position == before
    assert publication.append_padding(100) == before + 160
    send(publication, b"after")
    assert receive(subscription, 2) == [b"before", b"after"]
    assert publication.append_padding(publication.max_message_length + 1) == ERROR
    assert "padding" in _core.last_error().text
    with pytest.raises(ValueError, match="negative"):
        publication.append_padding(-1)
    shared, _ = pair(client, 8)
    assert shared.append_padding(1) == ERROR
    publication.close()
    assert publication.append_padding(1) == publication.core.sent_position == CLOSED


def test_a_recorded_stream_is_offered_again(client):
    """A12, B7: blocks of one stream become frames of another with the same session and terms."""
    publication, subscription = pair(client, exclusive=True)
    messages = [b"%d" % i * (i % 50) for i in range(100)]
    long = b"L" * (3 * publication.max_payload_length)
    send(publication, *messages, long)
    blocks: list[bytes] = []
    while sum(map(len, blocks)) < publication.position:
        with subscription.poll_block(4096) as batch:
            assert len(batch) == 1
            blocks += batch.to_list()
            assert batch.positions() == [sum(map(len, blocks))]
            assert batch.session_ids() == [publication.session_id]
    assert len(subscription.poll_block(4096)) == 0
    again = Channel.ipc(
        session_id=publication.session_id,
        term_length=publication.term_length,
        mtu=publication.mtu,
    ).at_position(0, initial_term_id=publication.initial_term_id)
    publication.close()
    replay = client.add_publication(again, 9, exclusive=True)
    reader = client.add_subscription(IPC, 9)
    until(lambda: replay.is_connected)
    wrong_stream = replay.offer_frames(blocks[0])
    assert wrong_stream == ERROR
    assert "stream id" in _core.last_error().text
    position = 0
    for block in blocks:
        moved = bytearray(block)
        at = 0
        while at < len(moved):
            moved[at + 16 : at + 20] = (9).to_bytes(4, "little")
            at += (int.from_bytes(moved[at : at + 4], "little") + 31) & ~31
        position = until(lambda moved=moved: max(replay.offer_frames(moved), 0))
    assert position == sum(map(len, blocks))
    assert receive(reader, 101) == [*messages, long]
    replay.close()
    assert replay.offer_frames(blocks[0]) == CLOSED


def test_a_bounded_poll_stops_at_its_bound(client):
    """B6."""
    publication, subscription = pair(client)
    send(publication, b"one", b"two", b"three")
    (image,) = subscription.images()
    assert list(subscription.poll_bounded(image, 0, 10)) == []
    assert list(subscription.poll_bounded(image, 65, 10)) == [b"one", b"two"]
    assert list(subscription.poll_bounded(image.correlation_id, 128, 10)) == []
    assert list(subscription.poll_bounded(image, 2**62, 10)) == [b"three"]
    with pytest.raises(ValueError, match="limit"):
        subscription.poll_bounded(image, 0, 0)
    with pytest.raises(errors.ConfigError):
        subscription.poll_block(31)
    subscription.close()
    with pytest.raises(errors.ClosedError):
        subscription.poll_bounded(image, 0, 1)
    with pytest.raises(errors.ClosedError):
        subscription.poll_block(4096)


# ---- refused, with a hint ----


def test_a_misspelt_key_is_asked_for(client):
    publication, subscription = pair(client)
    uri = "aeron:udp?endpont=localhost:1"
    for ask in (
        lambda: client.add_publication(uri, 1),
        lambda: client.add_subscription(uri, 1),
        lambda: publication.add_destination(uri),
        lambda: subscription.add_destination(uri),
    ):
        with pytest.raises(errors.ChannelError, match="'endpont' is not known: did you mean 'end"):
            ask()


def test_a_misspelt_key_that_is_ignored_is_logged(client, caplog):
    client.add_publication("aeron:ipc?term-lenght=64k|my-own-key=1", 1).close()
    (record,) = caplog.records
    assert "'term-lenght' is not known: did you mean 'term-length'?" in record.message
    assert "aeron:ipc?term-lenght=64k" in record.message


@pytest.mark.parametrize(
    ("side", "uri", "hint"),
    [
        (
            "add_subscription",
            "aeron:udp?endpoint=192.0.2.1:23456",
            "reader's own address: give an address of this host here",
        ),
        (
            "add_publication",
            "aeron:udp?control=192.0.2.1:23456|control-mode=dynamic",
            "control and interface of a publisher are its own addresses",
        ),
    ],
)
def test_a_foreign_address_is_named_once_with_what_to_write(client, side, uri, hint):
    """192.0.2.1 is for documentation (RFC 5737): no host has it."""
    with pytest.raises(errors.RegistrationError, match=hint) as caught:
        getattr(client, side)(uri, 1)
    assert str(caught.value).count(uri) == 1


def test_a_port_that_is_taken_says_what_to_do(client):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        uri = f"aeron:udp?endpoint=127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(errors.RegistrationError, match=r"in use; another program.*ss -lunp"):
            client.add_subscription(uri, 1)


def test_a_process_without_files_left_says_what_to_do(client):
    held = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        with suppress(OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
            while True:
                held.append(os.dup(0))
        with pytest.raises(errors.RStreamError, match=r"Too many open files.*raise `ulimit -n`"):
            client.add_publication("aeron:ipc", 77)
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ---- refused before the driver is asked ----


@pytest.mark.parametrize(
    "uri",
    [
        "aeron:udp",
        "aeron:udp?endpoint=nowhere",
        "aeron:udp?endpoint=localhost:99999",
        "aeron:ipc?mtu=x",
        "aeron:ipc?mtu",
        "http://localhost",
        "aeron:udp?endpoint=localhost:1|ttl=256",
        "aeron:ipc?x=" + "y" * 4096,
    ],
)
def test_malformed_channels_are_refused_at_once(client, uri):
    """F1: each error names the parameter, in every call that takes a channel."""
    publication, subscription = pair(client)
    for ask in (
        lambda: client.add_publication(uri, 1),
        lambda: client.add_subscription(uri, 1),
        lambda: publication.add_destination(uri),
        lambda: publication.remove_destination(uri),
        lambda: subscription.add_destination(uri),
        lambda: subscription.remove_destination(uri),
    ):
        with pytest.raises(errors.ChannelError):
            ask()
    with pytest.raises(errors.ChannelError):
        publication.add_destination("aeron:ipc\0")


def test_destinations_after_close(client):
    publication, subscription = pair(client)
    publication.close()
    subscription.close()
    for ask in (
        lambda: publication.add_destination(UDP),
        lambda: publication.remove_destination(UDP),
        lambda: publication.remove_destination(5),
        lambda: subscription.add_destination(UDP),
        lambda: subscription.remove_destination(5),
        lambda: subscription.reject(5),
    ):
        with pytest.raises(errors.ClosedError):
            ask()
    publication.revoke()
    assert list(publication.errors()) == []


def test_invalid_rejections(client):
    """N11: a reason that is too long, an image that does not exist."""
    _, subscription = pair(client)
    (image,) = subscription.images()
    with pytest.raises(errors.MessageTooLarge, match="1023"):
        subscription.reject(image, "x" * 1024)
    with pytest.raises(errors.ConfigError, match="image"):
        subscription.reject(image.correlation_id + 1000, "x")


# ---- over loopback, two ends ----


def test_a_subscription_receives_at_its_destinations(client):
    """M3, N8: one subscription of two addresses; a removed destination receives no more."""
    subscription = client.add_subscription("aeron:udp?control-mode=manual", 7)
    first = subscription.add_destination(UDP)
    second = subscription.add_destination(UDP)
    assert first != second
    addresses = until(
        lambda: len(subscription.local_addresses) == 2 and subscription.local_addresses
    )
    publications = [
        client.add_publication(f"aeron:udp?endpoint={address}", 7, exclusive=True)
        for address in addresses
    ]
    until(lambda: all(publication.is_connected for publication in publications))
    until(lambda: subscription.image_count == 2)
    for publication in publications:
        send(publication, b"%d" % publication.session_id)
    assert sorted(receive(subscription, 2)) == sorted(
        b"%d" % publication.session_id for publication in publications
    )
    subscription.remove_destination(first)
    until(lambda: len(subscription.local_addresses) == 1)
    with pytest.raises(errors.RegistrationError):
        subscription.remove_destination("aeron:udp?endpoint=localhost:1")
    with pytest.raises(errors.RegistrationError):
        subscription.remove_destination(first)


# ---- rates ----


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_a_rate_limits_its_publisher_and_is_reported(client, channel):
    publication, _ = pair(client, channel=channel)
    assert publication.held_by == "window"
    publication.set_rate(rate.Fixed(1))
    message = bytes(1000)
    until(lambda: publication.offer(message) == BACK_PRESSURED and publication.held_by == "rate")
    publication.set_rate(rate.Unlimited())
    assert until(lambda: publication.offer(message) > 0)
    until(lambda: publication.offer(message) == BACK_PRESSURED and publication.held_by == "window")


def test_a_stalled_reader_is_not_reported_as_a_rate(client):
    publication, _ = pair(client, channel=f"{IPC}?term-length=64k")
    publication.set_rate(rate.Fixed("1GB/s"))
    until(
        lambda: (
            publication.offer(bytes(1000)) == BACK_PRESSURED and publication.available_window == 0
        )
    )
    until(lambda: publication.held_by == "window")


def test_a_refused_change_of_rate_names_its_text(client):
    publication, _ = pair(client)
    with pytest.raises(errors.RegistrationError, match="q:1"):
        publication.core.set_rate("fixed,q:1", 10.0)
    for bad in ("", "x" * 256):
        with pytest.raises(errors.ConfigError, match="1 to 255 bytes"):
            publication.core.set_rate(bad, 10.0)
    with pytest.raises((errors.ConfigError, ValueError)):
        publication.core.set_rate("fixed,r:1\0", 10.0)
    with pytest.raises(TypeError):
        publication.core.set_rate("unlimited")
    publication.close()
    assert publication.core.held_by == CLOSED
    with pytest.raises(errors.ClosedError, match="set_rate"):
        publication.set_rate(rate.Unlimited())


# ---- time stamps ----


def test_time_stamps_of_a_channel(client):
    """N25: when it was sent, when it arrived, when it was received; one of them beside it."""
    channel = Channel(
        media="udp",
        endpoint="localhost:0",
        media_timestamp_offset=8,
        receive_timestamp_offset="reserved",
    )
    subscription = client.add_subscription(channel, 7)
    address = until(lambda: subscription.local_address)
    publication = client.add_publication(
        Channel(media="udp", endpoint=address, send_timestamp_offset=0), 7
    )
    before = time.time_ns()
    send(publication, bytes(16))
    deadline_s = time.monotonic() + 10
    seen: list[tuple[int, bytes]] = []
    while not seen:
        assert time.monotonic() < deadline_s
        with subscription.poll(1) as batch:
            seen += [(m.reserved_value, bytes(m)) for m in batch.messages()]
        subscription.wait(0.1)
    sent, arrived = struct.unpack("<qq", seen[0][1])
    assert before <= sent <= arrived <= seen[0][0] <= time.time_ns()


@pytest.mark.parametrize("side", ["send", "receive", "media"])
def test_typed_streams_keep_their_header(driver, side):
    """N25."""
    channel = Channel(
        media="udp", endpoint="localhost:0", **{f"{side}_timestamp_offset": "reserved"}
    )
    for open_one in (stream.publisher, stream.subscriber):
        for name in ("ticks", 7):
            with pytest.raises(errors.ConfigError, match="-ts-offset=reserved would overwrite"):
                open_one(name, channel=channel, dir=driver.dir)
    raw = Client(driver.dir, start_driver=False)
    named = f"{channel}|rs-name=ticks"
    with raw, pytest.raises(errors.ChannelError, match="rs-name=ticks has in the reserved value"):
        raw.add_subscription(named, 7)
