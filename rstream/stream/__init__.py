"""The reactive runtime: the one place where demand and messages meet. Rx, asyncio, Ray and Spark
translate it.

``publisher`` and ``subscriber`` are the faces with ``send`` and ``for``; ``publisher_of`` and
``subscriber_to`` the Reactive Streams contract; ``reader`` reads one stream from several channels.
"""

from __future__ import annotations

from rstream.stream._events import (
    Available,
    Completed,
    Connected,
    Disconnected,
    Evicted,
    Gap,
    Lost,
    SessionChanged,
    StreamEvent,
    Unavailable,
)
from rstream.stream._names import stream_id_of
from rstream.stream._open import (
    processor,
    publisher,
    publisher_of,
    reader,
    subscriber,
    subscriber_to,
)
from rstream.stream._options import PublisherOptions, SendOptions, SubscriberOptions
from rstream.stream._processor import MapProcessor
from rstream.stream._publisher import Publisher
from rstream.stream._publisher_of import StreamPublisher
from rstream.stream._reader import Reader
from rstream.stream._subscriber import Subscriber
from rstream.stream._subscriber_to import StreamSubscriber
from rstream.stream.executor import CallerExecutor, Executor, ThreadExecutor

__all__ = (
    "Available",
    "CallerExecutor",
    "Completed",
    "Connected",
    "Disconnected",
    "Evicted",
    "Executor",
    "Gap",
    "Lost",
    "MapProcessor",
    "Publisher",
    "PublisherOptions",
    "Reader",
    "SendOptions",
    "SessionChanged",
    "StreamEvent",
    "StreamPublisher",
    "StreamSubscriber",
    "Subscriber",
    "SubscriberOptions",
    "ThreadExecutor",
    "Unavailable",
    "processor",
    "publisher",
    "publisher_of",
    "reader",
    "stream_id_of",
    "subscriber",
    "subscriber_to",
)
