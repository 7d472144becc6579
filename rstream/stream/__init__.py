"""The stream runtime: objects in and out of a stream, and demand between them.

======================  ======================================================================
``publisher(name)``     send objects: ``pub.send(obj)``
``subscriber(name)``    receive objects: ``for obj in sub``
``source(name)``        the stream as a Reactive Streams publisher: it reads the stream
``sink(name)``          the stream as a Reactive Streams subscriber: it sends into the stream
``processor(f)``        a Reactive Streams processor: ``f(obj)`` between the two
``reader(name)``        a subscriber of one stream over several channels
``wait_any(readers)``   one thread waits for several subscribers
======================  ======================================================================

::

    scores = stream.source("ticks", Tick)                # an abc.Publisher
    scored = stream.processor(lambda tick: tick.px * 2)  # an abc.Processor
    scores.subscribe(scored)
    scored.subscribe(stream.sink("scores"))              # an abc.Subscriber

    both = ["aeron:ipc", "aeron:udp?endpoint=10.0.0.7:40123"]
    with stream.reader("ticks", Tick, channels=both) as ticks:
        for tick in ticks:
            print(tick)

    loops = stream.CallerExecutor()                      # this thread
    stream.source("ticks", executor=loops).subscribe(subscriber)
    loops.run()                                          # until the stream ends
    keeps_the_program = stream.ThreadExecutor(daemon=False)

    stream.stream_id_of("ticks")                         # 164294152, on every host

:mod:`rstream.rx`, :mod:`rstream.aio`, :mod:`rstream.ray` and :mod:`rstream.spark` are built on it.
"""

from __future__ import annotations

import rstream.codecs  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.stream._events import (
    Available,
    Completed,
    Connected,
    Disconnected,
    Evicted,
    Failed,
    Gap,
    Lost,
    PeerRefused,
    Refused,
    Rejected,
    SessionChanged,
    StreamEvent,
    Unavailable,
)
from rstream.stream._names import stream_id_of
from rstream.stream._open import (
    processor,
    publisher,
    reader,
    sink,
    source,
    subscriber,
)
from rstream.stream._options import PublisherOptions, SendOptions, SubscriberOptions
from rstream.stream._publisher import Publisher
from rstream.stream._reactive._processor import MapProcessor
from rstream.stream._reactive._sink import StreamSink
from rstream.stream._reactive._source import StreamSource
from rstream.stream._reader import Reader
from rstream.stream._subscriber import Subscriber
from rstream.stream._wait_any import wait_any
from rstream.stream.executor import CallerExecutor, Executor, ThreadExecutor

__all__ = (
    "Available",
    "CallerExecutor",
    "Completed",
    "Connected",
    "Disconnected",
    "Evicted",
    "Executor",
    "Failed",
    "Gap",
    "Lost",
    "MapProcessor",
    "PeerRefused",
    "Publisher",
    "PublisherOptions",
    "Reader",
    "Refused",
    "Rejected",
    "SendOptions",
    "SessionChanged",
    "StreamEvent",
    "StreamSink",
    "StreamSource",
    "Subscriber",
    "SubscriberOptions",
    "ThreadExecutor",
    "Unavailable",
    "processor",
    "publisher",
    "reader",
    "sink",
    "source",
    "stream_id_of",
    "subscriber",
    "wait_any",
)
