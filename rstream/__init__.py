"""rstream: reactive streams over a brokerless, reliable transport."""

from __future__ import annotations

from rstream import errors
from rstream.errors import RStreamError

__all__ = ("RStreamError", "__version__", "errors")

__version__ = "0.1.0"
