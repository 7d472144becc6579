"""Requests and responses: ask a function in another process by name.

    @rstream.serve("prices")            # one process
    def price(symbol):
        return PRICES[symbol]
    price.run()

    rstream.request("prices", "ABC")    # another one

In shared memory by default, over UDP with ``channel=``. Every request ends: with its answer, the
server's error, or an error that says why there is none. :mod:`rstream.aio` has the same for event
loops.
"""

from __future__ import annotations

import rstream.stream  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.service._answers import AnswerStream
from rstream.service._current import ServedCall, current_call
from rstream.service._open import CallOptions, requester, serve
from rstream.service._requester import Requester
from rstream.service._requests import close_requesters, request, request_stream
from rstream.service._service import Service

__all__ = (
    "AnswerStream",
    "CallOptions",
    "Requester",
    "ServedCall",
    "Service",
    "close_requesters",
    "current_call",
    "request",
    "request_stream",
    "requester",
    "serve",
)
