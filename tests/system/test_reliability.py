"""UDP with loss, duplication and reordering: every message arrives once, in order, intact.

Two drivers (two directories, as two hosts) and two processes. Each driver's interceptors lose,
duplicate and reorder 1 % of what it sends and receives, data and control alike, from one seed.
Numbers and checksums are checked in C. `make prove` runs 10 000 000 messages
(RSTREAM_RELIABILITY_COUNT).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import rstream
from rstream import metrics
from tests.support import free_port

COUNT = int(os.environ.get("RSTREAM_RELIABILITY_COUNT", "200000"))
SEED = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
SIZE = 70
WAYS = [f"fault-{way}-{what}" for way in ("send", "receive") for what in ("data", "control")]
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def worker(role: str, **task: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.system.workers", role, json.dumps(task)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def line(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    text = process.stdout.readline()
    assert text, f"the worker ended with code {process.wait()}"
    return json.loads(text)


def driver_with_faults(directory: str, seed: int, rate: str) -> rstream.Driver:
    options = {"fault-seed": str(seed)}
    for way in WAYS:
        options |= {f"{way}-loss": rate, f"{way}-duplicate": rate, f"{way}-reorder": rate}
    return rstream.Driver(dir=directory, options=options)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rate", ["0.01"])
def test_every_message_once_in_order(make_driver_dir: Callable[[], str], rate: str) -> None:
    print(f"RSTREAM_SEED={SEED} count={COUNT}")
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|term-length=4m|rcv-wnd=512k|so-rcvbuf=1m"
    near, far = make_driver_dir(), make_driver_dir()
    with (
        driver_with_faults(near, SEED, rate),
        driver_with_faults(far, SEED + 1, rate),
        worker("receive", dir=far, channel=channel, size=SIZE, count=COUNT) as reader,
    ):
        assert line(reader) == {"ready": True}
        with worker("send", dir=near, channel=channel, size=SIZE, count=COUNT) as writer:
            assert line(writer)["sent"] == COUNT
            result = line(reader)
        print(result)
        assert result["received"] == COUNT
        assert result["extra"] == 0
        seen = {
            counter.label: counter.value
            for where in (near, far)
            for counter in metrics.counters(where)
            if counter.type_id == 0
        }
        assert seen["NAKs sent"] > 0
