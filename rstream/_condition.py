"""A condition variable and an event that a signal handler may interrupt anywhere.

``threading.Condition``, and so ``threading.Event``, takes its lock in a function of Python: a
handler that raises right after that leaves the lock taken for good. Here ``with`` takes and frees
the lock in C, where no handler runs. A wait that is interrupted holds the lock again when it ends,
as ``with`` expects.
"""

from __future__ import annotations

import threading
from _thread import RLock  # pyright: ignore - threading.RLock makes one, and is no class
from contextlib import suppress
from typing import TYPE_CHECKING, Any

__all__ = ("Condition", "Event")

if TYPE_CHECKING:

    class _Lock:
        def __enter__(self) -> bool: ...
        def __exit__(self, *exc: object) -> None: ...
        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
        def release(self) -> None: ...
        def _is_owned(self) -> bool: ...
        def _release_save(self) -> Any: ...
        def _acquire_restore(self, state: Any, /) -> None: ...

else:
    _Lock = RLock


class Condition(_Lock):
    """A reentrant lock, and waits for what changes under it. Use it as ``threading.Condition``.

    A waiter looks again after each wait: a wait may end without a reason.
    """

    def __init__(self) -> None:
        self._sleepers: list[Any] = []  # a locked lock of each; under the lock

    def wait(self, timeout_s: float | None = None) -> bool:
        """Free the lock until :meth:`notify_all`, and take it again. Under the lock.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes.
        Returns:
            False: the time is over.
        """
        bell = threading.Lock()
        bell.acquire()
        self._sleepers.append(bell)
        state: Any = None
        try:
            state = self._release_save()
            return bell.acquire(True, -1 if timeout_s is None else max(0.0, timeout_s))
        finally:
            if state is not None:
                self._acquire_restore(state)
            elif not self._is_owned():  # interrupted before the state was noted
                self.acquire()
            if bell in self._sleepers:
                self._sleepers.remove(bell)

    def notify_all(self) -> None:
        """End all waits. Under the lock."""
        if not self._sleepers:
            return
        for bell in self._sleepers:
            if bell.locked():
                bell.release()
        self._sleepers = []  # last: who was left out by an interrupt is woken by the next call

    def nudge(self) -> None:
        """End the waits for a ``__del__``, which takes no lock: who is about to sleep may miss it,
        and nobody may notify meanwhile.
        """
        for bell in self._sleepers.copy():
            with suppress(RuntimeError):  # it was free
                bell.release()


class Event:
    """A flag that threads wait for. Use it as ``threading.Event``."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._is_set = False

    def is_set(self) -> bool:
        """Whether it was set, and not cleared since."""
        return self._is_set

    def set(self) -> None:
        """Set it, and end all waits."""
        with self._changed:
            self._is_set = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Take it back."""
        self._is_set = False

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is set. False: not within ``timeout_s``."""
        with self._changed:
            return self._is_set or self._changed.wait(timeout_s) or self._is_set
