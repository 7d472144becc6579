"""One host of the namespaced network: an embedded driver and one publisher or subscriber.

Run as: python -m tests.system.network_worker '{"role": "publish" | "subscribe", "dir": DIR,
"channel": URI, "options": {...}}'. Lines of standard input are commands.

publish: prints "ready"; "go SECONDS" publishes numbered messages as fast as it may, then prints a
JSON line with the bytes and seconds; "close" ends the stream.

subscribe: prints "ready", "image" when the stream is there, and at the end of the stream a JSON
line with the messages received.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from typing import Any

import rstream
from rstream.client import Client, Publication, Subscription

STREAM = 77
PAYLOAD_BYTES = 1376
NUMBER = struct.Struct("<q")
END_S = 60.0
STALL_S = 3.0
LINGER_S = 3.0


def tell(text: str) -> None:
    print(text, flush=True)


def publish(client: Client, channel: str) -> None:
    with client.add_publication(channel, STREAM, exclusive=True) as publication:
        tell("ready")
        for line in sys.stdin:
            word, *arguments = line.split()
            if word == "go":
                tell(json.dumps(send_for(publication, float(arguments[0]))))
            else:
                drain(publication)
                break
    tell("closed")
    time.sleep(LINGER_S)  # the driver still answers NAKs and reports the end of the stream


def drain(publication: Publication) -> None:
    """Wait until the slowest living receiver has everything, or no position moves."""
    last, moved = -1, time.monotonic()
    while (
        publication.consumed_position < publication.position and time.monotonic() < moved + STALL_S
    ):
        if publication.consumed_position != last:
            last, moved = publication.consumed_position, time.monotonic()
        time.sleep(0.01)


def send_for(publication: Publication, seconds: float) -> dict[str, float]:
    number, began = 0, time.monotonic()
    padding = bytes(PAYLOAD_BYTES - NUMBER.size)
    first = publication.position
    while (now := time.monotonic()) < began + seconds:
        for _ in range(64):
            if publication.offer(NUMBER.pack(number) + padding) < 0:
                publication.wait(0.01)
                break
            number += 1
    return {"messages": number, "bytes": publication.position - first, "seconds": now - began}


def subscribe(client: Client, channel: str) -> None:
    with client.add_subscription(channel, STREAM) as subscription:
        tell("ready")
        tell(json.dumps(receive(subscription)))
        sys.stdin.read()


def receive(subscription: Subscription) -> dict[str, Any]:
    """Read to the end of the first image."""
    came: dict[str, Any] = {"messages": 0, "is_ordered": True, "is_complete": False}
    has_image, moved = False, time.monotonic()
    while time.monotonic() < moved + END_S:
        with subscription.poll(512) as batch:
            for data in batch:
                came["is_ordered"] = (
                    came["is_ordered"] and NUMBER.unpack_from(data)[0] == came["messages"]
                )
                came["messages"] += 1
                moved = time.monotonic()
        for event in subscription.events():
            if event.is_available and not has_image:
                has_image = True
                tell("image")
            elif not event.is_available:
                came["is_complete"] = event.ended_in_order
                return came
        subscription.wait(0.05)
    return came


def main() -> None:
    task = json.loads(sys.argv[1])
    with (
        rstream.Driver(dir=task["dir"], options=task["options"]) as driver,
        Client(dir=driver.dir, start_driver=False) as client,
    ):
        {"publish": publish, "subscribe": subscribe}[task["role"]](client, task["channel"])


if __name__ == "__main__":
    main()
