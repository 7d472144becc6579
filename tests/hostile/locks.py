"""The same attacks on channels with a key: the attacker has not got it.

It sends its frames plainly, sealed with a key of its own, or under the id of the right key with a
seal that it made up. What stands in clear in sealed datagrams, session, stream and terms, it has
seen. With a key nothing that is forged may change anything, so a test may demand more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

from rstream.keys import GroupKey
from tests.hostile.frames import Frame
from tests.sealed import Sealer, is_refusal

LOCKS = ("plain", "keyed", "another key", "forged seal")


@dataclass(frozen=True)
class Lock:
    """What honest channels end with, and what the attacker makes of its frames."""

    key: GroupKey | None
    dress: Callable[[bytes], bytes]

    @property
    def suffix(self) -> str:
        return "" if self.key is None else f"|rs-key={self.key.reference}"

    @property
    def is_open(self) -> bool:
        """Whether the frames of the attacker are looked at at all."""
        return self.key is None

    def says_nothing(self, received: Iterable[Frame]) -> bool:
        """Whether all that came back are plain refusals, which answer strangers of keyed ends."""
        return not self.is_open and all(is_refusal(frame.raw) for frame in received)


def lock_of(name: str) -> Lock:
    if name == "plain":
        return Lock(None, bytes)
    key = GroupKey.new()
    if name == "keyed":
        return Lock(key, bytes)
    if name == "another key":
        return Lock(key, Sealer(GroupKey.new().secret).seal)
    return Lock(key, Sealer(key.secret).forge)


def over(*names: str) -> pytest.MarkDecorator:
    """Runs a test over these locks alone; without it a test with ``lock`` runs over all."""
    assert set(names) <= set(LOCKS)
    return pytest.mark.parametrize("lock", names, indirect=True)
