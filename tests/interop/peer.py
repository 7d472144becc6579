"""A real Aeron peer: Aeron's C client, with its C media driver unless --dir names another.

It runs in a Python of its own, since pyaeron needs 3.12 or newer:

    python peer.py ROLE --channel URI --stream N --count N --seed N [--dir DIR]

It prints "ready DIR CLIENT_ID" when it is set up, and "done COUNT" when all messages were sent, or
received and checked. A difference ends it with exit code 1 and a text. Then it obeys the lines of
its standard input, answers each with one line, and exits at the end of the input:

    close    close the publication or subscription: "closed"
    await    wait until the subscription's last image is gone: "ended" and whether the image had
             reached the end of its stream
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pyaeron

sys.path.insert(0, str(Path(__file__).parent))
from messages import SIZE_MAX, Messages

STALL_S = 60.0
END_S = 15.0


def tell(text: str) -> None:
    print(text, flush=True)


def publish(publication: pyaeron.Publication, options: argparse.Namespace) -> None:
    publication.await_connected(30)
    messages = Messages(options.seed, options.size_max)
    idle = pyaeron.IdleStrategy.backoff()
    for number in range(options.count):
        message = messages.next()
        deadline = time.monotonic() + STALL_S
        while not publication.offer(message):
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"message {number} ({len(message)} bytes): not taken for {STALL_S} s"
                )
            idle.idle(0)
        idle.reset()


def subscribe(subscription: pyaeron.Subscription, options: argparse.Namespace) -> None:
    messages = Messages(options.seed, options.size_max)
    received = 0
    problem = ""

    def on_message(view: pyaeron.BufferView, header: pyaeron.Header) -> None:
        nonlocal received, problem
        data, expected = bytes(view), messages.next()
        if data != expected and not problem:
            problem = (
                f"message {received}: {len(data)} bytes differ from the {len(expected)} expected"
            )
        received += 1

    idle = pyaeron.IdleStrategy.backoff()
    last, moved_s = 0, time.monotonic()
    while received < options.count:
        count = subscription.poll(on_message, 64, assemble=True)
        idle.idle(count)
        if problem:
            raise SystemExit(problem)
        now = time.monotonic()
        if received != last:
            last, moved_s = received, now
        elif now - moved_s > STALL_S:
            raise SystemExit(f"stalled at message {received} for {STALL_S} s")


#: For each image that went: whether it had reached the end of its stream. Noted by the handler,
#: because an image may go between two polls.
ENDS: list[bool] = []


def note_end(_subscription: pyaeron.Subscription, image: pyaeron.Image) -> None:
    ENDS.append(bool(image.is_end_of_stream))


def await_end(subscription: pyaeron.Subscription) -> str:
    """Wait until the last image is gone; no message may arrive any more."""
    late: list[int] = []
    has_said = False
    deadline = time.monotonic() + END_S
    while subscription.image_count > 0:
        image = subscription.image_at_index(0)
        has_said = has_said or (image is not None and image.is_end_of_stream)
        subscription.poll(lambda view, header: late.append(len(view)), 64, assemble=True)
        if late or time.monotonic() > deadline:
            raise SystemExit(
                f"an image is still there after {END_S} s, or messages came late: {late}"
            )
        time.sleep(0.001)
    return f"ended {has_said or any(ENDS)}"


def obey(handle: pyaeron.Publication | pyaeron.Subscription) -> None:
    for line in sys.stdin:
        match line.strip():
            case "close":
                handle.close()
                tell("closed")
            case "await":
                tell(await_end(handle))
            case other:
                raise SystemExit(f"unknown command {other!r}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("publish", "subscribe"))
    parser.add_argument("--channel", required=True)
    parser.add_argument("--stream", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--size-max", type=int, default=SIZE_MAX)
    parser.add_argument("--dir")
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = options.dir
        if directory is None:
            driver = pyaeron.MediaDriver()
            stack.callback(driver.close)
            directory = driver.dir
        aeron = pyaeron.Aeron(dir=directory)
        stack.callback(aeron.close)
        add = (
            aeron.add_publication
            if options.role == "publish"
            else lambda *where: aeron.add_subscription(*where, unavailable_image=note_end)
        )
        handle = add(options.channel, options.stream)
        tell(f"ready {directory} {aeron.client_id}")
        {"publish": publish, "subscribe": subscribe}[options.role](handle, options)
        tell(f"done {options.count}")
        obey(handle)
    return 0


if __name__ == "__main__":
    sys.exit(main())
