"""A fixed rate as a token bucket, in the publisher, for drivers of Aeron's.

Why this exists beside the C token bucket: rstream's own driver paces datagrams in its sender, in
C. A driver of Aeron's has no rate, so beside it the publisher itself must hold its messages back,
before they enter the log. No other code uses this bucket.

Law: in any interval [t, t + d] the bytes sent are at most  rate·d + burst + one message.
A message may be sent as soon as the bucket is not in debt, and spends its whole size. The next
message waits until the debt is paid. So messages larger than the burst pass too, and the long-run
rate is exact.
Pure: time is an argument that never goes back.
"""

from __future__ import annotations

import math

from rstream import rate
from rstream.errors import NotSupported

__all__ = ("TokenBucket", "bucket_of")

_BURST_BYTES_MIN = 65_536

_NS_PER_S = 1_000_000_000


class TokenBucket:
    """Credit of bytes that grows with time.

    Args:
        rate: bytes per second, above 0.
        burst_bytes: the most credit that a pause can give, above 0.
        now_ns: time of the start, with a full bucket.
    """

    __slots__ = ("_burst_bytes", "_credit_bytes", "_rate", "_updated_ns")

    def __init__(self, rate: float, burst_bytes: int, now_ns: int) -> None:
        if rate <= 0 or burst_bytes <= 0:
            raise ValueError(f"rate {rate} and burst_bytes {burst_bytes} must be above 0")
        self._rate = rate
        self._burst_bytes = burst_bytes
        self._credit_bytes = float(burst_bytes)
        self._updated_ns = now_ns

    def _refill(self, now_ns: int) -> None:
        elapsed_ns = now_ns - self._updated_ns
        if elapsed_ns > 0:
            self._updated_ns = now_ns
            earned = self._rate * elapsed_ns / _NS_PER_S
            self._credit_bytes = min(float(self._burst_bytes), self._credit_bytes + earned)

    def delay_ns(self, now_ns: int) -> int:
        """Nanoseconds until a message may be sent; 0: now."""
        self._refill(now_ns)
        if self._credit_bytes >= 0:
            return 0
        return int(-self._credit_bytes / self._rate * _NS_PER_S) + 1

    def spend(self, length_bytes: int) -> None:
        """Note that a message was sent; call :meth:`delay_ns` first."""
        self._credit_bytes -= length_bytes


def bucket_of(text: str, mtu: int, now_ns: int) -> TokenBucket | None:
    """The bucket for the rate of a channel, when that rate does not depend on the readers.

    Args:
        text: value of ``rs-rate``.
        mtu: of the channel, bytes; a limit of n datagrams per second becomes n * mtu bytes.
        now_ns: time of the start.
    Returns:
        None: no limit.
    Raises:
        NotSupported: the law follows the readers' reports, which Aeron's driver does not have.
    """
    limit = rate.from_text(text)
    if isinstance(limit, rate.Unlimited | rate.Default):
        return None
    if not isinstance(limit, rate.Fixed):
        raise NotSupported(
            f"rs-rate={text}: Aeron's driver does not hear how full the readers are",
            hint="give rate.Fixed(…) or rate.Unlimited() beside it, or run rstream's own driver",
        )
    by_bytes = math.inf if limit.bytes_per_s is None else float(limit.bytes_per_s)
    bytes_per_s = min(by_bytes, limit.datagrams_per_s * mtu or math.inf)
    return TokenBucket(bytes_per_s, max(_BURST_BYTES_MIN, int(bytes_per_s / 100)), now_ns)
