"""Streams that are parts of another face, such as the lanes of shared work or the two of a service.

A user knows the face, not these streams: what they say names it, and what the face tells itself
they log for debugging only.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from rstream.stream._publisher_facts import sending_of
from rstream.stream._reader import reading_of

if TYPE_CHECKING:
    from rstream.stream._publisher import Publisher
    from rstream.stream._reader import Reader
    from rstream.stream._reading._stream_reading import StreamReading

__all__ = ("inner_publisher", "inner_reader")

PublisherT = TypeVar("PublisherT", bound="Publisher[Any]")
T = TypeVar("T")


def inner_publisher(one: PublisherT, owner: str) -> PublisherT:
    """Make a publisher a part of its owner, and return it.

    Args:
        one: was just opened.
        owner: the face, and the peer if it is known, for people.
    """
    settings = sending_of(one).settings
    settings.owner, settings.log_level = owner, logging.DEBUG
    return one


def inner_reader(one: Reader[T], owner: str) -> StreamReading[T]:
    """Make a reader a part of its owner, and return its engine. Arguments as
    :func:`inner_publisher`.
    """
    reading = reading_of(one)
    reading.report.owner = owner
    reading.report.log_level = logging.DEBUG
    return reading
