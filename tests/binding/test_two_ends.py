"""What the two ends of a stream see of revocation, rejection, destinations and slow readers.

Over loopback and shared memory, each end with a driver of its own where that matters. Each test
names its lines of docs/reference/conformance.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from rstream import errors
from rstream.client import Client, Publication, Subscription
from rstream.driver import Driver
from tests.binding._util import IPC, pair, receive, send, until
from tests.support import free_port

UDP = "aeron:udp?endpoint=localhost:0"


@pytest.fixture
def drivers(make_driver_dir: Callable[[], str]) -> Iterator[list[Driver]]:
    """Two drivers with short timeouts."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                Driver(
                    make_driver_dir(),
                    term_length=1 << 16,
                    ipc_term_length=1 << 16,
                    timer_interval_s=0.05,
                    publication_linger_timeout_s=0.3,
                    image_liveness_timeout_s=1.0,
                )
            )
            for _ in range(2)
        ]


@pytest.fixture
def hosts(drivers: list[Driver]) -> Iterator[list[Client]]:
    """One client of each driver."""
    with ExitStack() as stack:
        yield [stack.enter_context(Client(driver.dir, start_driver=False)) for driver in drivers]


def across(
    hosts: list[Client], channel: str = UDP, **options: bool
) -> tuple[Publication, Subscription]:
    """A publication of the first host that the second host reads."""
    subscription = hosts[1].add_subscription(channel, 7)
    publication = hosts[0].add_publication(
        f"aeron:udp?endpoint={subscription.local_address}", 7, **options
    )
    until(lambda: publication.is_connected and subscription.is_connected)
    return publication, subscription


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_a_revoked_stream_ends_at_once(hosts, channel):
    """N12: unread messages are dropped, and the image reports the end to the reader."""
    if channel == IPC:
        publication, subscription = pair(hosts[0], exclusive=True)
    else:
        publication, subscription = across(hosts, exclusive=True)
    send(publication, b"one", b"two")
    assert receive(subscription, 1) == [b"one"]
    publication.revoke()
    assert publication.is_closed
    publication.revoke()
    seen = False

    def is_gone() -> bool:
        nonlocal seen
        seen = seen or any(image.is_revoked for image in subscription.images())
        events = [event for event in subscription.events() if not event.is_available]
        subscription.poll(10).release()
        return bool(events)

    until(is_gone)
    assert not subscription.is_connected


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_a_shared_publication_is_only_closed(hosts, channel):
    """N12: revoking a shared publication does not end a stream that others publish to."""
    publication, subscription = pair(hosts[0], channel=channel)
    other = hosts[0].add_publication(publication.channel, 7)
    assert other.session_id == publication.session_id
    publication.revoke()
    send(other, b"still")
    assert receive(subscription, 1) == [b"still"]
    assert not subscription.images()[0].is_revoked


def test_a_slow_reader_gets_all_of_an_ended_stream(hosts):
    """N23: the publisher ends, its image dies, and only then does the reader start to read."""
    publication, subscription = across(hosts, exclusive=True)
    messages = [b"%d" % i * 10 for i in range(200)]
    send(publication, *messages)
    position = publication.position
    publication.close()
    until(
        lambda: not subscription.is_connected or subscription.images()[0].end_position == position
    )
    hosts[0].close()
    assert list(subscription.poll(1)) == messages[:1]
    rest = receive(subscription, len(messages) - 1)
    assert rest == messages[1:]
    until(lambda: not subscription.is_connected)
    events = list(subscription.events())
    assert [event.is_available for event in events] == [True, False]
    assert events[1].position == position
    assert events[1].ended_in_order


def test_a_slow_reader_past_the_death_of_the_publisher(hosts, drivers):
    """N23: no more datagrams arrive; received messages are still delivered, then the end is
    reported.
    """
    publication, subscription = across(hosts, exclusive=True)
    messages = [b"%d" % i for i in range(100)]
    send(publication, *messages)
    until(lambda: subscription.fill[0] == publication.position)
    batch = subscription.poll(1)  # held while the publisher dies
    hosts[0].close()
    drivers[0].close()
    until(lambda: not subscription.images() or subscription.images()[0].active_transports == 0)
    assert batch.to_list() == messages[:1]
    assert [event.is_available for event in subscription.events()] == [True]
    batch.release()
    assert receive(subscription, 99) == messages[1:]
    gone = until(lambda: list(subscription.events()), timeout_s=20)
    assert [event.is_available for event in gone] == [False]
    assert len(subscription.poll(1)) == 0


