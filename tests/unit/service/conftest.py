"""One embedded driver for the tests of each module of requests."""

from __future__ import annotations

import pytest


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir
