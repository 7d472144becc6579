"""``rstream bench``: a driver and two processes; every message is distinct and checked.

C writes and checks numbers and checksums block by block (``_core.fill_block``,
``_core.check_messages``), inside the measured time. The reader gets one ``bytes`` object for each
message. The subscriber measures the time, from the end of the warm-up on.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rstream import _core
from rstream.cli._progress import ProgressBar
from rstream.driver import rstreamd_path
from rstream.errors import ConfigError, DriverTimeout, RStreamError
from rstream.keys import reference

if TYPE_CHECKING:
    import argparse

SIZE_MIN = 12
SIZE_MAX = 16 << 20
#: Extra time for starting and connecting on a busy machine.
SPARE_S = 60.0


def run(options: argparse.Namespace) -> int:
    """Run one measurement, print it, write its JSON."""
    if options.size < SIZE_MIN:
        raise ConfigError(
            f"--size {options.size}: at least {SIZE_MIN} bytes "
            "(number and checksum are in each message)"
        )
    size_max = min(_term_length(options) // 8, SIZE_MAX)
    if options.size > size_max:
        raise ConfigError(
            f"--size {options.size}: at most {size_max} bytes "
            "(an eighth of the term, at most 16 MiB)"
        )
    if options.key is not None and options.transport == "ipc":
        raise ConfigError("--key: shared memory is not sealed; measure with --transport udp")
    if options.seconds <= 0 or options.warmup < 0:
        raise ConfigError("--seconds must be more than 0, --warmup 0 or more")
    result = measure(options)
    text = json.dumps(result, indent=1)
    if options.json and options.json != "-":
        Path(options.json).write_text(text + "\n")
    if options.json == "-":
        print(text)
    elif options.kind == "throughput":
        print(
            f"{result['messages_per_s']:,.0f} messages/s, "
            f"{result['bytes_per_s'] / 1e6:,.1f} MB/s of payload, lost {result['lost']} "
            f"({options.transport}, {options.size} bytes, batch {options.batch}); "
            f"CPU per message: publisher {result['publisher_cpu_ns']:.0f} ns, "
            f"subscriber {result['subscriber_cpu_ns']:.0f} ns, "
            f"driver {result['driver_cpu_ns']:.0f} ns"
        )
    else:
        print(
            f"round trip p50 {result['p50_us']:.1f} us, p99 {result['p99_us']:.1f} us, "
            f"p99.9 {result['p999_us']:.1f} us ({options.transport}, {options.size} bytes, "
            f"wait {options.wait}, {result['round_trips']} round trips)"
        )
    return 0


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Start a driver and both processes; returns the result of the one that measures."""
    driver_dir = options.dir or tempfile.mkdtemp(prefix="rstream-bench-", dir=_shared_memory())
    driver = _start_driver(driver_dir, options) if options.dir is None else None
    try:
        task = {
            "dir": driver_dir,
            "size": options.size,
            "seconds": options.seconds,
            "warmup": options.warmup,
            "batch": getattr(options, "batch", "off"),
            "wait": getattr(options, "wait", "block"),
            "channels": _channels(options),
        }
        first, second = (
            ("subscriber", "publisher") if options.kind == "throughput" else ("pong", "ping")
        )
        workers = {role: _start_worker(role, task) for role in (first, second)}
        measuring = workers["subscriber" if options.kind == "throughput" else "ping"]
        other = workers["publisher" if options.kind == "throughput" else "pong"]
        try:
            _await_end(measuring, other, options.warmup + options.seconds)
            output, _ = measuring.communicate()
            other_output, _ = other.communicate(b"stop\n", timeout=30)
        finally:
            for worker in workers.values():
                if worker.poll() is None:
                    worker.kill()
                    worker.wait()
        result: dict[str, Any] = json.loads(output)
        if options.kind == "throughput":
            sent = json.loads(other_output)
            result["publisher_cpu_ns"] = 1e9 * sent["cpu_s"] / max(sent["messages"], 1)
            result["driver_cpu_ns"] = (
                1e9 * _cpu_seconds(driver.pid if driver else 0) / max(sent["messages"], 1)
            )
        return result | {
            "transport": options.transport,
            "size": options.size,
            "seconds": options.seconds,
            "mtu": options.mtu if options.transport == "udp" else None,
            "machine": {
                "cores": os.cpu_count(),
                "arch": platform.machine(),
                "python": platform.python_version(),
            },
            "build": _core.build_config(),
        }
    finally:
        if driver is not None:
            driver.terminate()
            driver.wait(10)
            shutil.rmtree(driver_dir, ignore_errors=True)


def _start_driver(driver_dir: str, options: argparse.Namespace) -> subprocess.Popen[bytes]:
    command = [
        rstreamd_path(),
        "--dir",
        driver_dir,
        f"--threading={options.threading}",
        "--idle-exit=0",
    ]
    driver = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    deadline = 100
    while _core.probe(driver_dir) != 2:
        deadline -= 1
        if deadline == 0 or driver.poll() is not None:
            raise DriverTimeout(f"{' '.join(command)} did not come up")
        try:
            driver.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    return driver


def _start_worker(role: str, task: dict[str, Any]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "rstream.cli._bench_worker", role, json.dumps(task)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _await_end(
    measuring: subprocess.Popen[bytes], other: subprocess.Popen[bytes], planned_s: float
) -> None:
    """Wait for the measuring process, unless the other one fails.

    A process that fails has written its reason to standard error itself.
    """
    begin_s = time.monotonic()
    timeout_s = planned_s + SPARE_S
    with ProgressBar("rstream bench", "s", planned_s) as progress:
        while measuring.poll() is None:
            if other.poll() not in (None, 0):
                raise RStreamError(
                    f"no result: the other process ended with code {other.returncode}"
                )
            passed_s = time.monotonic() - begin_s
            if passed_s >= timeout_s:
                raise DriverTimeout(f"no result within {timeout_s:g} s")
            progress.reach(min(passed_s, planned_s))
            time.sleep(0.02)
    if measuring.returncode != 0:
        raise RStreamError(
            f"no result: the measuring process ended with code {measuring.returncode}"
        )


def _term_length(options: argparse.Namespace) -> int:
    return getattr(options, "term_length", 1 << 20)


def _channels(options: argparse.Namespace) -> list[str]:
    term_length = _term_length(options)
    if options.transport == "ipc":
        channel = f"aeron:ipc?term-length={term_length}"
        return [channel, channel]
    window = min(term_length // 2, 2 << 20)
    key = "none" if options.key is None else reference(f"file:{options.key}")
    return [
        f"aeron:udp?endpoint=127.0.0.1:{port}|mtu={options.mtu}|term-length={term_length}"
        f"|rcv-wnd={window}|so-rcvbuf={window}|so-sndbuf={window}"
        f"|rs-key={key}"
        for port in _free_ports(2)
    ]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _cpu_seconds(pid: int) -> float:
    if pid == 0:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _shared_memory() -> str | None:
    return "/dev/shm" if os.path.isdir("/dev/shm") else None
