"""Forged datagrams beside an honest stream with a key: ``python -m tests.bench.forged``.

Two pairs of drivers carry the same load: one with a key, whose reader's port an attacker on the
path hits, and a plain one beside it, the control. The attacker sees the sealed datagrams and sends,
in turn: forged ones of made-up senders under the right key id, altered copies, replays, and plain
SETUPs. Prints what both readers got, what the driver counted, and the memory of the process that
has all drivers. Needs root, for the look at the wire.
"""

from __future__ import annotations

import argparse
import itertools
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

import rstream
from rstream import metrics, rate
from rstream.keys import GroupKey
from tests.hostile.frames import setup
from tests.sealed import Sealer, is_sealed
from tests.support import free_port

RATE = "10MB/s"
ITEM = b"x" * 1000
LINK_HEADERS = 14 + 20 + 8


def attack(port: int, seconds: float, per_s: int, secret: bytes) -> None:
    """The attacker's process: prints how many datagrams it sent. It uses of the key only the id."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    tap.bind(("lo", 0))
    tap.setblocking(False)
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    seen: deque[bytes] = deque(maxlen=512)
    plain = setup(session_id=7, stream_id=9)
    made = Sealer(secret)
    sent, begun_s = 0, time.monotonic()
    while (now_s := time.monotonic() - begun_s) < seconds:
        for _ in range(64):
            try:
                packet = tap.recv(1 << 17)
            except BlockingIOError:
                break
            datagram = packet[LINK_HEADERS:]
            if struct.unpack_from(">H", packet, 36)[0] == port and is_sealed(datagram):
                seen.append(datagram[: struct.unpack_from("<i", datagram)[0]])
        while sent < now_s * per_s:
            made.salt = os.urandom(12)
            copy = bytearray(seen[sent % len(seen)]) if seen else bytearray(made.forge(ITEM))
            copy[sent % len(copy)] ^= 1 + sent % 255
            kind = sent % 4
            if kind == 0:
                datagram = made.forge(ITEM)
            elif kind == 1:
                datagram = bytes(copy)
            elif kind == 2 and seen:
                datagram = seen[sent % len(seen)]
            else:
                datagram = plain
            out.sendto(datagram, ("127.0.0.1", port))
            sent += 1
        time.sleep(0.0005)
    print(sent, flush=True)


class Pair:
    """A publisher and a reader with drivers of their own; counts what the reader got."""

    def __init__(self, folder: str, name: str, key: GroupKey | None) -> None:
        self.port = free_port()
        channel = f"aeron:udp?endpoint=127.0.0.1:{self.port}"
        self.dirs = [os.path.join(folder, f"{name}-{side}") for side in ("reader", "publisher")]
        self.drivers = [rstream.Driver(dir=one) for one in self.dirs]
        given = {"channel": channel, "key": key}
        self.sub = rstream.subscriber("attacked", bytes, dir=self.dirs[0], **given)
        self.pub = rstream.publisher(
            "attacked", bytes, dir=self.dirs[1], rate=rate.Fixed(RATE), **given
        )
        self.count, self.is_over, self.wrong = 0, False, 0
        self.threads = [threading.Thread(target=one) for one in (self._read, self._send)]
        for thread in self.threads:
            thread.start()

    def _send(self) -> None:
        for number in itertools.count():
            if self.is_over:
                break
            self.pub.send(struct.pack("<q", number) + ITEM)
        self.pub.close()

    def _read(self) -> None:
        for item in self.sub:
            if struct.unpack_from("<q", item)[0] != self.count or item[8:] != ITEM:
                self.wrong += 1
            self.count += 1

    def close(self) -> None:
        self.is_over = True
        for thread in reversed(self.threads):
            thread.join()
        self.sub.close()
        for driver in self.drivers:
            driver.close()


def resident_kib() -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


def main() -> None:
    """Measure, or be the attacker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument("--per-s", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rs-forged-") as folder:
        key = GroupKey.new()
        attacked, control = Pair(folder, "sealed", key), Pair(folder, "plain", None)
        time.sleep(3)
        call = f"attack({attacked.port}, {options.seconds}, {options.per_s}, {key.secret!r})"
        code = f"from tests.bench.forged import attack; {call}"
        counts, memory = [attacked.count, control.count], [resident_kib()]
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(10):
            time.sleep(options.seconds / 10)
            memory.append(resident_kib())
        got = [attacked.count - counts[0], control.count - counts[1]]
        sent = int(process.communicate()[0])
        invalid = {
            one.label: one.value
            for one in metrics.counters(attacked.dirs[0])
            if one.label in ("Invalid packets", "Errors")
        }
        print(f"{sent} datagrams of the attacker in {options.seconds:g} s: {invalid}")
        print(f"attacked {got[0]}, control {got[1]} messages: {got[0] / got[1]:.3f}")
        print(f"wrong or repeated messages: {attacked.wrong} and {control.wrong}")
        print(f"resident memory, KiB, every tenth of the time: {memory}")
        attacked.close()
        control.close()


if __name__ == "__main__":
    main()
