"""The Technology Compatibility Kit of Reactive Streams 1.0.4, as a pytest plugin.

It checks a publisher, a subscriber or a processor of :mod:`rstream.abc` against the rules of the
specification, with the tests of the original kit under their names there. Load it with
``pytest -p rstream.tck`` or ``pytest_plugins = ["rstream.tck"]`` in the top ``conftest.py``, and
derive a class whose name begins with ``Test``::

    from rstream import stages, tck

    class TestNumbers(tck.PublisherVerification[int]):
        def create_publisher(self, elements):
            return stages.from_iterable(range(elements))

=====================================  =========================================================
``PublisherVerification``              38 tests of a publisher
``SubscriberBlackboxVerification``     26 tests of a subscriber as it is
``SubscriberWhiteboxVerification``     27 tests of a subscriber that tells a probe what it gets
``IdentityProcessorVerification``      a processor: both of the above, and 3 tests of its own
=====================================  =========================================================

Kinds of tests, by the beginning of their names:

* ``required_``: a rule with MUST. It fails, or is skipped where the subject cannot take part (too
  few elements, no completion, no failed publisher), with the reason.
* ``optional_``: a rule with MAY or SHOULD. Where it does not hold it is skipped, with the reason.
* ``stochastic_``: a race; green shows little.
* ``untested_``: cannot be checked from outside; skipped, so that the list is complete.

Times: a signal may take up to ``timeout_s`` (a limit, not a pause); ``no_signals_s`` without a
signal shows that none comes. Class attributes set them, else the environment variables of the
original kit (``DEFAULT_TIMEOUT_MILLIS``, ``DEFAULT_NO_SIGNALS_TIMEOUT_MILLIS``,
``PUBLISHER_REFERENCE_GC_TIMEOUT_MILLIS``).

It needs pytest: the extra ``testing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rstream.tck import _runner
from rstream.tck._blackbox import SubscriberBlackboxVerification
from rstream.tck._processor import IdentityProcessorVerification
from rstream.tck._publisher import PublisherVerification
from rstream.tck._runner import Verification
from rstream.tck._stage import Environment, Upstream
from rstream.tck._whitebox import Probe, SubscriberWhiteboxVerification

if TYPE_CHECKING:
    import pytest

__all__ = (
    "Environment",
    "IdentityProcessorVerification",
    "Probe",
    "PublisherVerification",
    "SubscriberBlackboxVerification",
    "SubscriberWhiteboxVerification",
    "Upstream",
    "Verification",
)


def pytest_configure(config: pytest.Config) -> None:
    """Let pytest collect tests under the names of the original kit."""
    for pattern in _runner.NAMES:
        config.addinivalue_line("python_functions", pattern)
    _runner.loaded()
