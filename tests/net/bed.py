"""Network namespaces joined by an emulated link, and their certain end.

    link = Link(rate_mbit=100, rtt_ms=10, queue_kb=62)
    with Bed(link) as bed:
        reader = bed.start(bed.right(0), "tests.net.flow", "{...}")
        ...
        report = bed.finish()

Hosts on the left send, hosts on the right read; host i has the address 10.88.0.(i + 1). The link
is ``transport_ext/tests/net/main.c``. Whatever still runs in the namespaces is ended with them, so
also a driver that started itself.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests import c_builds
from tests.net.report import Report

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "rsnet"
DEVICE = "net0"
#: Packets that a device keeps for a link that is late; the queue of the link is what drops.
DEVICE_QUEUE = 20_000
SHARED_MEMORY = Path("/dev/shm")
#: Each flow begins as if it were the first of its host.
SETTINGS = (
    "net.ipv4.tcp_no_metrics_save=1",
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv6.conf.default.disable_ipv6=1",
)
END_S = 10.0
_numbers = itertools.count()


@dataclass(frozen=True)
class Link:
    """A link from left to right, and back; the way back only delays."""

    rate_mbit: float
    rtt_ms: float
    queue_kb: float
    loss: float = 0.0
    reorder: float = 0.0
    hold_ms: float = 0.0
    #: Round trip of each host on the left beyond rtt_ms.
    extra_rtt_ms: tuple[float, ...] = ()
    #: Seconds after the first flow began, and the rate from then on, in Mbit/s.
    steps: tuple[tuple[float, float], ...] = ()
    seed: int = 1

    @property
    def bits_per_s(self) -> int:
        return round(self.rate_mbit * 1e6)

    def arguments(self) -> list[str]:
        """What net_link is told of the two directions."""
        delay = f"delay={round(self.rtt_ms / 2 * 1e6)}ns"
        forward = [
            f"rate={self.bits_per_s}",
            delay,
            f"queue={round(self.queue_kb * 1000)}",
            f"loss={self.loss:.6f}",
            f"reorder={self.reorder:.6f}",
            f"hold={round(self.hold_ms * 1e6)}ns",
        ]
        extra = [f"{round(ms / 2 * 1e6)}ns" for ms in self.extra_rtt_ms]
        return [
            *("--forward", ",".join(forward), "--back", delay, "--seed", str(self.seed)),
            *(("--extra", ",".join(extra)) if extra else ()),
        ]


def why_not() -> str:
    """Why this machine can have no bed; empty: it can."""
    if sys.platform != "linux":
        return "network namespaces need Linux"
    if os.geteuid() != 0:
        return "network namespaces and TUN devices need root"
    if shutil.which("ip") is None:
        return "the program ip (iproute2) is not installed"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    tried = f"{PREFIX}-{os.getpid()}-try"
    made = _run("ip", "netns", "add", tried)
    if made:
        return f"no network namespaces here: {made}"
    try:
        return _run("ip", "-n", tried, "tuntap", "add", DEVICE, "mode", "tun")
    finally:
        _run("ip", "netns", "del", tried)


def _run(*command: str) -> str:
    """Empty, or what went wrong."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{' '.join(command)}: {done.stderr.strip()}"


def _must(*command: str) -> None:
    wrong = _run(*command)
    if wrong:
        raise OSError(wrong)


def _add_namespace(name: str) -> None:
    _must("ip", "netns", "add", name)
    _must("ip", "-n", name, "link", "set", "lo", "up")
    for setting in SETTINGS:  # a kernel may have no IPv6
        _run("ip", "netns", "exec", name, "sysctl", "-q", "-w", setting)


