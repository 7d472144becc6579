"""One embedded driver for each module of asynchronous tests.

Every test runs in asyncio and in trio, unless it sets ``anyio_backend``.
"""

from __future__ import annotations

import os
import random
import time

import pytest

from rstream import stream


@pytest.fixture
def driver_dir(module_driver_dir):
    return module_driver_dir


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture
def rng():
    seed = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
    print(f"RSTREAM_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def publisher(driver_dir, name):
    """A plain publisher on the stream of this test."""
    with stream.publisher(name, dir=driver_dir, linger_s=0) as made:
        yield made
