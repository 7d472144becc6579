"""What other rooms of rstream may use of :mod:`rstream.aio`; no promise to its users."""

from __future__ import annotations

from rstream.aio._open import Opening
from rstream.aio._thread_call import ThreadCall

__all__ = (
    "Opening",
    "ThreadCall",
)
