"""Helpers that several test folders use."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def free_port() -> int:
    """A UDP port of the loopback that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