def join_by_veth(addresses: Mapping[str, str]) -> None:
    """Make two namespaces of these names that a veth pair joins, whose ends have the addresses."""
    for name in addresses:
        _add_namespace(name)
    left, right = addresses
    pair = ("type", "veth", "peer", "name", DEVICE, "netns", right)
    _must("ip", "-n", left, "link", "add", DEVICE, *pair)
    for name, address in addresses.items():
        _must("ip", "-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
        _must("ip", "-n", name, "link", "set", DEVICE, "up")


def sweep() -> None:
    """Remove what runs have left whose process was killed."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    names = [line.split()[0] for line in listed.stdout.splitlines() if line.strip()]
    for name in names:
        if _is_orphan(name):
            remove_namespace(name)
    for path in SHARED_MEMORY.glob(f"{PREFIX}-*"):
        if _is_orphan(path.name):
            shutil.rmtree(path, ignore_errors=True)


def _is_orphan(name: str) -> bool:
    prefix, _, rest = name.partition("-")
    pid = rest.partition("-")[0]
    return prefix == PREFIX and pid.isdigit() and not Path(f"/proc/{pid}").exists()


def _pids(namespace: str) -> list[int]:
    told = subprocess.run(
        ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in told.stdout.split()]


def remove_namespace(name: str) -> None:
    """End what runs in it, and remove it."""
    deadline_s = time.monotonic() + END_S
    while (pids := _pids(name)) and time.monotonic() < deadline_s:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        time.sleep(0.01)
    _run("ip", "netns", "del", name)


class Bed:
    """The namespaces of a run, with the link between them."""

    def __init__(self, link: Link, left: int = 1, right: int = 1) -> None:
        self.link = link
        self._program = c_builds.make("dev", "net_link") / "tests" / "net_link"
        name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
        self._names = [f"{name}-{host}" for host in range(left + right)]
        self._left = left
        self._folder = Path(tempfile.gettempdir()) / name
        if SHARED_MEMORY.is_dir():
            self._folder = SHARED_MEMORY / name
        self._process: subprocess.Popen[str] | None = None
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        sweep()
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _build(self) -> None:
        self._folder.mkdir()
        for name in self._names:
            _add_namespace(name)
        command = [
            *(str(self._program), "--left", ",".join(self._names[: self._left])),
            *("--right", ",".join(self._names[self._left :])),
            *("--report", str(self._folder / "report"), *self.link.arguments()),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            raise OSError(f"{' '.join(command)} ended at its start")
        for host, name in enumerate(self._names):
            for arguments in (
                ("addr", "add", f"{self.address(host)}/24", "dev", DEVICE),
                ("link", "set", DEVICE, "txqueuelen", str(DEVICE_QUEUE), "up"),
            ):
                _must("ip", "-n", name, *arguments)

    def left(self, number: int) -> int:
        """The number of a host on the left."""
        return number

    def right(self, number: int) -> int:
        """The number of a host on the right."""
        return self._left + number

    def namespace(self, host: int) -> str:
        return self._names[host]

    def address(self, host: int) -> str:
        return f"10.88.0.{host + 1}"

    def start(self, host: int, *arguments: str, driver: str = "driver") -> subprocess.Popen[str]:
        """Run ``python -m ARGUMENTS`` on a host, with a driver directory of that host."""
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("RSTREAM_")},
            "RSTREAM_DIR": str(self._folder / f"{driver}-{host}"),
            "RSTREAM_HOST_TOKEN": self.namespace(host),
        }
        with self._errors(len(self._started)).open("w") as errors:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace(host), sys.executable, "-m", *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT,
                env=environment,
            )  # fmt: skip
        self._started.append(process)
        return process

    def _errors(self, number: int) -> Path:
        return self._folder / f"errors-{number}"

    def errors(self) -> str:
        """What the started programs wrote to their standard error."""
        texts = (self._errors(number).read_text() for number in range(len(self._started)))
        return "\n".join(text for text in texts if text)

    def step(self, at_ns: int, rate_mbit: float) -> None:
        """From that time of CLOCK_MONOTONIC on the link has another rate."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"rate {at_ns} {round(rate_mbit * 1e6)}\n")
        self._process.stdin.flush()

    def device_drops(self) -> int:
        """Packets that the devices dropped, not the link: the bed's own loss."""
        dropped = 0
        for name in self._names:
            told = subprocess.run(
                ["ip", "-n", name, "-s", "-j", "link", "show", DEVICE],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            counted = json.loads(told.stdout)[0]["stats64"]
            dropped += counted["tx"]["dropped"] + counted["rx"]["dropped"]
        return dropped

    def finish(self) -> Report:
        """End the link and return its report."""
        drops = self.device_drops()
        self._end_link()
        return Report.of((self._folder / "report").read_text().splitlines(), drops)

    def _end_link(self) -> None:
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError):
                self._process.communicate(timeout=END_S)
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End and remove everything; may be called twice."""
        for process in self._started:
            process.kill()
            process.communicate()
        self._started.clear()
        self._end_link()
        for name in self._names:
            remove_namespace(name)
        shutil.rmtree(self._folder, ignore_errors=True)
