"""RxPY: streams as Observables, an operator that sends, and operators with bounded queues.

The Observables are plain ``reactivex.Observable``. Items are delivered in the reading thread, so a
slow pipeline slows the publisher down: while it works nothing is read, the window fills, and the
publisher waits. RxPY's ``observe_on`` and asynchronous ``flat_map`` queue without a limit and hide
that. Here are operators that do not::

    rx.from_stream("ticks").pipe(
        rx.observe_on_bounded(EventLoopScheduler(), 1000), ops.map(score), rx.to_stream("scores")
    ).run()

What is open already can be read, too::

    rx.from_reader(rstream.stream.reader("ticks", channels=channels)).subscribe(print)
    rx.from_endpoint(rstream.ray.reader("ticks")).subscribe(print)
"""

from __future__ import annotations

import rstream.stream  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.rx._backpressure import (
    on_backpressure_buffer,
    on_backpressure_drop,
    on_backpressure_error,
    on_backpressure_latest,
)
from rstream.rx._endpoint import EndpointLike, from_endpoint
from rstream.rx._flat_map import flat_map_bounded
from rstream.rx._from_async import from_async_iterable
from rstream.rx._from_publisher import from_publisher
from rstream.rx._limit_rate import limit_rate
from rstream.rx._observable import from_reader, from_stream
from rstream.rx._observe_on import observe_on_bounded
from rstream.rx._operators import HandleLike, tee_stream, to_stream
from rstream.rx._to_async import AsyncItems, AsyncItemsIterator, to_async_iterable
from rstream.rx._to_publisher import to_publisher

__all__ = (
    "AsyncItems",
    "AsyncItemsIterator",
    "EndpointLike",
    "HandleLike",
    "flat_map_bounded",
    "from_async_iterable",
    "from_endpoint",
    "from_publisher",
    "from_reader",
    "from_stream",
    "limit_rate",
    "observe_on_bounded",
    "on_backpressure_buffer",
    "on_backpressure_drop",
    "on_backpressure_error",
    "on_backpressure_latest",
    "tee_stream",
    "to_async_iterable",
    "to_publisher",
    "to_stream",
)
