"""Rates as users write them; a wrong one is refused where it is written."""

import pytest

from rstream import rate
from rstream.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("200MB/s", 200e6),
        ("64 KiB/s", 65536),
        ("1.5GiB", 1.5 * 2**30),
        ("10B/s", 10),
        ("3kb/s", 3000),
        (5, 5.0),
        (2.5, 2.5),
    ],
)
def test_units(text, bytes_per_s):
    assert rate.Fixed(text).rate == bytes_per_s


@pytest.mark.parametrize(
    "bad", ["", "fast", "10 MBit/s", "-1MB/s", "0B/s", 0, -3, float("inf"), float("nan"), "1e3MB"]
)
def test_wrong_rates_are_refused_by_name(bad):
    with pytest.raises(ConfigError, match="rate"):
        rate.Fixed(bad)
