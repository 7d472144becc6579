"""Drivers of tests: each in a directory of its own, one of them with faults."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
from typing import TYPE_CHECKING, Final, Self, Unpack

from rstream import metrics
from rstream._process import quiet_when_torn_down
from rstream._unclosed import call_site, warn_unclosed
from rstream.driver import Driver
from rstream.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from rstream.config import DriverSettings

_WAYS: Final = ("send-data", "send-control", "receive-data", "receive-control")
_SHARED_MEMORY: Final = "/dev/shm"


@contextlib.contextmanager
def own_driver(**settings: Unpack[DriverSettings]) -> Generator[Driver]:
    """An embedded driver in a new directory, which is removed at the end.

    Give ``dir=driver.dir`` to what shall use it, or set ``RSTREAM_DIR`` as the pytest fixture
    ``rstream_driver`` does.

    Args:
        settings: the fields of :class:`rstream.config.DriverConfig`.
    Raises:
        ConfigError: a setting is wrong.

    Example::

        with own_driver() as driver, rstream.publisher("ticks", dir=driver.dir) as pub: ...
    """
    base = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="rstream-testing-", dir=base)
    try:
        with Driver(os.path.join(folder, "driver"), **settings) as driver:
            yield driver
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class LossyLink:
    """A UDP link of this machine that loses, doubles and reorders datagrams, from a seed.

    The transport is the real one: an embedded driver of its own whose faults sit between its agents
    and its sockets, in both directions, for data and for control datagrams. What streams on it show
    is what they show on a bad network: everything arrives once, in order, later. The n-th datagram
    of a socket has the same fate with the same seed; how many datagrams there are depends on time.

    Args:
        seed: any whole number; 0: a random one, to be read from :attr:`seed`.
        loss, duplicate, reorder: probability of each fault for each datagram, 0 to 1.
        settings: the fields of :class:`rstream.config.DriverConfig`.
    Raises:
        ConfigError: a probability is not from 0 to 1, or a setting is wrong.

    Thread rule: any thread. Example::

        with LossyLink(seed=7, loss=0.01) as link:
            sub = rstream.subscriber("ticks", channel=link.channel, dir=link.dir)
            pub = rstream.publisher("ticks", channel=link.channel, dir=link.dir)
    """

    def __init__(
        self,
        *,
        seed: int,
        loss: float = 0.01,
        duplicate: float = 0.0,
        reorder: float = 0.0,
        **settings: Unpack[DriverSettings],
    ) -> None:
        rates = {"loss": loss, "duplicate": duplicate, "reorder": reorder}
        for name, rate in rates.items():
            if not 0 <= rate <= 1:
                raise ConfigError(f"LossyLink: {name}={rate}: must be a probability from 0 to 1")
        self.seed: int = seed or secrets.randbelow(2**31 - 1) + 1
        options = {"fault-seed": str(self.seed)} | {
            f"fault-{way}-{name}": str(rate) for way in _WAYS for name, rate in rates.items()
        }
        settings["options"] = settings.get("options", {}) | options
        self._made_at = call_site()
        self._open = contextlib.ExitStack()
        self._driver = self._open.enter_context(own_driver(**settings))
        self._is_closed = False
        self.channel: str = f"aeron:udp?endpoint=127.0.0.1:{_free_port()}"

    @property
    def dir(self) -> str:
        """The directory of its driver, for ``dir=``."""
        return self._driver.dir

    @property
    def bytes_lost(self) -> int:
        """Bytes of data that receivers have missed so far; each of them was sent again."""
        return sum(entry.bytes_lost for entry in metrics.losses(self.dir))

    def close(self) -> None:
        """End the driver and remove its directory. Idempotent."""
        self._is_closed = True
        self._open.close()

    @quiet_when_torn_down
    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            try:
                warn_unclosed(self, self._made_at)
            finally:
                self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<rstream.testing.LossyLink {self.channel} seed={self.seed}>"


def _free_port() -> int:
    """A UDP port of the loopback that nobody uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
