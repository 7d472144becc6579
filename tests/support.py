"""Helpers that several test folders use."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


#: Ports of the tests: below those that the system gives to sockets without one (32768 on), and
#: above those of Ray's workers (10002 to 19999).
PORTS = range(20_000, 32_000)
_next_port = os.getpid()  # runs that follow each other begin at different ports


def free_port() -> int:
    """A UDP port of the loopback that nobody uses, and that the system gives to nobody.

    Each of several test processes takes its own share of the ports.
    """
    global _next_port
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = PORTS[worker % count :: count]
    for _ in share:
        _next_port += 1
        port = share[_next_port % len(share)]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError(f"no free port in {PORTS}")


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Of all test processes of this checkout one is inside; the others wait."""
    folder = Path(__file__).resolve().parents[1] / "build"
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def in_thread(function: Callable[..., Any], *args: Any) -> threading.Thread:
    """A started daemon thread that calls the function."""
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def until(condition: Callable[[], Any], timeout_s: float = 30.0) -> Any:
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


def is_all_on_the_network(pub: Any, driver_dir: str) -> bool:
    """Whether the driver has sent all messages of a publisher over UDP.

    Those that it has not sent when the last reader leaves are kept for the next one.
    """
    from rstream import metrics

    publications = metrics.publications(driver_dir)
    (state,) = [one for one in publications if one.session_id == pub.session_id]
    return state.sender_position == pub.position
