"""The ends of a stream, run by the Python of an older rstream or of this one.

    ends.py driver DIRECTORY
    ends.py read DIRECTORY CHANNEL COUNT
    ends.py write DIRECTORY CHANNEL COUNT

CHANNEL "": shared memory. It uses only what every version has, and imports nothing of the tests.
"""

from __future__ import annotations

import sys

import rstream

NAME = "compat"
LONG = b"x" * 3_000_000
PATIENCE_S = 30.0


def drive(directory: str) -> None:
    with rstream.Driver(dir=directory):
        print("ready", flush=True)
        sys.stdin.read()


def read(directory: str, channel: str, count: str) -> None:
    """The numbers from 0 on, and then a long message."""
    with rstream.subscriber(NAME, channel=channel or None, dir=directory) as sub:
        print("ready", flush=True)
        came = list(sub)
    if came != [*range(int(count)), LONG]:
        sys.exit(f"{len(came)} messages came, the first are {came[:5]}")
    print("read", flush=True)


def write(directory: str, channel: str, count: str) -> None:
    half = int(count) // 2
    with rstream.publisher(
        NAME, channel=channel or None, dir=directory, connect_timeout_s=PATIENCE_S
    ) as pub:
        for number in range(half):
            pub.send(number, timeout_s=PATIENCE_S)
        pub.send_many(range(half, int(count)), timeout_s=PATIENCE_S)
        pub.send(LONG, timeout_s=PATIENCE_S)
        if not pub.wait_consumed(timeout_s=PATIENCE_S):
            sys.exit("not all was consumed")
    print("written", flush=True)


if __name__ == "__main__":
    {"driver": drive, "read": read, "write": write}[sys.argv[1]](*sys.argv[2:])
