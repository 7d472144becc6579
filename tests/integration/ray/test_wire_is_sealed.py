"""What a host between two Ray nodes sees of a stream.

What must hold: with the default settings no part of an item is on the wire. With ``key=None`` it
is, so the look at the wire would have found it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Generator
from typing import Any

import pytest

from tests.support import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(os.geteuid() != 0, reason="looking at the wire needs root"),
]

MARK = b"MARK-OF-THE-PAYLOAD"
ALL_PROTOCOLS = 0x0003


@contextlib.contextmanager
def wire(port: int) -> Generator[list[bytes]]:
    """The UDP packets of the loopback interface from or to a port."""
    seen: list[bytes] = []
    is_over = threading.Event()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as tap:
        tap.bind(("lo", 0))
        tap.settimeout(0.1)
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        number = port.to_bytes(2, "big")

        def look() -> None:
            while not is_over.is_set():
                with contextlib.suppress(TimeoutError):
                    packet = tap.recv(1 << 17)
                    if packet[23:24] == b"\x11" and number in (packet[34:36], packet[36:38]):
                        seen.append(packet)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield seen
        finally:
            is_over.set()
            thread.join()


class Reader:
    def __init__(self, directory: str, options: dict[str, Any]) -> None:
        import rstream.ray

        self.got: list[Any] = []
        self.end = rstream.ray.reader(dir=directory, host="127.0.0.1", **options)
        self.end.start(self.got.append)

    def handle(self) -> Any:
        return self.end.handle

    def count(self) -> int:
        return len(self.got)


class Writer:
    def send(self, handle: Any, directory: str, count: int) -> None:
        with handle.publisher(driver_dir=directory) as publisher:
            for number in range(count):
                publisher.send({"n": number, "text": MARK.decode() * 100})


@pytest.mark.parametrize(("options", "is_sealed"), [({}, True), ({"key": None}, False)])
def test_items_between_nodes_are_sealed(
    ray_session: Any,
    driver_dir: str,
    make_driver_dir: Any,
    options: dict[str, Any],
    is_sealed: bool,
) -> None:
    ray = ray_session
    import rstream

    far = make_driver_dir()
    with rstream.Driver(dir=driver_dir), rstream.Driver(dir=far):
        reader = ray.remote(num_cpus=0)(Reader).remote(driver_dir, options)
        other = {"env_vars": {"RSTREAM_HOST_TOKEN": "another host"}}
        writer = ray.remote(num_cpus=0, runtime_env=other)(Writer).remote()
        handle = ray.get(reader.handle.remote())
        assert ("rs-key=id:" in handle.udp_channel) == is_sealed
        with wire(int(handle.endpoint.rpartition(":")[2])) as seen:
            ray.get(writer.send.remote(handle, far, 200))
            until(lambda: ray.get(reader.count.remote()) == 200, 20)
        found = sum(MARK[:8] in packet for packet in seen)
        assert sum(map(len, seen)) > 200 * 100 * len(MARK)
        assert found == 0 if is_sealed else found > 0
