"""A session belongs to its source: what others send in its name changes nothing.

The attacker of these tests has seen the session, the terms and the positions, but it sends from an
address of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from rstream.client import Client, Subscription
from rstream.driver import Driver
from tests.hostile.frames import EOS, REVOKED, UNFRAGMENTED, Host, data, heartbeat, setup, status
from tests.hostile.locks import Lock, over
from tests.hostile.strangers import target
from tests.hostile.streams import STREAM, connect, read, read_count, send
from tests.support import free_port, until

LENGTH = 1 << 16


def take(subscription: Subscription) -> list[bytes]:
    with subscription.poll_demanded(10) as batch:
        return batch.to_list()


def test_ends_data_and_setups_of_others(driver: Driver, client: Client, lock: Lock) -> None:
    with (
        target(client, driver.dir, lock.suffix) as aim,
        client.add_publication(aim.channel + "|term-length=64k", STREAM) as publication,
        Host(dress=lock.dress) as host,
        Host("127.0.0.2", dress=lock.dress) as other,
    ):
        connect(publication, aim.subscription)
        for number in range(200):
            send(publication, b"%d" % number)
            session, term = publication.session_id, publication.initial_term_id
            at = publication.position
            for attacker in (host, other):
                attacker.send_all(
                    [
                        setup(session, STREAM, term, flags=0),
                        setup(session, STREAM, term + 1),
                        data(session, STREAM, term, at % LENGTH, b"forged"),
                        heartbeat(session, STREAM, term, at % LENGTH + 4096),
                        heartbeat(session, STREAM, term, 0, flags=UNFRAGMENTED | EOS),
                        heartbeat(session, STREAM, term, 0, flags=UNFRAGMENTED | EOS | REVOKED),
                        status(session, STREAM, term),
                    ],
                    aim.address,
                )
            assert read_count(aim.subscription, 1) == [b"%d" % number]
        assert aim.subscription.image_count == 1
        assert all(event.is_available for event in aim.subscription.events())
        for attacker in (host, other):
            attacker.drain()
            assert attacker.received == [] or lock.says_nothing(attacker.received)


def test_demand_survives_a_setup_of_another(driver: Driver, client: Client, lock: Lock) -> None:
    """A SETUP without rstream's flag once ended the demand of a stream for ever."""
    with (
        target(client, driver.dir, lock.suffix) as aim,
        client.add_subscription(aim.channel, STREAM, on_demand=True) as wanting,
        client.add_publication(aim.channel + "|term-length=64k", STREAM) as publication,
        Host(dress=lock.dress) as host,
    ):
        aim.subscription.close()
        connect(publication, wanting)
        session, term = publication.session_id, publication.initial_term_id
        for number in range(1, 20):
            host.send(setup(session, STREAM, term, flags=0), aim.address)
            wanting.request(1)
            until(lambda: getattr(publication.core.demand, "messages", 0) == 1)
            send(publication, b"%d" % number)
            assert until(lambda: take(wanting)) == [b"%d" % number]


def test_a_stranger_cannot_begin_the_session_of_another(
    driver: Driver, client: Client, lock: Lock
) -> None:
    """It forges SETUPs of a session before its publisher comes, with other terms."""
    with (
        target(client, driver.dir, lock.suffix) as aim,
        Host(dress=lock.dress) as host,
    ):
        for _ in range(3):
            host.send(setup(77, STREAM, 1), aim.address)
            host.listen(0.1)
        assert lock.is_open or lock.says_nothing(host.received)
        channel = aim.channel + "|term-length=64k|session-id=77"
        with client.add_publication(channel, STREAM) as publication:
            connect(publication, aim.subscription)
            send(publication, b"mine")
            assert read_count(aim.subscription, 1) == [b"mine"]
            assert read(aim.subscription) == []


@over("plain", "keyed")
def test_two_destinations_merge_two_sources(
    driver: Driver, client: Client, make_driver_dir: Callable[[], str], lock: Lock
) -> None:
    """What a binding to sources must not break: the same session from two hosts, each by its own
    destination. The end of one of them ends nothing."""
    first, second = free_port(), free_port()
    same = "term-length=64k|session-id=5|init-term-id=9|term-id=9|term-offset=0" + lock.suffix
    with (
        client.add_subscription(
            f"aeron:udp?control-mode=manual{lock.suffix}", STREAM
        ) as subscription,
        Driver(make_driver_dir()) as elsewhere,
        Client(elsewhere.dir, start_driver=False) as far,
    ):
        for port in (first, second):
            subscription.add_destination(f"aeron:udp?endpoint=127.0.0.1:{port}")
        with far.add_publication(f"aeron:udp?endpoint=127.0.0.1:{second}|{same}", STREAM) as other:
            with client.add_publication(
                f"aeron:udp?endpoint=127.0.0.1:{first}|{same}", STREAM
            ) as one:
                connect(one)
                connect(other)
                for number in range(100):
                    send(one, b"%d" % number)
                    send(other, b"%d" % number)
                    assert read_count(subscription, 1) == [b"%d" % number]
                assert subscription.image_count == 1
            for number in range(100, 200):
                send(other, b"%d" % number)
                assert read_count(subscription, 1) == [b"%d" % number]
            assert subscription.image_count == 1


@over("plain", "keyed")
def test_a_receiver_with_two_addresses_proves_its_sender(
    driver: Driver, client: Client, lock: Lock
) -> None:
    """The destination is one address of the receiver's host, and its frames come from another."""
    port = free_port()
    with (
        client.add_subscription(
            f"aeron:udp?endpoint=0.0.0.0:{port}{lock.suffix}", STREAM
        ) as subscription,
        client.add_publication(
            f"aeron:udp?control-mode=manual|term-length=64k{lock.suffix}", STREAM
        ) as publication,
    ):
        publication.add_destination(f"aeron:udp?endpoint=127.0.0.2:{port}")
        connect(publication, subscription)
        for number in range(100):
            send(publication, b"%d" % number)
            assert read_count(subscription, 1) == [b"%d" % number]
