"""A limit of time for a test: a subject that never returns must not hang the whole run.

The test runs in a thread of its own. After the limit the error names the rule and says where the
thread is; then an exception is raised in it, which ends a loop of Python. A thread that waits
inside a call of C cannot be ended, and stays, as a daemon, until the program ends.
"""

from __future__ import annotations

import ctypes
import re
import sys
import threading
import traceback
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Workers", "run_within")

#: Calls of a stack that an error shows, the innermost ones.
STACK_CALLS: Final = 8
#: Most seconds that a thread gets to end.
END_S: Final = 1.0
_RULE: Final = re.compile(r"_spec(\d)(\d\d)_")


class _Stopped(BaseException):
    """Ends the thread of a test that took too long."""


def run_within(limit_s: float, name: str, test: Callable[[], None]) -> None:
    """Run a test, in a thread.

    Args:
        limit_s: most seconds that it may take.
        name: of the test; the rule's number is in it.
        test: the test.
    Raises:
        AssertionError: it took longer.
        BaseException: what it has raised, a skip included.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            test()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name=f"rstream-tck {name}", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        where = _stack_of(thread)
        _end(thread)
        found = _RULE.search(name)
        rule = f"§{found[1]}.{int(found[2])}: " if found else ""
        raise AssertionError(
            f"{rule}not over within {limit_s:g} s (limit_s); a call into the subject does not "
            f"return. It is here:\n{where}"
        )
    if raised:
        raise raised[0]


def _stack_of(thread: threading.Thread) -> str:
    """Where a thread is now, the innermost call last."""
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - it has no other name
    frame = frames.get(thread.ident or 0)
    if frame is None:
        return "  (it has just ended)"
    return "".join(traceback.format_stack(frame)[-STACK_CALLS:]).rstrip()


def _end(thread: threading.Thread) -> None:
    """Raise an exception in a thread, and wait a moment for its end."""
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(_Stopped)
        )
    thread.join(END_S)


class Workers:
    """Two threads that call functions, one after the other. They start at the first call."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._is_closed = False

    def submit(self, function: Callable[[], object]) -> None:
        """Have one of the threads call it, soon; nothing after :meth:`close`."""
        if self._is_closed:
            return
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._run, name=f"rstream-tck-{number}", daemon=True)
                for number in range(2)
            ]
            for thread in self._threads:
                thread.start()
        self._calls.put(function)

    def _run(self) -> None:
        with suppress(_Stopped):
            while (function := self._calls.get()) is not None:
                with suppress(Exception):  # what a call raises, no rule lets it raise
                    function()

    def close(self, timeout_s: float) -> None:
        """End the threads.

        Args:
            timeout_s: most seconds that a call may still take.
        Raises:
            AssertionError: it took longer.
        """
        self._is_closed = True
        for _ in self._threads:
            self._calls.put(None)
        stuck: list[str] = []
        for thread in self._threads:
            thread.join(timeout_s)
            if thread.is_alive():
                stuck.append(_stack_of(thread))
                _end(thread)
        if stuck:
            raise AssertionError(
                f"a call into the subject does not return within {timeout_s:g} s. It is here:\n"
                + "\n".join(stuck)
            )
