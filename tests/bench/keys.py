"""What keys cost: each measurement with plain and with sealed datagrams, one after the other.

    python -m tests.bench.keys --pairs 9

Prints the median of each, and of the quotients of the pairs with their quartiles. Messages of 70
bytes and the round trip come from `rstream bench` over the loopback interface; arrays of 1 MiB go
from a publisher to a subscriber in two processes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rstream.keys import ENVIRONMENT, GroupKey, write_file
from tests.bench.arrays import read_per_s

MIB = 1 << 20


def bench(kind: str, field: str, key: str, seconds: float) -> float:
    """One run of `rstream bench`; the field of its result."""
    program = str(Path(sys.executable).parent / "rstream")
    command = [program, "bench", kind, "--transport", "udp", "--seconds", str(seconds)]
    command += ["--json", "-"]
    if key:
        command += ["--key", key]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(out[out.index("{") : out.rindex("}") + 1])[field])


def arrays(key: str) -> float:
    """Bytes per second of arrays of 1 MiB."""
    if key:
        os.environ[ENVIRONMENT] = key
    else:
        os.environ.pop(ENVIRONMENT, None)
    return read_per_s("view", MIB, 1, "unlimited", "array", "udp")


def pairs(measure: Callable[[str], float], key: str, count: int) -> list[tuple[float, float]]:
    """Plain and sealed, in turn one first and the other first."""
    found: list[tuple[float, float]] = []
    for number in range(count):
        if number % 2:
            sealed = measure(key)
            found.append((measure(""), sealed))
        else:
            plain = measure("")
            found.append((plain, measure(key)))
    return found


def tell(name: str, found: list[tuple[float, float]], unit: float, unit_name: str) -> None:
    """A line of the table."""
    plain, sealed = (statistics.median(column) / unit for column in zip(*found, strict=True))
    low, middle, high = statistics.quantiles([after / before for before, after in found], n=4)
    print(
        f"{name}: plain {plain:.2f}, sealed {sealed:.2f} {unit_name}; "
        f"sealed / plain {middle:.2f} ({low:.2f} to {high:.2f}), {len(found)} pairs",
        flush=True,
    )


def main() -> None:
    """Measure all three."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        key = str(Path(folder, "key"))
        write_file(key, [GroupKey.new()])
        for name, kind, field, unit, unit_name in (
            ("70 bytes", "throughput", "messages_per_s", 1e6, "million messages/s"),
            ("round trip p50", "rtt", "p50_us", 1.0, "us"),
        ):
            found = pairs(
                lambda one, kind=kind, field=field: bench(kind, field, one, options.seconds),
                key,
                options.pairs,
            )
            tell(name, found, unit, unit_name)
        tell("arrays of 1 MiB", pairs(arrays, key, options.pairs), 1e9, "GB/s")


if __name__ == "__main__":
    main()
