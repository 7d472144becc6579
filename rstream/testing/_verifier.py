"""Steps against a publisher: what is expected, what is done, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from rstream._checks import check_seconds
from rstream.errors import ConfigError
from rstream.testing._recorder import Complete, Error
from rstream.testing._subscriber import TestSubscriber

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from rstream import abc

T = TypeVar("T")


def verify(
    publisher: abc.Publisher[T],
    *,
    advance: Callable[[float], object] | None = None,
    pump: Callable[[], object] | None = None,
    timeout_s: float = 5.0,
) -> StepVerifier[T]:
    """Describe what a publisher shall do; ``run()`` at the end does it.

    Args:
        publisher: is subscribed once, by ``run``.
        advance: lets so many seconds of virtual time pass: ``clock.advance`` of a
            :class:`rstream.stages.VirtualClock`, ``scheduler.advance_by`` of RxPY's
            ``VirtualTimeScheduler``. Only what takes its time from there is virtual; the
            transport's own time is real.
        pump: as for :class:`TestSubscriber`.
        timeout_s: most seconds of real time that one step waits.

    Example::

        clock = stages.VirtualClock()
        source = stages.from_iterable(["a", "b"])
        slow = stages.pipe(source, stages.throttle(1, burst=1, clock=clock))
        (
            verify(slow, advance=clock.advance)
            .expect_next("a")
            .then_request(1)
            .expect_none(for_s=0.9)
            .advance_s(0.1)
            .expect_next("b")
            .expect_complete()
            .run()
        )
    """
    return StepVerifier(publisher, advance, pump, timeout_s)


class StepVerifier(Generic[T]):
    """A script; made by :func:`verify`. Each method adds a step and returns the script.

    Nothing happens before :meth:`run`.
    """

    def __init__(
        self,
        publisher: abc.Publisher[T],
        advance: Callable[[float], object] | None,
        pump: Callable[[], object] | None,
        timeout_s: float,
    ) -> None:
        check_seconds("timeout_s", timeout_s)
        self._publisher = publisher
        self._advance = advance
        self._pump = pump
        self._timeout_s = timeout_s
        self._steps: list[tuple[str, Callable[[TestSubscriber[T]], object]]] = []

    # ---- what is expected ----

    def expect_next(self, *values: T) -> Self:
        """The next elements are equal to ``values``; requests those that were not requested yet."""

        def step(seen: TestSubscriber[T]) -> None:
            _request_missing(seen, len(values))
            seen.expect_next(*values)

        return self._add(f"expect_next({', '.join(map(repr, values))})", step)

    def expect_next_count(self, count: int) -> Self:
        """So many elements come next; requests those that were not requested yet."""

        def step(seen: TestSubscriber[T]) -> None:
            _request_missing(seen, count)
            seen.take(count)

        return self._add(f"expect_next_count({count})", step)

    def expect_next_where(self, is_right: Callable[[T], bool]) -> Self:
        """An element comes next for which ``is_right(element)`` is true; requests it if needed."""

        def step(seen: TestSubscriber[T]) -> None:
            _request_missing(seen, 1)
            (item,) = seen.take()
            if not is_right(item):
                raise AssertionError(f"got {item!r}, which is not right")

        return self._add("expect_next_where(…)", step)

    def expect_complete(self) -> Self:
        """The completion comes next."""
        return self._add("expect_complete()", lambda seen: seen.expect_complete())

    def expect_error(self, kind: type[Exception] = Exception, *, match: str | None = None) -> Self:
        """An error comes next; see :meth:`TestSubscriber.expect_error`."""
        return self._add(
            f"expect_error({kind.__name__})", lambda seen: seen.expect_error(kind, match=match)
        )

    def expect_none(self, *, for_s: float = 0.1) -> Self:
        """No signal comes for so many seconds: of virtual time if there is one, else of real time.

        With virtual time, what a thread signals by itself is noticed by a later step.
        """
        check_seconds("for_s", for_s)

        def step(seen: TestSubscriber[T]) -> None:
            if self._advance is None:
                seen.expect_none(for_s=for_s)
            else:
                self._advance(for_s)
                seen.expect_none(for_s=0)

        return self._add(f"expect_none(for_s={for_s})", step)

    # ---- what is done ----

    def then_request(self, n: int) -> Self:
        """Request ``n`` elements."""
        return self._add(f"then_request({n})", lambda seen: seen.request(n))

    def then_cancel(self) -> Self:
        """Cancel."""
        return self._add("then_cancel()", lambda seen: seen.cancel())

    def then(self, function: Callable[[], object], *, request: int = 0) -> Self:
        """Call a function, such as one that makes the publisher signal.

        Args:
            function: is called without arguments.
            request: elements to request before.
        """

        def step(seen: TestSubscriber[T]) -> None:
            if request:
                seen.request(request)
            function()

        return self._add("then(…)", step)

    def advance_s(self, seconds: float) -> Self:
        """Let virtual time pass.

        Raises:
            ConfigError: ``verify`` was given no ``advance``.
        """
        check_seconds("seconds", seconds)
        advance = self._advance
        if advance is None:
            raise ConfigError(
                f"advance_s({seconds}): there is no virtual time; give verify(…, "
                "advance=clock.advance) with the stages.VirtualClock that the publisher uses"
            )
        return self._add(f"advance_s({seconds})", lambda seen: advance(seconds))

    # ---- doing it ----

    def run(self) -> list[T]:
        """Subscribe, take all steps, cancel what has not ended.

        Returns:
            All elements that came.
        Raises:
            AssertionError: a step failed, or the publisher broke the contract (§1.1, §1.3, §1.7,
                §1.9, §2.12, §2.13).
        """
        seen: TestSubscriber[T] = TestSubscriber(timeout_s=self._timeout_s, pump=self._pump)
        self._publisher.subscribe(seen)
        try:
            seen.expect_subscription()
            for number, (text, step) in enumerate(self._steps, 1):
                try:
                    step(seen)
                except AssertionError as error:
                    raise AssertionError(
                        f"step {number} of {len(self._steps)}, {text}: {error}"
                    ) from error
        finally:
            if not seen.has_ended:
                seen.cancel()
        seen.assert_no_violations()
        return seen.values

    def _add(self, text: str, step: Callable[[TestSubscriber[T]], object]) -> Self:
        self._steps.append((text, step))
        return self


def _request_missing(seen: TestSubscriber[T], count: int) -> None:
    """Request what is needed for ``count`` elements more than were read."""
    missing = seen.read_count + count - seen.requested
    if missing > 0 and not any(isinstance(one, Complete | Error) for one in seen.signals[-1:]):
        seen.request(missing)
