"""The network's bed on real sockets: it does what it is asked, and leaves nothing.

Needs Linux, root and /dev/net/tun; skips with the reason. Figures are loose: the machine may have
other things to do.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.net import bed as beds
from tests.net.bed import Bed, Link
from tests.net.cells import ceiling
from tests.net.run import CONTROL_BYTES, Flow, run

pytestmark = [pytest.mark.timeout(180)]
CONTROL = Flow("udp", CONTROL_BYTES)


@pytest.fixture(scope="module", autouse=True)
def _needs_a_bed() -> None:
    reason = beds.why_not()
    if reason:
        pytest.skip(reason)


def namespaces() -> set[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in listed.stdout.splitlines() if line.strip()}


def dead_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_a_bed_that_fails_leaves_nothing() -> None:
    with pytest.raises(ZeroDivisionError):
        with Bed(Link(10, 10, 64), left=2) as bed:
            names = {bed.namespace(host) for host in range(3)}
            assert names <= namespaces()
            server = bed.start(bed.right(0), "http.server", "8000")
            folder = bed._folder
            assert folder.exists()
            1 / 0
    assert server.returncode is not None
    assert not names & namespaces()
    assert not folder.exists()


def test_what_a_killed_run_left_is_removed() -> None:
    pid = dead_pid()
    left, own = f"{beds.PREFIX}-{pid}-0-0", f"{beds.PREFIX}-{os.getpid()}-other"
    folder = beds.SHARED_MEMORY / f"{beds.PREFIX}-{pid}-0"
    for name in (left, own):
        subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        folder.mkdir()
        (folder / "report").touch()
        beds.sweep()
        assert left not in namespaces()
        assert not folder.exists()
        assert own in namespaces()  # its run is alive
    finally:
        for name in (left, own):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def test_the_link_has_its_rate_and_its_queue() -> None:
    """9 Mbit/s through a link that has 5: the rest is dropped, and the queue is full."""
    done = run(Link(10, 10, 25, steps=((0.0, 5.0),)), [CONTROL], 2.5)
    counts = done.counts(0, 0.5)
    assert counts.passed_bytes * 8 <= 5.2e6 * 2.1
    assert counts.dropped > 0
    longest_ms = max(done.report.waits_between(done.ns(0.5), done.ended_ns))
    assert longest_ms == pytest.approx(40, rel=0.1)  # 25 kB at 5 Mbit/s


def test_the_link_loses_what_it_is_told() -> None:
    done = run(Link(10, 10, 64, loss=0.2), [CONTROL], 2.0)
    counts = done.counts(0)
    came_out = counts.passed + counts.lost
    assert came_out > 50
    spread = 6 * (0.2 * 0.8 / came_out) ** 0.5
    assert counts.lost / came_out == pytest.approx(0.2, abs=spread)
    assert done.outcomes[0].came <= done.outcomes[0].sent - counts.lost
    assert done.bed_loss(0) < 0.05


def test_a_round_trip_takes_its_time() -> None:
    with Bed(Link(10, 60, 64, extra_rtt_ms=(0, 80)), left=2) as bed:
        reader = bed.start(bed.right(0), "http.server", "8000", "--bind", bed.address(2))
        took_ms = [
            float(bed.start(bed.left(host), __name__, bed.address(2)).communicate()[0])
            for host in (0, 1)
        ]
        assert reader.poll() is None
    assert 60 <= took_ms[0] < took_ms[1]
    assert took_ms[1] >= 140


def test_an_end_that_fails_is_told() -> None:
    with pytest.raises(OSError, match="Message too long"):
        run(Link(10, 10, 64), [Flow("udp", 70_000)], 1.0)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("kinds", "least"),
    [
        (("cubic",), 0.5),
        (("bbr",), 0.5),
        (("rstream",), 0.7),
        (("rstream:1000000",), 0.6),
        (("window",), 0.1),
        (("rstream", "cubic"), 0.3),
        (("rstream", "rstream"), 0.5),
    ],
)
def test_flows_go_through_the_link(kinds: tuple[str, ...], least: float) -> None:
    """Each kind alone and rstream beside others: all arrive, and not faster than the link."""
    flows = [
        Flow(kind.partition(":")[0], int(kind.partition(":")[2] or CONTROL_BYTES)) for kind in kinds
    ]
    done = run(Link(20, 10, 64), flows, 4.0)
    shares = [done.share(number, 1.0) for number in range(len(flows))]
    most = max(ceiling(flow.kind, flow.size) for flow in flows)
    assert least <= sum(shares), shares
    # From the start, when nothing waits at a reader: later its queue would count as well.
    whole = [done.share(number, 0.0) for number in range(len(flows))]
    assert sum(whole) <= 1.03 * most, whole
    assert done.report.device_drops == 0
    for number, outcome in enumerate(done.outcomes):
        counts = done.whole(number)
        assert counts.passed_bytes >= outcome.had[-1] > 0
        assert counts.lost == 0


def connect(address: str) -> None:
    """How long a connection takes: a round trip, in ms."""
    import socket
    import time

    while True:
        began_s = time.monotonic()
        try:
            socket.create_connection((address, 8000)).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
            continue
        print(1000 * (time.monotonic() - began_s))
        return


if __name__ == "__main__":
    connect(sys.argv[1])
