"""What other rooms of rstream may use of :mod:`rstream.work`; no promise to its users."""

from __future__ import annotations

from rstream.work._desk import ReaderSeat, WorkDesk
from rstream.work._giving import Giving
from rstream.work._open import (
    WorkPublisherOptions,
    WorkSubscriberOptions,
    publisher_opener,
    subscriber_opener,
)
from rstream.work._protocol import (
    HEAD,
    PREFETCH_MAX,
    VERSION,
    LaneReport,
    ReaderReport,
    check_count,
)
from rstream.work._seating import LanePublisher, Seating
from rstream.work._settings import GivingSettings
from rstream.work._taking import Taking

__all__ = (
    "HEAD",
    "PREFETCH_MAX",
    "VERSION",
    "Giving",
    "GivingSettings",
    "LanePublisher",
    "LaneReport",
    "ReaderReport",
    "ReaderSeat",
    "Seating",
    "Taking",
    "WorkDesk",
    "WorkPublisherOptions",
    "WorkSubscriberOptions",
    "check_count",
    "publisher_opener",
    "subscriber_opener",
)
