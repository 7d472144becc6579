"""Signals, forks and the end of the process: what an object must know of them."""

from __future__ import annotations

import atexit
import functools
import os
import signal
import sys
import threading
import time
from types import CodeType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rstream.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream._condition import Condition

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_LONG_S = 3600.0
_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def holds(lock: Condition | threading.RLock) -> bool:
    """Whether this thread holds the lock: a signal handler may have interrupted it in there. Then
    the handler must not wait for another thread, which may wait for the lock.
    """
    return lock._is_owned()  # pyright: ignore - conditions use it, too


def raise_of_handler(error: Exception) -> None:
    """Raise the error if a signal handler of the program raised it, such as a soft limit of time:
    it is none of the call that it interrupted. For code that makes something else of errors.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    # Asking for all handlers takes 0.1 ms, and codecs raise errors of their own for each array.
    codes = set[CodeType]()
    traceback = error.__traceback__
    while traceback is not None:
        codes.add(traceback.tb_frame.f_code)
        traceback = traceback.tb_next
    if all(code.co_filename.startswith(_PACKAGE) for code in codes):
        return  # handlers of the program are none of the package's code
    if not codes.isdisjoint(_code_of(signal.getsignal(one)) for one in signal.valid_signals()):
        raise error


def _code_of(handler: Any) -> CodeType | None:
    """The code of a handler in Python; None: it is something else."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = getattr(handler, "__func__", handler)
    if callable(function) and not hasattr(function, "__code__"):
        function = type(function).__call__
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def raise_interrupt(error: Exception, call: Callable[[], object]) -> None:
    """Raise the error of a call if a signal handler raised it in the middle: made again, the call
    succeeds. Else return: the error is the call's own.

    For code that makes something else of the errors of codecs and of the user's functions. The call
    must do no harm when it is made twice.
    """
    raise_of_handler(error)
    try:
        call()
    except Exception:
        return
    raise error


def is_inherited(pid: int) -> bool:
    """Whether this process is a forked child, and not the process with that id, which made the
    object. Closing it here changes nothing: it belongs to the parent.
    """
    return pid != os.getpid()


def quiet_when_torn_down(delete: Callable[[S], None]) -> Callable[[S], None]:
    """A ``__del__`` that is silent about modules that have gone: at the end of the interpreter
    their names are None, and there is nothing left to free. Every ``__del__`` of the package.
    """

    def quiet(one: S, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        try:
            delete(one)
        except (AttributeError, ImportError, NameError, TypeError):
            if not is_ending():
                raise

    return functools.wraps(delete)(quiet)


def park_at_exit() -> None:
    """In a daemon thread of a program that ends: never returns. Else it returns at once.

    At exit the clients are closed while daemon threads still use them. The error of such a thread
    would be printed, and no code of the user handles it any more. The interpreter ends the thread.
    """
    if not threading.main_thread().is_alive() and threading.current_thread().daemon:
        while True:
            time.sleep(_LONG_S)


_before_exit: list[Callable[[], None]] = []


def before_exit(call: Callable[[], None]) -> None:
    """Have something called at the end of the program, while its clients and drivers still run."""
    _before_exit.append(call)


def run_before_exit() -> None:
    """Call what :func:`before_exit` was given, once."""
    while _before_exit:
        _before_exit.pop()()


atexit.register(run_before_exit)


def quiet_at_exit(call: Callable[P, R]) -> Callable[P, R]:
    """The call, which comes to :func:`park_at_exit` before it raises :class:`ClosedError`.

    Not for a call under a lock: a thread that is parked never lets go of it.
    """

    @functools.wraps(call)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except ClosedError:
            park_at_exit()
            raise

    return quiet
