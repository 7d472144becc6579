"""The sending side of shared work for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

from rstream._pickling import refuse_pickling
from rstream._waits import run
from rstream._with_hints import refuses_async_with

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from rstream.work._giving import Giving
    from rstream.work._unfinished import Unfinished

__all__ = ("Publisher",)

T = TypeVar("T")


@refuses_async_with(
    "`with rstream.work.publisher(...)`, or `async with rstream.aio.work_publisher(...)` in an "
    "event loop"
)
class Publisher(Generic[T]):
    """Gives each message to one reader; made by :func:`rstream.work.publisher`.

    Threads may share it.
    """

    def __init__(self, giving: Giving[T]) -> None:
        self._giving = giving

    def __repr__(self) -> str:
        return repr(self._giving)

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "open one there")

    # ---- facts ----

    @property
    def name(self) -> str:
        """The name of the work."""
        return self._giving.name

    @property
    def linger_s(self) -> float:
        """Seconds that :meth:`close` waits until everything is acknowledged."""
        return self._giving.linger_s

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return self._giving.readers

    @property
    def unacknowledged(self) -> int:
        """How many messages were sent and are not finished."""
        return self._giving.unacknowledged

    def events(self) -> list[Unfinished]:
        """The messages since the last call that will not be sent again though nobody has
        acknowledged them, oldest first; at most the last 1024.
        """
        return self._giving.events()

    def statistics(self) -> dict[str, int]:
        """Counts since the start, and of now: ``readers``, ``unacknowledged``, ``waiting`` (to be
        sent again).
        """
        return self._giving.statistics()

    # ---- sending ----

    def send(self, obj: T, *, timeout_s: float | None = None) -> int:
        """Give one object to a reader that has free demand; wait for one.

        What a dead reader had goes first.

        Args:
            obj: what the codec takes.
            timeout_s: most seconds to wait for free demand; None: as long as readers are there.
        Returns:
            The number of the message, from 1 on.
        Raises:
            CodecError: ``obj`` cannot be encoded.
            MessageTooLarge: it does not fit.
            NotConnected: no reader for ``connect_timeout_s`` (a notice is logged after 2 s).
            BackPressured: no reader had free demand within ``timeout_s``.
            ClosedError: closed here. ForkedError: made before a fork.
        """
        message, steps = self._giving.begin(obj, timeout_s)
        if steps is not None:
            run(steps)
        return message.number

    def offer(self, obj: T) -> bool:
        """Give one object to a reader if one has free demand now; never waits.

        Returns:
            False: it was not taken.
        Raises:
            CodecError, MessageTooLarge, ClosedError, ForkedError: as :meth:`send`.
        """
        return self._giving.offer(obj)

    def send_many(self, objects: Iterable[T], *, timeout_s: float | None = None) -> int:
        """Send each object; returns how many.

        Raises:
            RStreamError: as :meth:`send`; the objects before were sent.
        """
        count = 0
        for obj in objects:
            self.send(obj, timeout_s=timeout_s)
            count += 1
        return count

    # ---- the end ----

    def wait_acknowledged(self, *, timeout_s: float | None = None) -> bool:
        """Wait until every message that was sent is finished: acknowledged, or in :meth:`events`.

        Args:
            timeout_s: None: as long as it takes.
        Returns:
            False: not within ``timeout_s``.
        """
        run(self._giving.end_steps(timeout_s))
        return not self.unacknowledged

    def close(self, *, linger_s: float | None = None) -> None:
        """Wait until every message is acknowledged, then say that the work is complete. Idempotent.

        What is not acknowledged by then is told by :meth:`events`: a reader that has it may still
        finish it, but nobody gets it if that reader dies. In a forked child it does nothing: the
        work is the parent's.

        Args:
            linger_s: most seconds to wait; None: as the publisher was made with.
        """
        giving = self._giving
        if not giving.begin_close(linger_s):
            return
        try:
            run(giving.end_steps(giving.linger_s if linger_s is None else linger_s))
        finally:
            giving.let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(linger_s=self._giving.linger_after(exc))
        self._giving.check_finished(exc)
