"""The arguments of the two ends of shared work, checked (``_open.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ("GivingSettings", "TakingSettings")


@dataclass(frozen=True, slots=True, kw_only=True)
class GivingSettings:
    """The arguments of :func:`rstream.work.publisher`, checked."""

    name: str
    uri: str
    redeliver: bool
    deliveries_max: int | None
    reader_losses_max: int | None
    unacknowledged_max: int
    connect_timeout_s: float | None
    linger_s: float
    dir: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakingSettings:
    """The arguments of :func:`rstream.work.subscriber`, checked."""

    name: str
    uris: list[str]
    host: str | None
    port: int
    prefetch: int
    acknowledge: Literal["next", "explicit"]
    stays: bool
    dir: str | None
