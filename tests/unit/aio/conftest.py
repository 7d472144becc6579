"""One embedded driver; every test runs in asyncio and in trio, unless it says ``anyio_backend``."""

from __future__ import annotations

import itertools
import os
import random
import time

import pytest

from rstream.driver import Driver

_names = itertools.count()


@pytest.fixture(scope="session")
def driver_dir(tmp_path_factory):
    directory = str(tmp_path_factory.mktemp("aio") / "driver")
    with Driver(dir=directory):
        yield directory


@pytest.fixture
def name():
    """A name that no other test uses."""
    return f"aio-{next(_names)}"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture
def rng():
    seed = int(os.environ.get("RSTREAM_SEED", str(int(time.time()))))
    print(f"RSTREAM_SEED={seed}")
    return random.Random(seed)
