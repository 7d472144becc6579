"""A handler raises at each place of an opening call: nothing stays open, and the next one works.

What the program does not get is closed: the process lets go of its client, with which a driver of
this host ends; and the driver has no reader that nobody reads and no writer that nobody closes.
"""

from __future__ import annotations

import gc

import pytest

import rstream
from rstream import _core, policy, stream
from rstream._session import _links
from rstream.client import Client
from rstream.driver import ensure_driver
from tests.interrupts import at_each_place
from tests.support import free_port, until

# What an interrupted constructor had opened is closed by the collector, which says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
UDP = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=64k"
TYPE_CLIENT = 11  # of the counter with a client's heartbeat


def clients_of(directory):
    """Counters of the clients that the driver has, but for those of Aeron's ids."""
    return [one.id for one in _core.read_counters(directory) if one.type_id == TYPE_CLIENT]


def links_of(directory):
    return [shared for (_, path), shared in _links._links.items() if path == directory]


OPENINGS = {
    "publisher": rstream.publisher,
    "subscriber": rstream.subscriber,
    "dropping subscriber": lambda name, **options: rstream.subscriber(
        name, on_slow=policy.Latest(), **options
    ),
    "waiting subscriber": lambda name, **options: rstream.subscriber(
        name, on_slow=policy.Buffer(4), **options
    ),
    "subscriber that is left": lambda name, **options: rstream.subscriber(
        name, on_slow=policy.Evict(5), **options
    ),
    "reader": lambda name, channel, **options: stream.reader(name, channels=[channel], **options),
}


@pytest.mark.parametrize("medium", ["ipc", "udp"])
@pytest.mark.parametrize("opening", OPENINGS)
def test_an_interrupted_opening_leaves_nothing(driver_dir, name, opening, medium):
    channel = "aeron:ipc?term-length=64k" if medium == "ipc" else UDP

    made = []

    def call():
        made.append(OPENINGS[opening](name, channel=channel, dir=driver_dir))
        made[-1].close()
        made.clear()

    def after(where):
        while made:
            made.pop().close()
        if links_of(driver_dir):
            gc.collect()
        assert not links_of(driver_dir), where
        if opening == "publisher":
            return
        with (
            stream.publisher(name, channel=channel, dir=driver_dir, linger_s=0) as pub,
            OPENINGS[opening](name, channel=channel, dir=driver_dir) as sub,
        ):
            pub.send(1, timeout_s=5)
            assert sub.wait(5), where

    step = 31 if medium == "ipc" else 61
    assert at_each_place(call, after, step=step) >= 5
    until(lambda: not clients_of(driver_dir), 5)


def test_an_interrupted_raw_client_leaves_nothing(driver_dir):
    """Its offers, polls and claims are calls of C, and have no place."""
    made = []

    def call():
        client = Client(driver_dir, start_driver=False)
        made.append(client)
        publication = client.add_publication("aeron:ipc?term-length=64k", 7)
        subscription = client.add_subscription("aeron:ipc", 7)
        publication.close()
        subscription.close()
        client.close()

    def after(where):
        while made:
            made.pop().close()
        with (
            Client(driver_dir, start_driver=False) as client,
            client.add_subscription("aeron:ipc", 7) as subscription,
            client.add_publication("aeron:ipc?term-length=64k", 7) as publication,
        ):
            until(lambda: publication.offer(b"x") > 0)
            until(lambda: list(subscription.poll(1)), 5)
        until(lambda: not clients_of(driver_dir), 5)

    assert at_each_place(call, after, step=5) >= 5


def test_an_interrupted_driver_can_be_started_again(make_driver_dir):
    directory = make_driver_dir()
    made = []

    def call():
        made.append(rstream.Driver(directory))
        made[-1].close()

    def after(where):
        while made:
            made.pop().close()
        gc.collect()
        with (
            rstream.Driver(directory),
            rstream.subscriber("x", dir=directory) as sub,
            rstream.publisher("x", dir=directory) as pub,
        ):
            pub.send(1, timeout_s=5)
            assert sub.get(timeout_s=5) == 1, where

    assert at_each_place(call, after, step=29) >= 5


def test_an_interrupted_start_of_a_shared_driver_is_made_again(make_driver_dir):
    directory = make_driver_dir()

    def call():
        ensure_driver(directory)

    def after(where):
        with (
            rstream.subscriber("x", dir=directory) as sub,
            rstream.publisher("x", dir=directory) as pub,
        ):
            pub.send(1, timeout_s=5)
            assert sub.get(timeout_s=5) == 1, where

    assert at_each_place(call, after) >= 3
