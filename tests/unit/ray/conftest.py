"""One embedded driver for the tests of each module about endpoints, and no Ray."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture(autouse=True)
def without_ray(monkeypatch):
    """A Ray that other tests of this process have started does not run for these."""
    if "ray" in sys.modules:
        monkeypatch.setattr(sys.modules["ray"], "is_initialized", lambda: False)
