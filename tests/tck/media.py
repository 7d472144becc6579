"""The media of the matrix: where a stream goes, and how many datagrams are lost on the way.

Every medium is an embedded driver (two for a Ray endpoint that is on another host), shared by the
tests of a module.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from dataclasses import dataclass

import pytest

from rstream.testing import LossyLink, own_driver
from tests.support import free_port

LOSS = 0.01
SEED = random.randrange(1, 2**31)
numbers = itertools.count()


@dataclass(frozen=True)
class Medium:
    name: str
    loss: float = 0.0

    @property
    def label(self) -> str:
        return self.name + (f" {self.loss:.0%} loss" if self.loss else "")

    @property
    def mark(self) -> pytest.MarkDecorator:
        """Where its tests run: groups and loss in check-all alone."""
        is_plain = self.name != "multicast" and not self.loss
        return pytest.mark.ci if is_plain else pytest.mark.long

    def channel(self) -> str:
        """A channel that nobody else uses."""
        if self.name == "ipc":
            return "aeron:ipc?term-length=64k"
        endpoint = "127.0.0.1" if self.name == "udp" else "224.20.30.43"
        place = "" if self.name == "udp" else "|interface=127.0.0.1"
        return f"aeron:udp?endpoint={endpoint}:{free_port()}{place}|term-length=64k"


IPC = Medium("ipc")
UDP, MULTICAST = Medium("udp"), Medium("multicast")
LOSSY_UDP, LOSSY_MULTICAST = Medium("udp", LOSS), Medium("multicast", LOSS)
NETWORK = (UDP, LOSSY_UDP, MULTICAST, LOSSY_MULTICAST)


def over(*media: Medium, quick: tuple[Medium, ...] = ()) -> list[object]:
    """Parameters of the fixture ``medium``; ``make test`` has the quick ones."""
    return [
        pytest.param(medium, id=medium.label, marks=() if medium in quick else medium.mark)
        for medium in media
    ]


class Drivers:
    """The drivers of the media, made at their first use."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._dirs: dict[tuple[bool, bool], str] = {}

    def dir_of(self, medium: Medium, *, far: bool = False) -> str:
        """The directory of the medium's driver; ``far``: of another one."""
        key = (medium.loss > 0, far)
        if key not in self._dirs:
            if medium.loss:
                print(f"seed of the loss: {SEED}")
                made = LossyLink(seed=SEED, loss=medium.loss)
                self._dirs[key] = self._open.enter_context(made).dir
            else:
                self._dirs[key] = self._open.enter_context(own_driver()).dir
        return self._dirs[key]

    def close(self) -> None:
        self._open.close()


@pytest.fixture(scope="module")
def drivers():
    made = Drivers()
    yield made
    made.close()
