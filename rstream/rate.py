"""How fast a publisher may send, beside the receivers' window: the user's choice.

``Unlimited`` (the default) leaves it to the window alone. ``Fixed`` is a token bucket at the
publishing face. The adaptive laws have their names and values here already; the transport does not
run them yet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from rstream.errors import ConfigError

__all__ = ("Adaptive", "Aimd", "Fixed", "Nak", "RateLimit", "Unlimited", "parse_bytes_per_s")

_UNITS: Final = {
    "": 1,
    "k": 1_000,
    "m": 1_000_000,
    "g": 1_000_000_000,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
}
_TEXT: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(|k|m|g|ki|mi|gi)b(?:/s)?\s*", re.IGNORECASE)


def parse_bytes_per_s(value: str | float) -> float:
    """Bytes per second of ``"200MB/s"``, ``"1.5 GiB/s"`` or a number.

    Raises:
        ConfigError: not such a text, or not above zero.
    """
    if isinstance(value, str):
        match = _TEXT.fullmatch(value)
        if match is None:
            raise ConfigError(
                f"rate {value!r}: give bytes per second as a number or as a text like "
                '"200MB/s" or "64KiB/s"'
            )
        value = float(match[1]) * _UNITS[match[2].lower()]
    if not 0 < value < float("inf"):
        raise ConfigError(f"rate {value!r}: must be above 0 bytes per second")
    return float(value)


@dataclass(frozen=True, slots=True)
class Unlimited:
    """No limit of its own: the receivers' window alone."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A fixed rate of payload bytes.

    Attributes:
        bytes_per_s: a number, or a text like ``"200MB/s"``.
        burst_bytes: how much may be sent at once after a pause; 0: what the rate gives in 10 ms,
            at least 64 KiB.
    """

    bytes_per_s: str | float
    burst_bytes: int = 0
    rate: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the rate, so that a wrong one is refused where it is written."""
        object.__setattr__(self, "rate", parse_bytes_per_s(self.bytes_per_s))
        if self.burst_bytes < 0:
            raise ConfigError(f"burst_bytes {self.burst_bytes}: must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """Follow demand and fill NAKs towards a queueing delay of ``target_delay_s`` (not available
    yet).
    """

    target_delay_s: float = 0.010


@dataclass(frozen=True, slots=True, kw_only=True)
class Nak:
    """The stepwise law of the fill-NAK proposal, window ``window_s`` (not available yet)."""

    window_s: float = 0.050


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimd:
    """Additive increase, multiplicative decrease (not available yet)."""

    increase_bytes_per_s: float = 1_000_000.0
    decrease: float = 0.5


RateLimit: TypeAlias = Unlimited | Fixed | Adaptive | Nak | Aimd
