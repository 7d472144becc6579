"""How a reader leaves its stream: once, when no thread is inside a call of it.

A thread inside ``wait`` or ``poll`` comes out soon; only then may the handles go. Who cannot wait
for it leaves that to the thread itself, which frees them on its way out.
"""

from __future__ import annotations

import os
import re
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from rstream import _session
from rstream._process import before_exit, is_inherited
from rstream.errors import ConcurrentUseError, RStreamError

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._reading._held import Held
    from rstream.stream._reading._images import Images
    from rstream.stream._reading._inputs import Inputs
    from rstream.stream._reading._intake import Intake
    from rstream.stream._reading._views import Views

__all__ = ("Leaving", "reason_of")

#: Longest text of an error for publishers, in bytes: what Aeron's error frame takes.
REASON_BYTES_MAX: Final = 1023
#: How often a close looks whether another thread has left poll.
LEAVE_PAUSE_S: Final = 0.001

_PLACE: Final = re.compile(r"\Astream '.*?, position \d+: ")


class Leaving:
    """The end of one reader. Any thread.

    Args:
        turn: held by the thread that is inside a call.
        held, intake, inputs, images, views: of the reader.

    Attributes:
        has_left: the handles are free; set under the turn.
        reason: why it leaves, for publishers; None: without a word.
        is_rejection: the reason fails them.
    """

    def __init__(
        self,
        turn: _core.Turn,
        *,
        held: Held[Any],
        intake: Intake[Any],
        inputs: Inputs,
        images: Images,
        views: Views | None,
    ) -> None:
        self.has_left: bool = False
        self.reason: str | None = None
        self.is_rejection: bool = False
        self._is_leaving = False
        self._turn = turn
        self._held = held
        self._intake = intake
        self._inputs = inputs
        self._images = images
        self._views = views
        self._pid = os.getpid()
        _open.add(self)

    def leave(self, timeout_s: float) -> bool:
        """Have a thread inside come out, and free the handles. Arguments as :meth:`let_go`."""
        self._is_leaving = self._inputs.is_closing = True
        self._inputs.waiter.wake()
        return self.let_go(timeout_s)

    def let_go(self, timeout_s: float = 0.0) -> bool:
        """Free the handles, once, or leave that to the call that this thread is inside.

        Args:
            timeout_s: how long another thread may stay inside.
        Returns:
            False: it is still inside.
        """
        until_s = time.monotonic() + timeout_s
        while not (self.has_left or self._turn.is_mine):
            try:
                with self._turn:
                    self._free()
            except ConcurrentUseError:
                if time.monotonic() >= until_s:
                    return False
                time.sleep(LEAVE_PAUSE_S)
        return True

    def _free(self) -> None:
        """Each step may be done twice: an interrupt may come between, and then close() again."""
        if self.has_left:
            return
        inputs = self._inputs
        try:
            self._held.give_back()
            if self._held.tally is not None:
                self._held.tally.close()
            if self.reason is not None:
                inputs.reject(self.reason, is_rejection=self.is_rejection)
            left = [] if self._intake.is_complete() else inputs.joined.copy()
            self._intake.cut = None  # its objects may be views
            self._images.close()
            inputs.leave()
            if self._views is not None:
                self._views.look_at_the_end(left)
        except Exception:
            self.has_left = True
            _session.release(inputs.link)
            raise
        self.has_left = True
        _session.release(inputs.link)

    def count_at_exit(self) -> None:
        """Count what a loop was given as consumed."""
        # Daemon threads may use the reader still; they find its client closed.
        if not (self._is_leaving or is_inherited(self._pid) or self._turn.is_mine):
            with suppress(RStreamError), self._turn:
                self._held.consume_given()


_open: Final[weakref.WeakSet[Leaving]] = weakref.WeakSet()


def _count_at_exit() -> None:
    """A script that ends in a loop, by an error for one: what the loop was given is consumed, and
    the rest is for the next reader. The clients are closed after this.
    """
    for leaving in list(_open):
        leaving.count_at_exit()


before_exit(_count_at_exit)


def reason_of(error: BaseException | str) -> str:
    """The text that publishers get of an error with which a reader leaves."""
    # Publishers know the stream; the text has no room for its place.
    text = (
        error if isinstance(error, str) else f"{type(error).__name__}: {_PLACE.sub('', str(error))}"
    )
    return text.encode()[:REASON_BYTES_MAX].decode(errors="ignore")
