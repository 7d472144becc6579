"""A host on the path between a publisher and a reader: sees, keeps, alters, repeats datagrams.

publisher -> (relay.port)  relay  -> reader
          <-                      <-
"""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable

Address = tuple[str, int]
Change = Callable[[bytes], list[bytes]]


def unchanged(datagram: bytes) -> list[bytes]:
    return [datagram]


class Relay:
    """Passes datagrams on in a thread of its own.

    Args:
        reader: where the reader listens.
        change: what becomes of each datagram of the publisher: none, one or several.
    """

    def __init__(self, reader: Address, change: Change = unchanged) -> None:
        self.to_reader: list[bytes] = []
        self.to_publisher: list[bytes] = []
        self.change = change
        self._reader = reader
        self._front = self._open()
        self._back = self._open()
        self._wake, self._woken = socket.socketpair()
        self.port: int = self._front.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @staticmethod
    def _open() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.bind(("127.0.0.1", 0))
        made.setblocking(False)
        return made

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.close()
        self._thread.join(10)
        for one in (self._front, self._back, self._woken):
            one.close()

    @property
    def seen(self) -> list[bytes]:
        """All datagrams of both directions."""
        return [*self.to_reader, *self.to_publisher]

    def send(self, datagram: bytes) -> None:
        """To the reader, from the address of the publisher as the reader knows it."""
        self._back.sendto(datagram, self._reader)

    def _run(self) -> None:
        publisher: Address | None = None
        while True:
            ready, _, _ = select.select([self._front, self._back, self._woken], [], [])
            if self._woken in ready:
                return
            try:
                if self._front in ready:
                    datagram, publisher = self._front.recvfrom(65536)
                    self.to_reader.append(datagram)
                    for one in self.change(datagram):
                        self.send(one)
                elif publisher is not None:
                    datagram = self._back.recv(65536)
                    self.to_publisher.append(datagram)
                    self._front.sendto(datagram, publisher)
            except (BlockingIOError, ConnectionRefusedError):
                continue  # an end is not there yet, or no more
