"""One embedded driver for the tests of each module about endpoints, and no Ray."""

from __future__ import annotations

import sys

import pytest

import rstream


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture(autouse=True)
def without_ray(monkeypatch):
    """A Ray that other tests of this process have started does not run for these."""
    if "ray" in sys.modules:
        monkeypatch.setattr(sys.modules["ray"], "is_initialized", lambda: False)


@pytest.fixture
def far_dir(make_driver_dir):
    """The directory of a driver on "another host"."""
    with rstream.Driver(dir=make_driver_dir()) as far:
        yield far.dir


@pytest.fixture(params=["ipc", "udp"])
def writer_dir(request, driver_dir):
    """The directory of a writer's driver, the endpoint's own and that on another host."""
    return driver_dir if request.param == "ipc" else request.getfixturevalue("far_dir")
