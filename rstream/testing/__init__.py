"""A test kit for programs that use streams, or the Reactive Streams contract.

=========================  =====================================================================
``TestSubscriber``         asks by hand, records every signal, and finds what breaks the contract
``TestPublisher``          signals by hand; breaks a rule on purpose where a :class:`Violation` asks
``verify(publisher)``      a script of steps against a publisher, with virtual time where wanted
``LossyLink``              a driver of its own that loses datagrams, from a seed
``own_driver()``           a driver of its own, in a directory of its own
=========================  =====================================================================

:func:`rstream.stages.from_iterable` is a publisher that keeps every rule, and
:class:`rstream.stages.VirtualClock` a time for tests. The pytest fixture ``rstream_driver`` is in
:mod:`rstream.testing.plugin`. Nothing else here needs pytest: a failed expectation is an
``AssertionError`` in every test framework.
"""

from __future__ import annotations

import rstream.stream  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.testing._drivers import LossyLink, own_driver
from rstream.testing._publisher import TestPublisher, Violation
from rstream.testing._recorder import Complete, Error, Next, Signal
from rstream.testing._subscriber import TestSubscriber
from rstream.testing._verifier import StepVerifier, verify

__all__ = (
    "Complete",
    "Error",
    "LossyLink",
    "Next",
    "Signal",
    "StepVerifier",
    "TestPublisher",
    "TestSubscriber",
    "Violation",
    "own_driver",
    "verify",
)
