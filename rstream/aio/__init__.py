"""asyncio and trio: publishers and subscribers whose waits are awaited.

    async with rstream.aio.publisher("ticks") as pub:
        await pub.send({"px": 1.0})
    async with rstream.aio.subscriber("ticks") as sub:
        async for tick in sub:
            print(tick)

It needs the extra ``aio`` (anyio). Nothing here blocks the event loop: a wait for messages, for
readers or for the rate sleeps on a file descriptor of the loop, and a driver is started in a
thread. ``rstream.publisher`` and ``rstream.subscriber`` are the same for threads.
"""

from __future__ import annotations

import rstream.service  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.stream  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.work  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.aio._items import items
from rstream.aio._open import publisher, subscriber
from rstream.aio._publisher import Publisher
from rstream.aio._requester import AnswerStream, Requester
from rstream.aio._requests import close_requesters, request, request_stream, requester
from rstream.aio._service import run_service, serve
from rstream.aio._subscriber import Subscriber
from rstream.aio._work import WorkPublisher, WorkSubscriber
from rstream.aio._work_open import work_publisher, work_subscriber

__all__ = (
    "AnswerStream",
    "Publisher",
    "Requester",
    "Subscriber",
    "WorkPublisher",
    "WorkSubscriber",
    "close_requesters",
    "items",
    "publisher",
    "request",
    "request_stream",
    "requester",
    "run_service",
    "serve",
    "subscriber",
    "work_publisher",
    "work_subscriber",
)
