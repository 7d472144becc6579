"""Token bucket: an interval d holds at most rate*d + burst + one message; the rate is reached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rstream.errors import NotSupported
from rstream.flow.pacing import TokenBucket, bucket_of

SECOND = 1_000_000_000


@given(
    rate=st.integers(1_000, 10**9),
    burst=st.integers(1, 10**6),
    lengths=st.lists(st.integers(1, 200_000), min_size=1, max_size=60),
    pauses=st.lists(st.integers(0, SECOND), min_size=60, max_size=60),
)
def test_no_interval_holds_more_than_the_law_allows(rate, burst, lengths, pauses):
    bucket, now, sent = TokenBucket(rate, burst, 0), 0, []
    for length, pause in zip(lengths, pauses, strict=False):
        now += pause
        now += bucket.delay_ns(now)
        assert bucket.delay_ns(now) == 0
        bucket.spend(length)
        sent.append((now, length))
    for first in range(len(sent)):
        total = 0
        for when, length in sent[first:]:
            total += length
            allowed = rate * (when - sent[first][0]) / SECOND + burst + max(lengths)
            assert total <= allowed * (1 + 1e-9) + 1


def test_a_busy_sender_reaches_the_rate():
    bucket, now, total = TokenBucket(1_000_000, 1_000, 0), 0, 0
    while now < 10 * SECOND:
        now += bucket.delay_ns(now)
        bucket.spend(700)
        total += 700
    assert total == pytest.approx(10_000_000, rel=0.001)


def test_a_pause_earns_no_more_than_the_burst():
    bucket = TokenBucket(1_000, 500, 0)
    bucket.spend(400)
    assert bucket.delay_ns(1000 * SECOND) == 0
    bucket.spend(501)  # in debt by one byte: a millisecond at 1000 bytes per second
    assert bucket.delay_ns(1000 * SECOND) == 1_000_001


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_limits_must_be_above_zero(rate, burst):
    with pytest.raises(ValueError, match="above 0"):
        TokenBucket(rate, burst, 0)


def test_beside_aerons_driver_only_fixed_rates_are_kept():
    assert bucket_of("unlimited", 1408, 0) is None
    for text in ("adaptive", "nak", "aimd"):
        with pytest.raises(NotSupported, match=text):
            bucket_of(text, 1408, 0)


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [("fixed,r:1000000", 1e6), ("fixed,p:1000", 1408e3), ("fixed,r:1000,p:1000", 1e3)],
)
def test_a_bucket_of_text(text, bytes_per_s):
    bucket = bucket_of(text, 1408, 0)
    assert bucket is not None
    bucket.spend(65_536 + int(bytes_per_s))  # the burst and the tokens of one second
    assert abs(bucket.delay_ns(0) - 1e9) < 1e6
