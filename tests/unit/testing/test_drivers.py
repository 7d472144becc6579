"""Drivers for tests are their own, and go away; a lossy link loses, and nothing is lost."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

import rstream
from rstream.errors import ConfigError
from rstream.testing import LossyLink, own_driver

pytest_plugins = ["rstream.testing.plugin"]


def test_a_driver_of_ones_own_leaves_nothing():
    with own_driver(mtu=2048) as first, own_driver() as second:
        assert first.dir != second.dir
        folder = Path(first.dir).parent
        assert folder.exists()
    assert not folder.exists()


def test_the_fixture_gives_code_without_a_directory_its_driver(rstream_driver):
    assert os.environ["RSTREAM_DIR"] == rstream_driver.dir
    with rstream.subscriber("ticks") as sub, rstream.publisher("ticks") as pub:
        pub.send(1)
        assert next(iter(sub)) == 1
        assert pub.channel.startswith("aeron:ipc")


def test_a_lossy_link_loses_datagrams_and_no_message():
    with LossyLink(seed=7, loss=0.05, duplicate=0.01, reorder=0.01) as link:
        options = {"channel": link.channel, "dir": link.dir}
        with rstream.subscriber("n", **options) as sub, rstream.publisher("n", **options) as pub:
            for number in range(400):
                pub.send(b"%1000d" % number)
                assert int(sub.get(timeout_s=10)) == number
        assert link.bytes_lost > 0
        assert "seed=7" in repr(link)
        link.close()
        link.close()
    assert not Path(link.dir).exists()


def test_a_link_that_is_not_closed_says_where_it_was_made():
    link = LossyLink(seed=3, loss=0)
    folder = Path(link.dir).parent
    with pytest.warns(ResourceWarning, match=r"seed=3> was not closed; made at .*test_drivers\.py"):
        del link
        gc.collect()
    assert not folder.exists()


def test_a_seed_of_zero_is_drawn_and_told():
    with LossyLink(seed=0, loss=0) as link:
        assert link.seed > 0


@pytest.mark.parametrize("option", ["loss", "duplicate", "reorder"])
def test_a_probability_is_from_0_to_1(option):
    with pytest.raises(ConfigError, match=f"{option}=1.5"):
        LossyLink(seed=1, **{option: 1.5})
