"""Our datagrams as Wireshark's Aeron dissector reads them: as many decoded as captured, none malformed, every kind present.

The kinds are made on purpose: small terms force PAD frames, loss forces NAK, and an Aeron subscriber with CUBIC that measures round trips makes our
publisher answer with RTTM.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from rstream import metrics
from rstream.client import Client

from tests.interop.test_aeron_peer import STREAM, finish, free_port, lossy_driver, peer, receive_all, send_all

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

KINDS = {0: "PAD", 1: "DATA", 2: "NAK", 3: "SM", 5: "SETUP", 6: "RTTM"}
COUNT = 200


@pytest.fixture
def tshark() -> str:
    path = shutil.which("tshark")
    if path is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    if os.geteuid() != 0:
        pytest.skip("capturing on the loopback needs root")
    return path


def test_every_datagram_is_decoded(aeron_python: str, driver_dir: str, tshark: str, tmp_path: Path) -> None:
    ports = (free_port(), free_port())
    capture = tmp_path / "aeron.pcap"
    command = [tshark, "-q", "-i", "lo", "-B", "64", "-f", f"udp port {ports[0]} or udp port {ports[1]}", "-w", str(capture)]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert recorder.stderr is not None
        while "Capturing on" not in recorder.stderr.readline():
            assert recorder.poll() is None
        time.sleep(0.5)  # the capture is open a moment after it says so
        sent = traffic(aeron_python, driver_dir, ports)
        time.sleep(0.5)
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait(20)
    found, total, malformed = decode(tshark, capture, ports)
    print(f"captured {total}, kinds {dict(found)}, malformed {malformed}, sent by us {sent}")
    assert malformed == 0
    assert set(KINDS.values()) <= set(found), f"missing: {set(KINDS.values()) - set(found)}"


def traffic(aeron_python: str, driver_dir: str, ports: tuple[int, int]) -> int:
    """Both directions, with loss; returns the datagrams that our driver counted as sent, if it counts them."""
    out = f"aeron:udp?endpoint=127.0.0.1:{ports[0]}|term-length=8m"
    back = f"aeron:udp?endpoint=127.0.0.1:{ports[1]}"
    measuring = {"AERON_CUBICCONGESTIONCONTROL_MEASURERTT": "true"}
    with lossy_driver(driver_dir), Client(dir=driver_dir) as client:
        with peer(aeron_python, "subscribe", f"aeron:udp?endpoint=127.0.0.1:{ports[0]}|cc=cubic", COUNT, env=measuring) as process:
            send_all(client.add_publication(out, STREAM), COUNT)
            finish(process, COUNT)
        subscription = client.add_subscription(back, STREAM)
        with peer(aeron_python, "publish", back, COUNT) as process:
            receive_all(subscription, COUNT)
            finish(process, COUNT)
        return sum(c.value for c in metrics.counters(driver_dir) if c.label.startswith("rs-datagrams-sent"))


def decode(tshark: str, capture: Path, ports: tuple[int, int]) -> tuple[Counter[str], int, int]:
    """Frames by kind, datagrams captured, and how many the dissector calls malformed or does not know."""
    dissect = [argument for port in ports for argument in ("-d", f"udp.port=={port},aeron")]
    command = [tshark, "-r", str(capture), *dissect, "-T", "fields", "-e", "frame.protocols", "-e", "aeron.type", "-e", "_ws.malformed"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    total = malformed = 0
    for line in output.splitlines():
        protocols, types, broken = (line.split("\t") + ["", ""])[:3]
        total += 1
        if "aeron" not in protocols or broken or not types:
            malformed += 1
        for text in types.split(","):
            if text:
                found[KINDS.get(int(text, 0), text)] += 1
    return found, total, malformed
