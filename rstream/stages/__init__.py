"""Stages between a Reactive Streams publisher and its subscriber, inside one program.

=====================  =========================================================================
``buffer(n)``          upstream may be ``n`` elements ahead; or drop, or fail
``conflate(f)``        merge what comes while downstream is busy
``batch(n)``           lists of up to ``n`` elements, by time as well
``batch_weighted(w)``  lists of up to a weight
``throttle(per_s)``    so many elements a second
``checkpoint(name)``   an error says that it passed here
``merge_hub()``        many sources, one subscriber
``broadcast_hub()``    every element to every subscriber; the last ones to those who come late
``partition_hub()``    each element to one subscriber: who wants it, or whom a function chooses
=====================  =========================================================================

:func:`pipe` puts them in a row; :func:`from_iterable`, :func:`source_queue` and :func:`for_each`
are the ends of a pipeline inside a program. Streams are such ends too:
:func:`rstream.stream.source` and :func:`rstream.stream.sink`::

    from rstream import stages, stream

    ticks = stages.pipe(stream.source("ticks"), stages.batch(100, within_s=0.1))
    ticks.subscribe(stream.sink("batches"))

Every stage passes demand on: it asks upstream for no more than it has room for, and gives
downstream no more than was requested (§1.1). What each one may hold stands at its argument.
Signals come from the thread that brings the element, the demand or the time, one at a time (§1.3).
Cancelling a subscription frees what was held for it. The rules are those of :mod:`rstream.abc`.
"""

from __future__ import annotations

from rstream.stages._clock import Clock, SystemClock, VirtualClock
from rstream.stages._ends import for_each, from_iterable
from rstream.stages._hubs import BroadcastHub, PartitionHub, broadcast_hub, partition_hub
from rstream.stages._merge_hub import MergeHub, merge_hub
from rstream.stages._source_queue import SourceQueue, source_queue
from rstream.stages._stages import (
    Buffered,
    batch,
    batch_weighted,
    buffer,
    checkpoint,
    conflate,
    pipe,
    throttle,
)

__all__ = (
    "BroadcastHub",
    "Buffered",
    "Clock",
    "MergeHub",
    "PartitionHub",
    "SourceQueue",
    "SystemClock",
    "VirtualClock",
    "batch",
    "batch_weighted",
    "broadcast_hub",
    "buffer",
    "checkpoint",
    "conflate",
    "for_each",
    "from_iterable",
    "merge_hub",
    "partition_hub",
    "pipe",
    "source_queue",
    "throttle",
)
