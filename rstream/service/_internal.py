"""What other rooms of rstream may use of :mod:`rstream.service`; no promise to its users."""

from __future__ import annotations

from rstream.service._answers import Answers
from rstream.service._asked import Asked
from rstream.service._asking import AskingRequester
from rstream.service._current import set_current
from rstream.service._open import CallOptions, caller_options
from rstream.service._place import ServicePlace, place_of
from rstream.service._requester_base import OUTSTANDING, PREFETCH, TIMEOUT_S
from rstream.service._requests import KEPT_MAX, kept_key
from rstream.service._service import Service
from rstream.service._serving import (
    END,
    CallFunction,
    MakeAnswer,
    RequestStep,
    Serving,
    is_interrupt,
)

__all__ = (
    "END",
    "KEPT_MAX",
    "OUTSTANDING",
    "PREFETCH",
    "TIMEOUT_S",
    "Answers",
    "Asked",
    "AskingRequester",
    "CallFunction",
    "CallOptions",
    "MakeAnswer",
    "RequestStep",
    "Service",
    "ServicePlace",
    "Serving",
    "caller_options",
    "is_interrupt",
    "kept_key",
    "place_of",
    "set_current",
)
