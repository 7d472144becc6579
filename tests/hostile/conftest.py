"""``lock``: whether the honest ends of a test have a key, and how the attacker sends its frames."""

from __future__ import annotations

import pytest

from tests.hostile.locks import LOCKS, Lock, lock_of


@pytest.fixture(params=LOCKS)
def lock(request: pytest.FixtureRequest) -> Lock:
    return lock_of(request.param)
