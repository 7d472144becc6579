"""Telling an observer the end in a thread that must not get what the observer raises."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reactivex import abc

log = logging.getLogger("rstream")


_ALSO_AN_EXIT: Final[Any] = (Exception, SystemExit)


def failures() -> tuple[type[Exception], ...]:
    """What becomes the error of a pipeline when an observer raises it; for ``except failures():``.

    ``sys.exit`` ends the program in its main thread. In another one it would end that thread alone,
    and ``run()`` would wait for ever. As an error it is raised by ``run()``.
    """
    is_main = threading.current_thread() is threading.main_thread()
    return (Exception,) if is_main else _ALSO_AN_EXIT


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
