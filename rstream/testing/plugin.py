"""The pytest fixture of the test kit.

Load it in ``conftest.py`` with ``pytest_plugins = ["rstream.testing.plugin"]``, or with
``pytest -p rstream.testing.plugin``. It needs pytest: the extra ``testing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rstream.testing._drivers import own_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rstream.driver import Driver

__all__ = ("rstream_driver",)


@pytest.fixture
def rstream_driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """An embedded driver in a directory of its own, for one test.

    ``RSTREAM_DIR`` names the directory meanwhile, so code under test that names none uses it too,
    and no test meets the streams of another one, or of the machine's shared driver.

    Example::

        def test_ticks_arrive(rstream_driver):
            with rstream.subscriber("ticks") as sub, rstream.publisher("ticks") as pub:
                pub.send(1)
                assert next(iter(sub)) == 1
    """
    with own_driver() as driver:
        monkeypatch.setenv("RSTREAM_DIR", driver.dir)
        yield driver
