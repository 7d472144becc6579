"""The Reactive Streams 1.0.4 contract in Python words.

Grammar of a subscription: ``on_subscribe on_next* (on_error | on_complete)?``. ``on_subscribe``
always comes; a cancelled subscription may end without a terminal signal. Rule numbers (§1.1 …) are
those of the specification. *Subscription* here is the one that carries demand; the transport's,
which moves bytes, is ``rstream.client.Subscription``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, Generic

from typing_extensions import TypeVar

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

__all__ = ("UNBOUNDED", "Processor", "Publisher", "Subscriber", "Subscription")

#: Demand at or above this counts as unbounded (§3.17); sums saturate here.
UNBOUNDED: Final = 2**63 - 1


class Subscription(ABC):
    """The link of one subscriber with one publisher: it carries demand up and cancellation."""

    @abstractmethod
    def request(self, n: int) -> None:
        """Add ``n`` elements to the demand (§3.8).

        Args:
            n: at least 1. ``n <= 0`` leads to ``on_error(ValueError)`` and never raises here
                (§3.9, §3.16). Sums saturate at :data:`UNBOUNDED` (§3.17).
        Raises:
            TypeError: ``n`` is not an int.
        Thread rules: any thread; may be called from inside ``on_subscribe`` and ``on_next``
        (§3.2), never recurses into ``on_next`` (§3.3), never waits (§3.4). After :meth:`cancel` it
        does nothing (§3.6).
        """

    @abstractmethod
    def cancel(self) -> None:
        """Ask the publisher to stop and to drop the subscriber (§3.12, §3.13).

        Signals already under way may still arrive (§2.8). Idempotent (§3.7), any thread, never
        waits (§3.5), never raises (§3.15).
        """


class Subscriber(ABC, Generic[T_contra]):
    """Receives the signals of one subscription, serially (§1.3)."""

    @abstractmethod
    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription; the first signal, and it comes once (§2.12).

        A second one while the first is active is to be cancelled (§2.5).

        Raises:
            TypeError: ``subscription`` is None (§2.13).
        """

    @abstractmethod
    def on_next(self, item: T_contra) -> None:
        """Take one element that was requested (§1.1).

        Raises:
            TypeError: ``item`` is None (§2.13). Any other exception counts as cancellation; the
                publisher logs it.
        """

    @abstractmethod
    def on_error(self, error: Exception) -> None:
        """Take the terminal signal of a failure; comes without demand too (§2.10). Nothing follows
        (§1.7).

        Raises:
            TypeError: ``error`` is None (§2.13).
        """

    @abstractmethod
    def on_complete(self) -> None:
        """Take the terminal signal of a good end; comes without demand too (§2.9). Nothing follows
        (§1.7).
        """


class Publisher(ABC, Generic[T_co]):
    """Gives elements to each of its subscribers, no more than it requested (§1.1)."""

    @abstractmethod
    def subscribe(self, subscriber: Subscriber[T_co]) -> None:
        """Start a subscription: ``on_subscribe`` is called before anything else (§1.9).

        Returns normally; every refusal is ``on_subscribe`` followed by ``on_error``. May be called
        often, each time with another subscriber (§1.10).

        Raises:
            TypeError: ``subscriber`` is None (§1.9).
        """


class Processor(Subscriber[T_contra], Publisher[T_co], ABC, Generic[T_contra, T_co]):
    """Both at once, and bound by both contracts (§4.1); an error from above is passed on at once
    (§4.2).
    """
