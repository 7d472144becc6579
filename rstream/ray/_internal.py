"""What other rooms of rstream may use of :mod:`rstream.ray`; no promise to its users."""

from __future__ import annotations

from rstream.ray._handle import COMMITTED, StreamHandle, check_distinct, handles_of
from rstream.ray._job_key import adopt_key, key_of

__all__ = (
    "COMMITTED",
    "StreamHandle",
    "adopt_key",
    "check_distinct",
    "handles_of",
    "key_of",
)
