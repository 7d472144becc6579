"""Status messages behind a flood of NAKs: the stream must not wait for them.

The flood comes from strangers that know session and positions. The sender reads its control socket
until it is empty, handles status messages first, and does not answer strangers.
"""

from __future__ import annotations

import subprocess
import sys
import time

from rstream.client import Client, Publication, Subscription
from rstream.driver import Driver
from tests.hostile.streams import STREAM, connect, read
from tests.support import free_port

FIRST_TERM = 11
MEASURE_S = 2.0
MESSAGE = bytes(64)
SHARE_MIN = 0.03  # of the speed without a flood; the flood takes a core. It was 0.002.

FLOOD = """
import socket, sys
from tests.hostile import frames
session_id, stream_id, first_term, port = map(int, sys.argv[1:])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    out.connect(("127.0.0.1", port))
    nak = frames.nak(session_id, stream_id, first_term, 0, 65536)
    print("ready", flush=True)
    while True:
        try:
            out.send(nak)
        except OSError:
            pass
"""


def speed(publication: Publication, subscription: Subscription) -> float:
    """Messages a second."""
    begin = time.monotonic()
    count = 0
    while time.monotonic() < begin + MEASURE_S:
        for _ in range(64):
            if publication.offer(MESSAGE) < 0:
                break
        count += len(read(subscription))
    return count / (time.monotonic() - begin)


def test_a_flood_of_naks_does_not_stop_a_stream(driver: Driver, client: Client) -> None:
    """Dynamic destinations, so the sender's port is known and open to everybody."""
    port = free_port()
    at = f"control=127.0.0.1:{port}|control-mode=dynamic"
    with (
        client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{at}", STREAM) as sub,
        client.add_publication(
            f"aeron:udp?{at}|term-length=1m|init-term-id={FIRST_TERM}|term-id={FIRST_TERM}"
            "|term-offset=0",
            STREAM,
        ) as pub,
    ):
        connect(pub, sub)
        before = speed(pub, sub)
        flood = subprocess.Popen(
            [sys.executable, "-c", FLOOD, *map(str, (pub.session_id, STREAM, FIRST_TERM, port))],
            stdout=subprocess.PIPE,
        )
        try:
            assert flood.stdout is not None
            flood.stdout.readline()
            during = speed(pub, sub)
        finally:
            flood.kill()
            flood.communicate()
        print(f"{before:,.0f} messages/s alone, {during:,.0f} under the flood")
        assert during >= SHARE_MIN * before
