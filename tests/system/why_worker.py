"""One program of a chain: ``publish TO``, ``hop FROM TO``, ``slow FROM``; each NAME or NAME@URI."""

from __future__ import annotations

import sys
import time

import rstream


def channel(text: str) -> tuple[str, str | None]:
    name, _, uri = text.partition("@")
    return name, uri or None


def main(kind: str, *streams: str) -> None:
    ends = [channel(text) for text in streams]
    if kind == "publish":
        (to,) = ends
        with rstream.publisher(to[0], channel=to[1]) as publisher:
            while True:
                publisher.send(b"x" * 1000, timeout_s=None)
    name, uri = ends[0]
    with rstream.subscriber(name, channel=uri) as reader:
        if kind == "slow":
            for _ in reader:
                time.sleep(0.01)
        with rstream.publisher(ends[1][0], channel=ends[1][1]) as publisher:
            for message in reader:
                publisher.send(message, timeout_s=None)


main(*sys.argv[1:])
