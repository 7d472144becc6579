"""Model of flow/tokens.c: bytes and datagrams that may be sent now."""

from __future__ import annotations

from .numbers import RATE_MAX, TIME_MAX_NS, clamp, later, to_ns

FREE, BATCH_ONLY, REFUSED = 0, 1, 2


class Account:
    def __init__(self, rate: float, burst_least: float) -> None:
        self.burst_least = burst_least
        self.level = 0.0
        self.set(rate)
        self.level = self.burst

    def set(self, rate: float) -> None:
        self.rate = clamp(rate, 1.0, RATE_MAX)
        self.burst = max(self.rate * 2e6 / 1e9, self.burst_least)
        self.level = clamp(self.level, -8 * self.burst, self.burst)

    def fill(self, passed: int) -> None:
        self.level = min(self.level + self.rate * passed / 1e9, self.burst)

    def spend(self, amount: int) -> None:
        self.level = clamp(self.level - max(amount, 0), -8 * self.burst, self.burst)

    def missing(self, amount: int) -> float:
        return min(float(max(amount, 0)), self.burst) - self.level

    def state(self, amount: int) -> int:
        if self.rate >= RATE_MAX:
            return FREE
        if self.missing(amount) > 0:
            return REFUSED
        return BATCH_ONLY if self.level < self.burst / 4 else FREE

    def wait(self, amount: int) -> int:
        missing = self.missing(amount)
        if self.rate >= RATE_MAX or missing <= 0:
            return 0
        wait = missing / self.rate * 1e9
        return to_ns(wait + wait * 1e-6) + 1


class Tokens:
    def __init__(self, rate: float, datagrams: float, mtu: int, now: int) -> None:
        self.now = later(-TIME_MAX_NS, now)
        self.bytes = Account(rate, 4.0 * max(1, min(mtu, 65536)))
        self.datagrams = Account(datagrams, 4.0)

    def fill(self, now: int) -> None:
        until = later(self.now, now)
        self.bytes.fill(until - self.now)
        self.datagrams.fill(until - self.now)
        self.now = until

    def set(self, rate: float, datagrams: float, now: int) -> None:
        self.fill(now)
        self.bytes.set(rate)
        self.datagrams.set(datagrams)

    def ask(self, amount: int, datagrams: int, now: int) -> tuple[int, int]:
        """State, and the time at which it will no longer be refused."""
        self.fill(now)
        state = max(self.bytes.state(amount), self.datagrams.state(datagrams))
        return state, self.now + max(self.bytes.wait(amount), self.datagrams.wait(datagrams))

    def spend(self, amount: int, datagrams: int, now: int) -> None:
        self.fill(now)
        self.bytes.spend(amount)
        self.datagrams.spend(datagrams)
