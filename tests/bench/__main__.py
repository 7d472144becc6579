"""`make bench`: rstream and its peers side by side, alternating in one run.

It prints medians, spread and ratios. Messages have 70 bytes and go from Python to Python, through
two processes and a driver: IPC and UDP throughput against pyaeron at its best setting, and the UDP
round trip through the shared driver, blocking, against a raw blocking UDP ping-pong in C. It writes
build/bench/bench.json; docs/reference/performance.md keeps the ratios.

python -m tests.bench [--repeat 5] [--seconds 10] [--size 70] [--only throughput|rtt] [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from rstream import _core
from rstream.cli import _bench, _main

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "bench"
WORKER = Path(__file__).with_name("pyaeron_worker.py")
#: The best of all tried settings of pyaeron (`--explore` tries them again).
BEST: dict[str, Any] = {"exclusive": True, "assemble": False, "limit": 256, "idle": "backoff"}


def rstream_throughput(transport: str, options: argparse.Namespace, batch: str) -> dict[str, Any]:
    arguments = [
        "bench",
        "throughput",
        "--transport",
        transport,
        "--size",
        str(options.size),
        "--mtu",
        str(options.mtu),
    ]
    arguments += ["--seconds", str(options.seconds), "--batch", batch]
    if transport == "ipc":
        arguments += ["--term-length", str(options.ipc_term)]
    return _bench.measure(_main.parser().parse_args(arguments))


def rstream_rtt(
    options: argparse.Namespace, wait: str = "block", transport: str = "udp"
) -> dict[str, Any]:
    arguments = [
        "bench",
        "rtt",
        "--transport",
        transport,
        "--size",
        str(options.size),
        "--wait",
        wait,
    ]
    arguments += ["--seconds", str(min(options.seconds, 5.0))]
    return _bench.measure(_main.parser().parse_args(arguments))


def pyaeron_throughput(
    python: str, transport: str, options: argparse.Namespace, settings: dict[str, Any]
) -> dict[str, Any]:
    """The same with Aeron's client and driver, the driver in a process of its own."""
    port = _bench._free_ports(1)[0]
    channel = (
        f"aeron:ipc?term-length={options.ipc_term}"
        if transport == "ipc"
        else f"aeron:udp?endpoint=127.0.0.1:{port}|mtu={options.mtu}|term-length=16m"
        "|rcv-wnd=2m|so-rcvbuf=2m|so-sndbuf=2m"
    )
    driver = start(python, "driver", {})
    assert driver.stdout is not None
    try:
        task = {
            "core": _core.__file__, "dir": driver.stdout.readline().strip(), "channel": channel,
            "size": options.size, "seconds": options.seconds, "warmup": 1.0, **settings,
        }  # fmt: skip
        subscriber = start(python, "subscriber", task)
        assert subscriber.stdout is not None
        subscriber.stdout.readline()
        publisher = start(python, "publisher", task)
        try:
            output, _ = subscriber.communicate(timeout=options.seconds + 60)
            result: dict[str, Any] = json.loads(output)
        finally:
            for process in (publisher, subscriber):
                process.kill()
                process.wait()
        return result
    finally:
        driver.communicate("", timeout=20)


def start(python: str, role: str, task: dict[str, Any]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, str(WORKER), role, json.dumps(task)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def raw_udp_rtt(options: argparse.Namespace) -> dict[str, Any]:
    """The lower bound: two processes in C that block in recv."""
    program = build_raw()
    output = subprocess.run(
        [program, str(options.size), "5"], capture_output=True, text=True, check=True
    ).stdout
    return json.loads(output)


def build_raw() -> str:
    program = OUT / "udp_ping_pong"
    source = ROOT / "transport_ext" / "bench" / "udp_ping_pong.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(
            [
                os.environ.get("CC", "cc"),
                "-O2",
                "-std=c11",
                "-D_GNU_SOURCE",
                "-o",
                str(program),
                str(source),
            ],
            check=True,
        )
    return str(program)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):,.1f} ({min(values):,.1f} to {max(values):,.1f})"


def aeron_python() -> str | None:
    python = ROOT / "build" / "interop-venv" / "bin" / "python"
    return str(python) if python.exists() else None


