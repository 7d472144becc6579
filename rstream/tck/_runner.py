"""What all verifications share: how a test runs, fails and is skipped."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar

import pytest

from rstream.errors import ConfigError
from rstream.tck._limit import run_within
from rstream.tck._stage import Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Names of tests. Longer than the mere kind: no helper of a user's module shall become a test.
NAMES: Final = (
    "required_spec*",
    "required_validate_*",
    "required_createPublisher*",
    "required_exercise*",
    "required_mustRequest*",
    "mustImmediatelyPass*",
    "optional_spec*",
    "stochastic_spec*",
    "untested_spec*",
)

#: The limit of a test's time, where the class names none.
LIMIT_LEAST_S: Final = 10.0
LIMIT_TIMEOUTS: Final = 20

_is_loaded = False


def loaded() -> None:
    """Note that pytest has loaded the plugin."""
    global _is_loaded
    _is_loaded = True


def _milliseconds(variable: str, default_s: float) -> float:
    text = os.environ.get(variable)
    if text is None:
        return default_s
    if not text.strip().isdecimal():
        raise ConfigError(f"{variable}={text}: must be a whole number of milliseconds")
    return int(text) / 1000


class Verification:
    """The base of all verifications.

    Attributes:
        env: the environment of the test that runs.
        timeout_s: most seconds that a signal may take.
        no_signals_s: seconds without a signal that show that none comes.
        collect_s: most seconds until a cancelled publisher has dropped its subscriber.
        limit_s: most seconds that a test may take; None: twenty times ``timeout_s``, and at least
            ten. A subject that never returns fails then, with the place where it is.
    """

    env: Environment
    timeout_s: ClassVar[float | None] = None
    no_signals_s: ClassVar[float | None] = None
    collect_s: ClassVar[float | None] = None
    limit_s: ClassVar[float | None] = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if not (_is_loaded or cls.__module__.startswith("rstream.tck.")):
            raise ConfigError(
                f"{cls.__name__}: pytest would not see its tests. Load the plugin: "
                'pytest -p rstream.tck, or pytest_plugins = ["rstream.tck"] in the top conftest.py'
            )

    @pytest.fixture(autouse=True)
    def rstream_tck_environment(self) -> Iterator[None]:
        """The environment of one test; cancels at the end what is still subscribed."""
        self.env = self.create_environment()
        yield
        run_within(self._limit_s(), "the end of the test", self.env.close)

    def create_environment(self) -> Environment:
        """The times of a test; a value of the class beats the environment variable."""
        timeout_s = self.timeout_s
        if timeout_s is None:
            timeout_s = _milliseconds("DEFAULT_TIMEOUT_MILLIS", 1.0)
        no_signals_s = self.no_signals_s
        if no_signals_s is None:
            no_signals_s = _milliseconds("DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS", 0.1)
        collect_s = self.collect_s
        if collect_s is None:
            collect_s = _milliseconds("PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS", 1.0)
        return Environment(timeout_s=timeout_s, no_signals_s=no_signals_s, collect_s=collect_s)

    def run_within_limit(self, test: Callable[[Any], None]) -> None:
        """Run a test in a thread, and fail when it does not return."""
        run_within(self._limit_s(), test.__name__, functools.partial(test, self))

    def _limit_s(self) -> float:
        if self.limit_s is not None:
            return self.limit_s
        return max(LIMIT_LEAST_S, LIMIT_TIMEOUTS * self.env.timeout_s)

    def check_can_run(self, elements: int, *, completes: bool) -> None:
        """Skip the test if the subject cannot take part in it."""


class _Test(Protocol):
    def __call__(self, verification: Any, /) -> None: ...


C = TypeVar("C", bound="type[Verification]")


def required(
    elements: int = 0, *, completes: bool = False
) -> Callable[[Callable[[Any], None]], _Test]:
    """A test that must hold.

    Args:
        elements: elements that the publisher must be able to give; with fewer it is skipped.
        completes: whether it must be able to complete.
    """

    def decorate(test: Callable[[Any], None]) -> _Test:
        @functools.wraps(test)
        def run(self: Verification) -> None:
            self.check_can_run(elements, completes=completes)
            self.run_within_limit(test)
            self.env.verify_no_async_errors()

        return run

    return decorate


def optional(
    elements: int = 0, *, completes: bool = False
) -> Callable[[Callable[[Any], None]], _Test]:
    """A test that may fail: then it is skipped, with the reason. Arguments as :func:`required`."""

    def decorate(test: Callable[[Any], None]) -> _Test:
        @functools.wraps(test)
        def run(self: Verification) -> None:
            self.check_can_run(elements, completes=completes)
            try:
                self.run_within_limit(test)
                self.env.verify_no_async_errors()
            except AssertionError as error:
                pytest.skip(f"optional: {error}")

        return run

    return decorate


def untested(reasons: dict[str, str]) -> Callable[[C], C]:
    """Add tests that are skipped, so that the list of rules is complete.

    Args:
        reasons: why each of them tests nothing, by its name.
    """

    def decorate(verification: C) -> C:
        for name, why in reasons.items():
            setattr(verification, name, _skipping(why))
        return verification

    return decorate


def _skipping(why: str) -> Callable[[Verification], None]:
    def skip(_: Verification) -> None:
        pytest.skip(f"untested: {why}")

    return skip


def named(**names: str) -> Callable[[C], C]:
    """Give tests their names, where these are longer than a line.

    Args:
        names: the name of a test in the original kit, by the name of the method.
    """

    def decorate(verification: C) -> C:
        for method, name in names.items():
            setattr(verification, name, verification.__dict__[method])
            delattr(verification, method)
        return verification

    return decorate
