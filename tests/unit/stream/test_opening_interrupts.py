"""A handler raises at each place of an opening call: nothing stays open, and the next one works.

What the program does not get is closed: the process lets go of its client, with which a driver of
this host ends; and the driver has no reader that nobody reads and no writer that nobody closes.
"""

from __future__ import annotations

import gc

import pytest

import rstream
from rstream import _core, policy, stream
from rstream.stream import _session
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
    return [row[0] for row in _core.read_counters(directory) if row[1] == TYPE_CLIENT]


def links_of(directory):
    return [shared for (_, path), shared in _session._links.items() if path == directory]


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
