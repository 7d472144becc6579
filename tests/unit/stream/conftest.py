"""One embedded driver for the tests of the runtime."""

from __future__ import annotations

import itertools
import socket

import pytest

from rstream.driver import Driver

_names = itertools.count()


@pytest.fixture(scope="session")
def driver_dir(tmp_path_factory):
    directory = str(tmp_path_factory.mktemp("stream") / "driver")
    with Driver(dir=directory):
        yield directory


@pytest.fixture
def name():
    """A name that no other test uses."""
    return f"stream-{next(_names)}"


@pytest.fixture
def free_port():
    """A UDP port that nobody had a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
