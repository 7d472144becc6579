"""The Aeron at the other end: its C client and driver (pyaeron), or two releases in Java.

All have the same interface.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from tests.interop.ends import Peer, aeron_process, peer
from tests.interop.java import Java
from tests.interop.messages import SIZE_MAX

JAVA_CURRENT = "1.51.0"
JAVA_OLDER = "1.46.9"
KINDS = ("c", f"java-{JAVA_CURRENT}", f"java-{JAVA_OLDER}")
# The whole matrix takes a quarter of an hour; `make test` leaves out rows that repeat another row.
IS_WHOLE = os.environ.get("RSTREAM_INTEROP_WHOLE", "") == "1"

C_DRIVER = """
import sys, pyaeron
driver = pyaeron.MediaDriver()
print(driver.dir, flush=True)
sys.stdin.read()
driver.close()
"""


class Aeron(Protocol):
    """A release of Aeron that can be one end of a stream, or the driver between two."""

    def driver(self) -> AbstractContextManager[str]:
        """The directory of a running media driver."""
        ...

    def peer(
        self,
        role: str,
        channel: str,
        count: int,
        *,
        directory: str | None = None,
        size_max: int = SIZE_MAX,
    ) -> AbstractContextManager[Peer]:
        """A process that publishes, or that subscribes and checks what it receives."""
        ...


@dataclass(frozen=True)
class CAeron:
    """Aeron's C client and C media driver, as pyaeron ships them."""

    python: str

    @contextmanager
    def driver(self) -> Iterator[str]:
        with aeron_process([self.python, "-c", C_DRIVER]) as process:
            assert process.stdout is not None
            yield process.stdout.readline().strip()

    def peer(
        self,
        role: str,
        channel: str,
        count: int,
        *,
        directory: str | None = None,
        size_max: int = SIZE_MAX,
    ) -> AbstractContextManager[Peer]:
        return peer(self.python, role, channel, count, directory=directory, size_max=size_max)


def aeron_of(kind: str, aeron_python: str) -> Aeron:
    """Raises ``MissingError`` of tests.interop.java if this Aeron is not available."""
    return CAeron(aeron_python) if kind == "c" else Java.prepare(kind.removeprefix("java-"))
