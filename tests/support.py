"""Helpers that several test folders use."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def free_port() -> int:
    """A UDP port of the loopback that was free a moment ago.

    Each of several test processes takes its own share of the ports.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port % count == worker:
            return port


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Of all test processes of this checkout one is inside; the others wait."""
    folder = Path(__file__).resolve().parents[1] / "build"
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def until(condition: Callable[[], Any], timeout_s: float = 10.0) -> Any:
    """Wait for the first true value of ``condition`` and return it; fail at the deadline."""
    deadline_s = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline_s, f"not within {timeout_s} s"
        time.sleep(0.001)
    return value


async def until_async(condition: Callable[[], Any], timeout_s: float = 30.0) -> None:
    """Like ``until``, in a task of asyncio or trio."""
    import anyio

    with anyio.fail_after(timeout_s):
        while not condition():
            await anyio.sleep(0.001)
