"""Three hosts on a bridge, made of network namespaces.

Multicast; one host loses 5 % of its incoming datagrams, one is behind 100 Mbit/s.

What must hold: with min flow control the publisher goes at the pace of the slow host, and every
host gets everything in order; max does not wait for the slow host; tagged waits only for hosts with
the tag.

Needs root, ip, tc and nft; skips with the reason where namespaces cannot be made.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "IPv4": ("224.20.30.41:40456", "10.77.0.{}"),
    "IPv6": ("[ff05::4141]:40457", "[fd77::{}]"),
}
SLOW_BITS_PER_S = 100_000_000
SECONDS = 2.0
TAG = 5
HOSTS = (1, 2, 3)
LOSSY, SLOW = 2, 3
OPTIONS = {
    "initial-window-length": "256k",
    "so-rcvbuf": "1m",
    "term-buffer-length": "4m",
    "publication-linger-timeout": "2s",
}


def _run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise OSError(f"{' '.join(command)}: {result.stderr.strip()}")


@dataclass(frozen=True)
class Network:
    """Namespaces <prefix>0 (the bridge) to <prefix>3."""

    prefix: str

    def build(self) -> None:
        switch = f"{self.prefix}0"
        _run("ip", "netns", "add", switch)
        _run(
            "ip",
            "-n",
            switch,
            "link",
            "add",
            "name",
            "br0",
            "type",
            "bridge",
            "mcast_snooping",
            "0",
        )
        _run("ip", "-n", switch, "link", "set", "br0", "up")
        for host in HOSTS:
            name, port = f"{self.prefix}{host}", f"p{host}"
            _run("ip", "netns", "add", name)
            _run(
                "ip",
                "-n",
                switch,
                "link",
                "add",
                port,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                name,
            )
            _run("ip", "-n", switch, "link", "set", port, "master", "br0", "up")
            for arguments in (
                ("link", "set", "lo", "up"),
                ("link", "set", "eth0", "up"),
                ("addr", "add", f"10.77.0.{host}/24", "dev", "eth0"),
                ("addr", "add", f"fd77::{host}/64", "dev", "eth0", "nodad"),
                ("route", "add", "224.0.0.0/4", "dev", "eth0"),
            ):
                _run("ip", "-n", name, *arguments)
        _run(
            "tc",
            "-n",
            switch,
            "qdisc",
            "add",
            "dev",
            f"p{SLOW}",
            "root",
            "tbf",
            "rate",
            "100mbit",
            "burst",
            "64kb",
            "latency",
            "20ms",
        )
        rules = (
            "table inet loss { chain in { type filter hook input priority 0;"
            " meta l4proto udp numgen random mod 100 < 5 drop; }; }"
        )
        _run("ip", "netns", "exec", f"{self.prefix}{LOSSY}", "nft", rules)

    def remove(self) -> None:
        for number in (0, *HOSTS):
            subprocess.run(
                ["ip", "netns", "del", f"{self.prefix}{number}"], capture_output=True, check=False
            )

    def channel(self, host: int, options: str = "", family: str = "IPv4") -> str:
        group, address = FAMILIES[family]
        return f"aeron:udp?endpoint={group}|interface={address.format(host)}{options}"


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    missing = [program for program in ("ip", "tc", "nft") if shutil.which(program) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"network namespaces need root and {missing or 'the right to make them'}")
    made = Network(f"rs{os.getpid()}-")
    try:
        made.build()
    except OSError as error:
        made.remove()
        pytest.skip(f"no network namespaces here: {error}")
    yield made
    made.remove()


@contextlib.contextmanager
def worker(
    network: Network, host: int, role: str, channel: str, directory: str
) -> Iterator[subprocess.Popen[str]]:
    task = json.dumps({"role": role, "dir": directory, "channel": channel, "options": OPTIONS})
    command = [
        "ip",
        "netns",
        "exec",
        f"{network.prefix}{host}",
        sys.executable,
        "-m",
        "tests.system.network_worker",
        task,
    ]
    environment = {**os.environ, "RSTREAM_HOST_TOKEN": f"host-{host}"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    )
    try:
        assert line_of(process) == "ready"
        yield process
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=20)
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line, "a host ended; see its standard error"
    return line


def ask(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()
    return line_of(process)


def run(
    network: Network,
    make_dir: Callable[[], str],
    publication: str,
    tags: dict[int, int],
    family: str = "IPv4",
) -> tuple[float, list[dict[str, Any]]]:
    """Publish from host 1 to a subscriber on each host.

    Returns the publisher's bits per second and the result of each subscriber.
    """
    with contextlib.ExitStack() as stack:
        subscriptions = {
            host: network.channel(host, f"|gtag={tags[host]}" if host in tags else "", family)
            for host in HOSTS
        }
        subscribers = [
            stack.enter_context(worker(network, host, "subscribe", channel, make_dir()))
            for host, channel in subscriptions.items()
        ]
        publisher = stack.enter_context(
            worker(network, 1, "publish", network.channel(1, publication, family), make_dir())
        )
        for subscriber in subscribers:
            assert line_of(subscriber) == "image"
        sent = json.loads(ask(publisher, f"go {SECONDS}"))
        assert ask(publisher, "close") == "closed"
        came = [json.loads(line_of(subscriber)) for subscriber in subscribers]
    print(f"{publication}: sent {sent}, came {came}")
    for got in came:
        assert got["is_ordered"]
        got["is_all"] = got["is_complete"] and got["messages"] == sent["messages"]
    return 8 * sent["bytes"] / sent["seconds"], came


def run_unpaced(
    network: Network, make_dir: Callable[[], str], publication: str, tags: dict[int, int]
) -> tuple[float, list[dict[str, Any]]]:
    """Like run, where the slow host must not pace the publisher.

    A busy machine slows it too, so the first fast run of three counts.
    """
    rate, came = run(network, make_dir, publication, tags)
    for _ in range(2):
        if rate <= 2 * SLOW_BITS_PER_S:
            rate, came = run(network, make_dir, publication, tags)
    return rate, came


@pytest.mark.parametrize("family", FAMILIES)
def test_min_paces_to_the_slow_host(
    network: Network, make_driver_dir: Callable[[], str], family: str
) -> None:
    """I8."""
    rate, came = run(network, make_driver_dir, "|fc=min,g:/3", {}, family)
    assert rate < 1.2 * SLOW_BITS_PER_S
    assert all(got["is_all"] for got in came)


def test_max_does_not_wait_for_the_slow_host(
    network: Network, make_driver_dir: Callable[[], str]
) -> None:
    """I8."""
    rate, came = run_unpaced(network, make_driver_dir, "|fc=max", {})
    assert rate > 2 * SLOW_BITS_PER_S
    assert came[0]["is_all"]
    assert not came[SLOW - 1]["is_all"]


def test_tagged_waits_for_the_tag(network: Network, make_driver_dir: Callable[[], str]) -> None:
    """I8."""
    paced, came = run(network, make_driver_dir, f"|fc=tagged,g:{TAG}/1", {SLOW: TAG})
    assert paced < 1.2 * SLOW_BITS_PER_S
    assert came[0]["is_all"]
    assert came[SLOW - 1]["is_all"]
    free, came = run_unpaced(network, make_driver_dir, f"|fc=tagged,g:{TAG}/1", {1: TAG})
    assert free > 2 * SLOW_BITS_PER_S
    assert came[0]["is_all"]
