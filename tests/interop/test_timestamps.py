"""Time stamps of channels with a real Aeron at the other end.

Aeron's client reads what our driver stamped, and we read what Aeron's driver stamped.
"""

from __future__ import annotations

import struct
import time

import pytest

import rstream
from rstream.channel import Channel
from rstream.client import Client, Subscription
from tests.interop.ends import STALL_S, STREAM, aeron_process
from tests.support import free_port, until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# Prints the reserved value and the first two numbers of one message.
READER = """
import struct, sys, pyaeron
client = pyaeron.Aeron(dir=sys.argv[1])
subscription = client.add_subscription(sys.argv[2], int(sys.argv[3]))
print("ready", flush=True)
seen = []
def on_message(view, header):
    seen.append((header.reserved_value, *struct.unpack("<qq", bytes(view)[:16])))
while not seen:
    subscription.poll(on_message, 1)
print(*seen[0], flush=True)
sys.stdin.read()
"""

# A driver and a publication that offers one message until it is taken.
WRITER = """
import sys, time, pyaeron
driver = pyaeron.MediaDriver()
client = pyaeron.Aeron(dir=driver.dir)
publication = client.add_publication(sys.argv[1], int(sys.argv[2]))
publication.await_connected(30)
while not publication.offer(bytes(32)):
    time.sleep(0.001)
print("sent", flush=True)
sys.stdin.read()
"""


def one_message(subscription: Subscription) -> tuple[int, int, int]:
    """The reserved value and the first two numbers."""
    deadline_s = time.monotonic() + STALL_S
    while time.monotonic() < deadline_s:
        with subscription.poll(1) as batch:
            for message in batch.messages():
                return (message.reserved_value, *struct.unpack("<qq", bytes(message)[:16]))
        subscription.wait(0.1)
    raise AssertionError(f"no message in {STALL_S} s")


def test_aeron_reads_our_time_stamps(aeron_python: str, driver_dir: str) -> None:
    """N25."""
    place = f"127.0.0.1:{free_port()}"
    reading = f"aeron:udp?endpoint={place}|channel-rcv-ts-offset=reserved|media-rcv-ts-offset=8"
    before = time.time_ns()
    with (
        rstream.Driver(dir=driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        aeron_process([aeron_python, "-c", READER, driver.dir, reading, str(STREAM)]) as them,
    ):
        assert them.stdout is not None
        assert them.stdout.readline() == "ready\n"
        with client.add_publication(
            Channel(media="udp", endpoint=place, send_timestamp_offset=0), STREAM
        ) as ours:
            until(lambda: ours.offer(bytes(32)) > 0, STALL_S)
            received, sent, arrived = map(int, them.stdout.readline().split())
    assert before <= sent <= arrived <= received <= time.time_ns()


def test_we_read_aerons_time_stamps(aeron_python: str, driver_dir: str) -> None:
    """N25."""
    place = f"127.0.0.1:{free_port()}"
    writing = f"aeron:udp?endpoint={place}|channel-snd-ts-offset=reserved"
    before = time.time_ns()
    with (
        rstream.Driver(dir=driver_dir) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
        client.add_subscription(
            Channel(
                media="udp", endpoint=place, media_timestamp_offset=0, receive_timestamp_offset=8
            ),
            STREAM,
        ) as ours,
        aeron_process([aeron_python, "-c", WRITER, writing, str(STREAM)]) as them,
    ):
        sent, arrived, received = one_message(ours)
        assert them.stdout is not None
        assert them.stdout.readline() == "sent\n"
    assert before <= sent <= arrived <= received <= time.time_ns()
