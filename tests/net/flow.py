"""One end of a flow, as a program in its host: ``python -m tests.net.flow TASK_JSON``.

The task: role (send, read), kind (rstream, window, cubic, bbr, reno, udp), address and port of the
reader, size of a message, and for udp the pace in bits per second of IP. It prints "ready", a
sender begins at the line "go", and both end when standard input does. A reader then prints when it
had how many bytes, a sender how many messages it sent.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

#: A reader notes its progress at most so often.
NOTE_NS = 20_000_000
#: A sender at a fixed pace that comes late catches up at once, but not by more than so much: its
#: bursts must not be what fills the queue.
BURST_BYTES = 16_000
UDP_HEADERS = 28
#: Datagrams may wait for their reader: the link must be what drops them.
BUFFER_BYTES = 4 << 20
#: Linux's; Python 3.11 has no names for them.
SOL_UDP, UDP_GRO = 17, 104
CONNECT_S = 20.0


class Notes:
    """How many bytes a reader had at which time."""

    def __init__(self) -> None:
        self.bytes = self.messages = 0
        self._next_ns = 0
        self.at_ns: list[int] = []
        self.had: list[int] = []

    def take(self, length: int) -> None:
        self.bytes += length
        self.messages += 1
        now_ns = time.monotonic_ns()
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + NOTE_NS
            self.at_ns.append(now_ns)
            self.had.append(self.bytes)

    def told(self) -> dict[str, Any]:
        return {"at_ns": self.at_ns, "had": self.had, "messages": self.messages}


def say(text: str) -> None:
    print(text, flush=True)


# ---- rstream: default settings, and cc=static ----


def rstream_stream(task: dict[str, Any]) -> tuple[str, Any]:
    import rstream

    channel = rstream.Channel.udp(f"{task['address']}:{task['port']}")
    if (task["kind"], task["role"]) == ("window", "send"):
        channel = dataclasses.replace(channel, congestion_control="static")
    return f"net-{task['port']}", channel


def read_rstream(task: dict[str, Any], notes: Notes) -> None:
    import rstream

    name, channel = rstream_stream(task)
    with rstream.subscriber(name, bytes, channel=channel) as sub:
        say("ready")
        for message in sub:
            notes.take(len(message))


def send_rstream(task: dict[str, Any], notes: Notes, wait_for_go: Callable[[], object]) -> None:
    import rstream

    name, channel = rstream_stream(task)
    message = bytes(task["size"])
    with rstream.publisher(name, bytes, channel=channel) as pub:
        say("ready")
        wait_for_go()
        while True:
            pub.send(message)
            notes.messages += 1


# ---- TCP ----


def read_tcp(task: dict[str, Any], notes: Notes) -> None:
    with socket.create_server((task["address"], task["port"])) as server:
        say("ready")
        connection, _ = server.accept()
        buffer = bytearray(1 << 18)
        while count := connection.recv_into(buffer):
            notes.take(count)


def send_tcp(task: dict[str, Any], notes: Notes, wait_for_go: Callable[[], object]) -> None:
    message = bytes(task["size"])
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, task["kind"].encode())
        connection.settimeout(CONNECT_S)
        connection.connect((task["address"], task["port"]))
        connection.settimeout(None)
        say("ready")
        wait_for_go()
        while True:
            connection.sendall(message)
            notes.messages += 1


# ---- UDP at a fixed pace: the control ----


def read_udp(task: dict[str, Any], notes: Notes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        with contextlib.suppress(OSError):  # SO_RCVBUFFORCE
            reader.setsockopt(socket.SOL_SOCKET, 33, BUFFER_BYTES)
        if task.get("is_coalesced"):
            reader.setsockopt(SOL_UDP, UDP_GRO, 1)
        reader.bind((task["address"], task["port"]))
        say("ready")
        buffer = bytearray(1 << 16)
        while True:
            notes.take(reader.recv_into(buffer))


def send_udp(task: dict[str, Any], notes: Notes, wait_for_go: Callable[[], object]) -> None:
    message = bytes(task["size"])
    step_s = 8 * (len(message) + UDP_HEADERS) / task["bits_per_s"]
    late_s = 8 * BURST_BYTES / task["bits_per_s"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((task["address"], task["port"]))
        say("ready")
        wait_for_go()
        due_s = time.monotonic()
        while True:
            now_s = time.monotonic()
            if now_s < due_s:
                time.sleep(due_s - now_s)
                continue
            due_s = max(due_s, now_s - late_s) + step_s
            sender.send(message)
            notes.messages += 1


READERS = {"rstream": read_rstream, "window": read_rstream, "udp": read_udp}
SENDERS = {"rstream": send_rstream, "window": send_rstream, "udp": send_udp}


def run(work: Callable[..., None], *arguments: Any) -> None:
    """An error ends the program; a reader whose sender has ended waits to be asked."""
    try:
        work(*arguments)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def main() -> None:
    task = json.loads(sys.argv[1])
    notes, go = Notes(), threading.Event()
    if task["role"] == "read":
        work, arguments = READERS.get(task["kind"], read_tcp), (task, notes)
    else:
        work, arguments = SENDERS.get(task["kind"], send_tcp), (task, notes, go.wait)
    threading.Thread(target=run, args=(work, *arguments), daemon=True).start()
    for line in sys.stdin:
        if line.strip() == "go":
            go.set()
    say(json.dumps(notes.told()))
    os._exit(0)  # the flow has no end of its own


if __name__ == "__main__":
    main()
