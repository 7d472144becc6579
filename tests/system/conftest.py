"""Two hosts, and the key of a group, for the tests that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rstream import keys
from rstream.driver import Driver
from rstream.keys import GroupKey
from tests.support import free_port


@pytest.fixture
def hosts(make_driver_dir: Callable[[], str]) -> Iterator[tuple[str, str]]:
    """The directories of the reader's driver and of the publisher's."""
    options = {"term_length": 1 << 20, "timer_interval_s": 0.1}  # it looks for changed files then
    with Driver(make_driver_dir(), **options) as near, Driver(make_driver_dir(), **options) as far:
        yield near.dir, far.dir


@pytest.fixture
def udp() -> str:
    """A channel over UDP that no other test uses."""
    return f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


@pytest.fixture
def key() -> GroupKey:
    """A key of a group."""
    return GroupKey.new()


@pytest.fixture
def key_file(tmp_path: Path, key: GroupKey) -> Path:
    """A file with the key."""
    file = tmp_path / "group.key"
    keys.write_file(file, [key])
    return file
