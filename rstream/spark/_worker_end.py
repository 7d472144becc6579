"""Completes the streams of a worker of Spark that is ended while it does nothing.

Spark ends an idle worker by SIGHUP when its session stops, and by ``os._exit`` when it has been
idle for long or is not to be reused. ``atexit`` runs in neither case, and readers would take the
end for a death. A worker that is killed in the middle of a task has died.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

#: The program of the processes that Spark forks its workers from.
DAEMON: Final = "pyspark.daemon"

_tasks = 0  # that run in this process now
_process_id = 0


@contextlib.contextmanager
def task() -> Generator[None]:
    """Around each task: its worker does something."""
    global _tasks
    _tasks += 1
    try:
        yield
    finally:
        _tasks -= 1


def complete_at_end(close: Callable[[], None]) -> None:
    """Have ``close`` called when Spark ends this worker; elsewhere it does nothing.

    Call it in the main thread, before other threads are started. Idempotent.
    """
    global _process_id, _tasks
    is_main = threading.current_thread() is threading.main_thread()
    if _process_id == os.getpid() or not (_is_worker() and is_main):
        return
    _process_id = os.getpid()
    exit_now = os._exit

    def end(code: int) -> NoReturn:
        if not _tasks and _process_id == os.getpid():
            with contextlib.suppress(Exception):
                close()
        exit_now(code)

    os._exit = end
    # Spark sets the handler anew before each task, but not the mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    threading.Thread(target=_await_end, args=(end,), name="rstream-end", daemon=True).start()


def _is_worker() -> bool:
    spec: Any = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == DAEMON


def _await_end(end: Callable[[int], NoReturn]) -> None:
    signal.sigwait({signal.SIGHUP})
    end(128 + signal.SIGHUP)
