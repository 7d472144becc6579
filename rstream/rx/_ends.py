"""Telling an observer the end in a thread that must not get what the observer raises."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactivex import abc

log = logging.getLogger("rstream")


def tell_end(what: str, observer: abc.ObserverBase[Any], error: Exception | None) -> None:
    """Complete, or give the error. An observer without ``on_error`` raises it: then it is logged.

    Args:
        what: the name of the operator, for the log.
    """
    try:
        if error is None:
            observer.on_completed()
        else:
            observer.on_error(error)
    except Exception:
        log.exception("%s: the observer's handler of the end raised", what)
