"""Our datagrams as Wireshark's Aeron dissector reads them.

What must hold: it decodes as many as our driver counts as sent, none malformed, every kind present.
The test causes each kind: full terms force PAD frames, loss forces NAKs, and an Aeron subscriber
with CUBIC, which measures round trips, makes our publisher answer with RTTM. Our driver counts
below the fault injection: a datagram lost on purpose was never sent.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rstream.client import Client
from tests.interop.ends import STREAM, counter, free_port, lossy_driver, peer, receive_all, send_all

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# The dissector's names, one field "aeron.NAME.type" per kind.
KINDS = ("pad", "data", "heartbeat", "nak", "sm", "setup", "rtt", "err")
COUNT = 300
SIZE_MAX = 1 << 16
QUIET_S = 0.7


@dataclass
class Decoded:
    """The datagrams of one side."""

    datagrams: int = 0
    malformed: int = 0
    kinds: Counter[str] = field(default_factory=Counter)  # frames; each frame of a datagram counts


@pytest.fixture
def tshark() -> str:
    path = shutil.which("tshark")
    if path is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    if os.geteuid() != 0:
        pytest.skip("capturing on the loopback needs root")
    return path


@contextmanager
def recording(tshark: str, capture: Path, ports: tuple[int, int]) -> Iterator[None]:
    command = [
        tshark,
        "-q",
        "-i",
        "lo",
        "-B",
        "128",
        "-f",
        f"udp port {ports[0]} or udp port {ports[1]}",
        "-w",
        str(capture),
    ]
    recorder = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert recorder.stderr is not None
        while "Capturing on" not in recorder.stderr.readline():
            assert recorder.poll() is None
        time.sleep(1.0)  # the capture starts a moment after it says so
        yield
        time.sleep(1.0)
    finally:
        recorder.send_signal(signal.SIGINT)
        _, text = recorder.communicate(timeout=30)
    dropped = re.search(r"(\d+) packets? dropped", text)
    assert dropped is None or int(dropped[1]) == 0, text


def test_every_datagram_is_decoded(
    aeron_python: str, driver_dir: str, tshark: str, tmp_path: Path
) -> None:
    """O6, O9."""
    ports = (free_port(), free_port())
    capture = tmp_path / "aeron.pcap"
    with recording(tshark, capture, ports):
        sent, received = traffic(aeron_python, driver_dir, ports)
    ours, theirs = decode(tshark, capture, ports)
    print(f"our driver sent {sent}, received {received}; captured: ours {ours}, theirs {theirs}")
    capture.unlink()
    assert ours.malformed == 0
    assert ours.datagrams == sent
    assert theirs.malformed == 0
    assert theirs.datagrams >= received  # the system may have dropped some before our sockets
    missing = {"pad", "data", "nak", "sm", "setup", "rtt"} - set(ours.kinds)
    assert not missing, f"never seen: {missing}"


def traffic(aeron_python: str, driver_dir: str, ports: tuple[int, int]) -> tuple[int, int]:
    """Send in both directions with loss.

    Returns the datagrams that our driver sent and received, once it is silent.
    """
    out, back = (f"aeron:udp?endpoint=127.0.0.1:{port}" for port in ports)
    measuring = {"AERON_CUBICCONGESTIONCONTROL_MEASURERTT": "true"}
    quick = {
        "publication-linger-timeout": "100ms",
        "image-liveness-timeout": "1500ms",
        "timer-interval": "100ms",
    }
    # On the loopback a capture sees a run of datagrams before the kernel splits it.
    quick["segmentation-offload"] = "false"
    with lossy_driver(driver_dir, **quick):
        with Client(dir=driver_dir) as client:
            with (
                peer(
                    aeron_python,
                    "subscribe",
                    f"{out}|cc=cubic",
                    COUNT,
                    size_max=SIZE_MAX,
                    env=measuring,
                ) as them,
                client.add_publication(f"{out}|term-length=512k", STREAM) as publication,
            ):
                send_all(publication, COUNT, SIZE_MAX)
                them.await_done()
                time.sleep(0.3)  # it keeps measuring: the first round trips may have been lost
                them.assert_nothing_invalid()
            with (
                client.add_subscription(back, STREAM) as subscription,
                peer(aeron_python, "publish", back, COUNT, size_max=SIZE_MAX) as them,
            ):
                receive_all(subscription, COUNT, SIZE_MAX)
                them.await_done()
                them.assert_nothing_invalid()
        return await_silence(driver_dir)


def await_silence(driver_dir: str) -> tuple[int, int]:
    """Wait until the driver neither sends nor receives for a while."""

    def counts() -> tuple[int, int]:
        return counter(driver_dir, "rs-datagrams-sent"), counter(
            driver_dir, "rs-datagrams-received"
        )

    last = counts()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        time.sleep(QUIET_S)
        if last == (last := counts()):
            return last
    raise AssertionError(f"the driver is still busy with no client: {last}")


def decode(tshark: str, capture: Path, ports: tuple[int, int]) -> tuple[Decoded, Decoded]:
    """Ours and theirs. The first port is the one they read (we send to it), the second is ours."""
    dissect = [argument for port in ports for argument in ("-d", f"udp.port=={port},aeron")]
    fields = [
        "udp.srcport",
        "udp.dstport",
        "frame.protocols",
        "_ws.malformed",
        *(f"aeron.{kind}.type" for kind in KINDS),
    ]
    command = [
        tshark,
        "-r",
        str(capture),
        *dissect,
        "-T",
        "fields",
        *(a for f in fields for a in ("-e", f)),
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ours, theirs = Decoded(), Decoded()
    for line in output.splitlines():
        source, destination, protocols, broken, *types = line.split("\t")
        side = ours if int(destination) == ports[0] or int(source) == ports[1] else theirs
        side.datagrams += 1
        side.malformed += "aeron" not in protocols or bool(broken) or not any(types)
        for kind, text in zip(KINDS, types, strict=True):
            if text:
                side.kinds[kind] += text.count(",") + 1
    return ours, theirs
