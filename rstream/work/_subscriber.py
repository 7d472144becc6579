"""The reading side of shared work for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NoReturn, Self, TypeVar

from rstream._checks import check_timeout
from rstream._pickling import refuse_pickling
from rstream._waits import run
from rstream._with_hints import refuses_async_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rstream.work._job import Job
    from rstream.work._taking import Taking

__all__ = ("Subscriber",)

T = TypeVar("T")


@refuses_async_with(
    "`with rstream.work.subscriber(...)`, or `async with rstream.aio.work_subscriber(...)` in an "
    "event loop"
)
class Subscriber(Generic[T]):
    """Takes jobs; made by :func:`rstream.work.subscriber`.

    Thread rule: one thread takes jobs; :meth:`Job.ack`, :meth:`Job.give_back` and :meth:`close`
    from any.
    """

    def __init__(self, taking: Taking[T]) -> None:
        self._taking = taking

    def __repr__(self) -> str:
        return repr(self._taking)

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self, "open one there")

    @property
    def name(self) -> str:
        """The name of the work."""
        return self._taking.name

    @property
    def endpoint(self) -> str:
        """``host:port`` where publishers send jobs to this reader; empty: shared memory."""
        return self._taking.endpoint

    def statistics(self) -> dict[str, int]:
        """Counts since the start, and of now: ``held`` are jobs that are not done yet."""
        return self._taking.statistics()

    # ---- taking ----

    def __iter__(self) -> Iterator[Job[T]]:
        while True:  # with no jump back, where a handler may raise, before the yield
            job = self._next(None)
            if job is None:
                return
            yield job

    def get(self, *, timeout_s: float | None = None) -> Job[T]:
        """Wait for the next job.

        With ``acknowledge="next"`` it acknowledges the one before.

        Args:
            timeout_s: most seconds to wait; None: as long as it takes.
        Raises:
            ReadTimeout: no job within ``timeout_s``.
            StreamEnded: every publisher seen has completed.
            ClosedError: closed here.
        """
        check_timeout(timeout_s)
        job = self._next(timeout_s)
        if job is not None:
            return job
        raise self._taking.why_none(timeout_s)

    def _next(self, timeout_s: float | None) -> Job[T] | None:
        job = self._taking.at_hand()
        return run(self._taking.next_steps(timeout_s)) if job is None else job

    # ---- the end ----

    def close(self) -> None:
        """Leave. Jobs that are not acknowledged go to other readers: marked, unless nobody has seen
        them. Idempotent; any thread, and a signal handler. In a forked child it does nothing.
        """
        self._taking.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._taking.leave_current(is_done=exc is None)
        self._taking.note_failure(exc)
        self.close()