@pytest.mark.parametrize("pairs", [1, 10])
def test_ping_and_pong(hosts, pairs):
    """N29: each pair returns a pong for each ping, also after the echoing end was restarted."""
    for _ in range(2):
        with ExitStack() as stack:
            ends = []
            for _ in range(pairs):
                ping, asked = across(hosts)
                pong, answered = across(hosts[::-1])
                for handle in (ping, asked, pong, answered):
                    stack.callback(handle.close)
                ends.append((ping, asked, pong, answered))
            for number in range(50):
                for index, (ping, _, _, _) in enumerate(ends):
                    send(ping, b"%d of %d" % (number, index))
                for index, (_, asked, pong, _) in enumerate(ends):
                    (message,) = receive(asked, 1)
                    assert message == b"%d of %d" % (number, index)
                    send(pong, message)
                for index, (_, _, _, answered) in enumerate(ends):
                    assert receive(answered, 1) == [b"%d of %d" % (number, index)]


@pytest.mark.parametrize(
    ("channel", "stream_id"), [("same", 7), ("same", 8), ("other", 7), ("other", 8)]
)
def test_a_second_subscription_comes_and_goes(hosts, channel, stream_id):
    """N30: on the same or another channel and stream; the first subscription misses nothing."""
    first = f"aeron:udp?endpoint=localhost:{free_port()}"
    publication, subscription = across(hosts, first, exclusive=True)
    uri = first if channel == "same" else UDP
    number = 0
    for _ in range(3):
        second = hosts[1].add_subscription(uri, stream_id)
        if channel == "same" and stream_id == 7:
            until(lambda second=second: second.is_connected)
        send(publication, b"%d" % number, b"%d" % (number + 1))
        assert receive(subscription, 2) == [b"%d" % number, b"%d" % (number + 1)]
        if channel == "same" and stream_id == 7:
            assert receive(second, 2) == [b"%d" % number, b"%d" % (number + 1)]
        else:
            assert second.image_count == 0
        second.close()
        number += 2
    send(publication, b"last")
    assert receive(subscription, 1) == [b"last"]


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_a_rejected_session_is_told_why(hosts, channel):
    """N11: the publisher gets code and reason, the image goes; the client's others hear nothing."""
    if channel == IPC:
        publication, subscription = pair(hosts[0], exclusive=True)
    else:
        publication, subscription = across(hosts, exclusive=True)
    bystander = hosts[0].add_publication(IPC, 99)
    (image,) = subscription.images()
    subscription.reject(image, "not für today")
    (error,) = until(lambda: list(publication.errors()))
    assert error.code == 13
    assert error.text == "not für today"
    assert error.session_id == publication.session_id
    if channel != IPC:
        assert error.source.startswith("127.0.0.1:")
    until(lambda: not subscription.is_connected, timeout_s=20)
    assert list(bystander.errors()) == []
    assert list(publication.errors()) == []


def test_a_publication_sends_to_its_destinations(hosts):
    """M3, N7: two readers of one publication; one is removed by channel, the other by id."""
    readers = [hosts[1].add_subscription(UDP, 7) for _ in range(2)]
    publication = hosts[0].add_publication(
        "aeron:udp?control-mode=manual|control=localhost:0", 7, exclusive=True
    )
    targets = [f"aeron:udp?endpoint={reader.local_address}" for reader in readers]
    ids = [publication.add_destination(target) for target in targets]
    assert len(set(ids)) == 2
    until(lambda: all(reader.is_connected for reader in readers))
    send(publication, b"both")
    assert [receive(reader, 1) for reader in readers] == [[b"both"], [b"both"]]
    publication.remove_destination(targets[0])
    publication.remove_destination(ids[1])
    with pytest.raises(errors.RegistrationError):
        publication.add_destination("aeron-spy:aeron:udp?endpoint=localhost:1")
    until(lambda: not publication.is_connected, timeout_s=20)
