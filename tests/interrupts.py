"""Interrupts at each place where a signal handler may raise, one after another, without luck.

CPython runs signal handlers at a few opcodes only: where a function begins or a generator goes on
(RESUME), where a loop jumps back, and after a call of C. `at_each_place` runs a call again and
again. The n-th run is interrupted at the n-th such place inside the package, and ends the search
when the call comes to its end before that. A second search does the same with the looks for
signals that the extension takes while it waits (``_core._fail_check``).

How it raises where CPython would:

* RESUME: in the trace function's "call" event. A generator that goes on below ``yield from`` runs
  no handler there.
* A jump back: before it, in the "opcode" event.
* After a call of a C function: in the profile function's "c_return" event, so that the error comes
  from the call, as it does in CPython. Types are no C functions for the profiler; after them it
  raises before the next opcode, if that stands in the same ``try``.

An error in a trace function ends the tracing. The profile function goes on, so it raises the second
interrupt of somebody who presses the key twice.
"""

from __future__ import annotations

import contextlib
import dis
import gc
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rstream
from rstream import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType, TracebackType

PACKAGE = str(Path(rstream.__file__).parent)
RESUME = dis.opmap["RESUME"]
CALLS = {dis.opmap[name] for name in ("CALL", "CALL_FUNCTION_EX", "CALL_KW") if name in dis.opmap}
JUMPS_BACK = {
    code
    for name, code in dis.opmap.items()
    if "JUMP_BACKWARD" in name and not name.endswith("NO_INTERRUPT")
}
#: More places than any call has; a search that comes here never ends.
PLACES_MOST = 100_000


class Interrupt(KeyboardInterrupt):
    """What the handler raises."""


@cache
def handler_at(code: CodeType, offset: int) -> int | None:
    """Where an error of this instruction is handled; None: nowhere in this function."""
    table = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    inner = [entry for entry in table if entry.start <= offset < entry.end]
    return inner[0].target if inner else None


class Interrupter:
    """Raises once at the n-th place in the package, in this thread, while its block runs.

    Args:
        number: which place, from 1 on; 0: none, it counts only.
        again: raise once more at so many calls after the first time; 0: no.
        below: also in what the package calls, such as the standard library.
        package: the folder or file whose functions are interrupted.

    Attributes:
        places: the places met so far.
        raised: how many interrupts there were.
        where: the place of the first one, for people.
    """

    def __init__(
        self, number: int, *, again: int = 0, below: bool = False, package: str = PACKAGE
    ) -> None:
        self.places = 0
        self.raised = 0
        self.where = ""
        self._number = number
        self._again = again
        self._below = below
        self._package = package
        self._callers: dict[FrameType, bool] = {}  # inside a call; whether it may run handlers
        self._is_over = False

    def __enter__(self) -> Interrupter:
        sys.setprofile(self._profile)
        sys.settrace(self._trace)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, at: TracebackType | None
    ) -> None:
        self._is_over = True  # first: both functions would see the calls below
        sys.settrace(None)
        sys.setprofile(None)
        self._callers.clear()

    def _is_ours(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_filename.startswith(self._package):
                return True
            if not self._below or frame.f_code.co_filename == __file__:
                return False
            frame = frame.f_back
        return False

    def _at_place(self, frame: FrameType, what: str) -> None:
        self.places += 1
        if self.places == self._number:
            self.raised = 1
            self.where = f"{frame.f_code.co_qualname}:{frame.f_lineno} {what}"
            raise Interrupt(self.where)

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if self._is_over:
            return None
        caller = frame.f_back
        if caller in self._callers and frame.f_code.co_name not in ("__init__", "__new__"):
            self._callers[caller] = False  # a function of Python: its return runs no handler
        if not self._is_ours(frame):
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        op, argument = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
        if op == RESUME and argument & 3 < 2:
            self._at_place(frame, "begins")
        return self._trace_in

    def _trace_in(self, frame: FrameType, event: str, arg: object) -> Any:
        if event == "opcode" and not self._is_over:
            code, at = frame.f_code, frame.f_lasti
            op = code.co_code[at]
            may_run = self._callers.pop(frame, False)
            if op in CALLS:
                self._callers[frame] = True
            elif op in JUMPS_BACK:
                self._at_place(frame, "jumps back")
            elif may_run and handler_at(code, at) == handler_at(code, at - 2):
                self._at_place(frame, "after a call")
        return self._trace_in

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if self._is_over or event not in ("c_return", "call") or not self._is_ours(frame):
            return
        if self.raised:
            op = frame.f_code.co_code[frame.f_lasti]
            self._again -= 1
            if self._again == 0 and (event == "c_return" or op == RESUME):
                self.raised = 2
                raise Interrupt("once more")
        elif event == "c_return" and frame.f_code.co_code[frame.f_lasti] in CALLS:
            self._callers[frame] = False
            self._at_place(frame, f"after {getattr(arg, '__qualname__', arg)}")


class FailedCheck:
    """Fails the n-th look for signals of the extension while its block runs; as `Interrupter`."""

    def __init__(self, number: int) -> None:
        self.where = f"look {number}"
        self._number = number

    def __enter__(self) -> FailedCheck:
        _core._fail_check(self._number)
        return self

    def __exit__(self, kind: object, error: object, at: object) -> None:
        _core._fail_check(0)


@contextlib.contextmanager
def own_garbage() -> Iterator[None]:
    """What the block leaves to the collector is collected at its end, and no later: what an
    interrupted constructor had opened says there that it was not closed, not in a later test.
    """
    try:
        yield
    finally:
        gc.collect()


@own_garbage()
def at_each_place(
    call: Callable[[], object],
    after: Callable[[str], object],
    *,
    step: int = 1,
    again: int = 0,
    below: bool = False,
    package: str = PACKAGE,
) -> int:
    """Interrupt a call at each place in turn; returns how many places were tried.

    Args:
        call: the call; it is run once for each place, on objects that stay in use.
        after: checks after each interrupt that nothing is lost, doubled or broken; it gets the
            place.
        step: try each n-th place only.
        again: interrupt once more, at so many calls after the first interrupt.
        below: also in what the package calls, such as the standard library.
        package: the folder or file whose functions are interrupted.
    """
    for tried, number in enumerate(range(1, PLACES_MOST, step)):
        interrupter = Interrupter(number, again=again, below=below, package=package)
        try:
            with interrupter:
                call()
        except KeyboardInterrupt:
            pass
        if not interrupter.raised:
            assert interrupter.places > 0, "not one place: is something else tracing?"
            return tried
        after(interrupter.where)
    raise AssertionError("the call never came to its end")


@own_garbage()
def at_each_check(call: Callable[[], object], after: Callable[[str], object]) -> int:
    """As `at_each_place`, at each look for signals of the extension while it waits."""
    for number in range(1, PLACES_MOST):
        failed = FailedCheck(number)
        try:
            with failed:
                call()
        except KeyboardInterrupt:
            after(failed.where)
            continue
        return number - 1
    raise AssertionError("the call never came to its end")