def throughput(options: argparse.Namespace, results: dict[str, list[float]]) -> None:
    python = aeron_python()
    if python is None:
        print(
            "bench: no pyaeron (make test makes its environment where a Python 3.12 or newer is"
            " found): rstream alone"
        )
    for number in range(options.repeat):
        for transport in ("ipc", "udp"):
            for batch in ("auto", "off"):
                result = rstream_throughput(transport, options, batch)
                results.setdefault(f"rstream {transport} {batch}", []).append(
                    result["messages_per_s"]
                )
            if python is not None:
                result = pyaeron_throughput(python, transport, options, BEST)
                results.setdefault(f"pyaeron {transport}", []).append(result["messages_per_s"])
        print(f"bench: throughput round {number + 1} of {options.repeat} done", flush=True)


def round_trips(options: argparse.Namespace, results: dict[str, list[float]]) -> None:
    for number in range(options.repeat):
        for name, result in (
            ("raw UDP in C, blocking", raw_udp_rtt(options)),
            ("rstream udp, blocking", rstream_rtt(options)),
            ("rstream ipc, blocking", rstream_rtt(options, transport="ipc")),
        ):
            results.setdefault(f"{name} p50", []).append(result["p50_us"])
            results.setdefault(f"{name} p99", []).append(result["p99_us"])
        print(f"bench: round trip round {number + 1} of {options.repeat} done", flush=True)


def ratio(results: dict[str, list[float]], ours: str, theirs: str) -> float | None:
    if ours not in results or theirs not in results:
        return None
    return statistics.median(a / b for a, b in zip(results[ours], results[theirs], strict=True))


def explore(options: argparse.Namespace) -> None:
    """Measure pyaeron's settings in turn, so that its best one is used for the comparison."""
    python = aeron_python()
    assert python is not None, "no pyaeron"
    for exclusive in (True, False):
        for limit in (64, 256, 1024):
            for idle in ("yielding", "busy_spin", "backoff", "noop"):
                settings = {"exclusive": exclusive, "assemble": False, "limit": limit, "idle": idle}
                rates = [
                    pyaeron_throughput(python, t, options, settings)["messages_per_s"] / 1e6
                    for t in ("ipc", "udp")
                ]
                print(f"{settings}: ipc {rates[0]:.2f} M/s, udp {rates[1]:.2f} M/s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--size", type=int, default=70)
    parser.add_argument("--mtu", type=int, default=1408)
    parser.add_argument("--ipc-term", type=int, default=1 << 24)
    parser.add_argument("--only", choices=("throughput", "rtt"))
    parser.add_argument("--explore", action="store_true", help="try pyaeron's settings instead")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if options.explore:
        explore(options)
        return 0
    results: dict[str, list[float]] = {}
    if options.only != "rtt":
        throughput(options, results)
    if options.only != "throughput":
        round_trips(options, results)
    for name, values in results.items():
        unit = "us" if " p" in name else "messages/s"
        print(f"{name:34} {spread(values)} {unit}")
    ratios = {
        "ipc throughput, rstream / pyaeron (target >= 2)": ratio(
            results, "rstream ipc auto", "pyaeron ipc"
        ),
        "udp throughput, rstream / pyaeron (target >= 2)": ratio(
            results, "rstream udp auto", "pyaeron udp"
        ),
        "ipc throughput one offer per message, rstream / pyaeron": ratio(
            results, "rstream ipc off", "pyaeron ipc"
        ),
        "udp throughput one offer per message, rstream / pyaeron": ratio(
            results, "rstream udp off", "pyaeron udp"
        ),
        "udp round trip p50, rstream / raw C (target <= 2)": ratio(
            results, "rstream udp, blocking p50", "raw UDP in C, blocking p50"
        ),
    }
    for name, value in ratios.items():
        if value is not None:
            print(f"ratio: {name}: {value:.2f}")
    report = {
        "machine": {
            "cores": os.cpu_count(), "arch": platform.machine(), "system": platform.release(),
            "python": sys.version.split()[0],
        },
        "build": _core.build_config(), "options": vars(options), "pyaeron": BEST,
        "results": results, "ratios": ratios,
    }  # fmt: skip
    (OUT / "bench.json").write_text(json.dumps(report, indent=1))
    print(
        f"bench: MTU {options.mtu}, {options.size}-byte messages; written to build/bench/bench.json"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
