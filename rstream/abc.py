"""The Reactive Streams 1.0.4 contract in Python.

A subscription has the grammar ``on_subscribe on_next* (on_error | on_complete)?``.
``on_subscribe`` always comes. A cancelled subscription may end without a terminal signal. Rule
numbers (§1.1 …) are those of the specification.

:class:`Subscription` here carries demand. The transport's subscription, which moves bytes, is
``rstream.client.Subscription``.

A subscriber that prints up to ten elements, and requests one at a time::

    from rstream import abc, stream

    class PrintTen(abc.Subscriber[str]):
        def on_subscribe(self, subscription):
            self.subscription = subscription
            self.left = 10
            subscription.request(1)

        def on_next(self, item):
            print(item)
            self.left -= 1
            if self.left > 0:
                self.subscription.request(1)
            else:
                self.subscription.cancel()

        def on_error(self, error):
            print("failed:", error)

        def on_complete(self):
            print("complete")

    stream.source("quotes", str).subscribe(PrintTen())
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, Generic

from typing_extensions import TypeVar

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

__all__ = ("UNBOUNDED", "Processor", "Publisher", "Subscriber", "Subscription")

#: Demand at or above this number is unbounded (§3.17); sums saturate here.
UNBOUNDED: Final = 2**63 - 1


class Subscription(ABC):
    """The link between one subscriber and one publisher: it carries demand and cancellation."""

    @abstractmethod
    def request(self, n: int) -> None:
        """Add ``n`` elements to the demand (§3.8).

        Any thread may call it, also inside ``on_subscribe`` and ``on_next`` (§3.2). It never waits
        (§3.4), and never calls ``on_next`` recursively (§3.3). After :meth:`cancel` it does nothing
        (§3.6).

        Args:
            n: number of elements, at least 1. A smaller one leads to ``on_error(ValueError)`` and
                raises nothing here (§3.9, §3.16). The sum saturates at :data:`UNBOUNDED` (§3.17).
        Raises:
            TypeError: ``n`` is not an int.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Ask the publisher to stop, and to forget the subscriber (§3.12, §3.13).

        Any thread may call it, any number of times (§3.7). It never waits (§3.5) and never raises
        (§3.15). Signals that are already under way may still arrive (§2.8).
        """


class Subscriber(ABC, Generic[T_contra]):
    """Receives the signals of one subscription, one after the other (§1.3).

    The publisher calls its methods, on a thread of the publisher's choice. They should not block
    for long (§2.2).
    """

    @abstractmethod
    def on_subscribe(self, subscription: Subscription) -> None:
        """Receive the subscription: the first signal, once (§2.12).

        No element comes before the first :meth:`Subscription.request`. A second subscription while
        the first one is active must be cancelled (§2.5).

        Raises:
            TypeError: ``subscription`` is None (§2.13), or has not the methods of one.
        """

    @abstractmethod
    def on_next(self, item: T_contra) -> None:
        """Receive one element of those requested (§1.1).

        Raises:
            TypeError: ``item`` is None (§2.13). Any other exception cancels the subscription; the
                publisher logs it.
        """

    @abstractmethod
    def on_error(self, error: Exception) -> None:
        """Receive the failure that ended the stream.

        It comes without demand too (§2.10). No signal follows (§1.7).

        Raises:
            TypeError: ``error`` is None (§2.13).
        """

    @abstractmethod
    def on_complete(self) -> None:
        """Receive the successful end of the stream.

        It comes without demand too (§2.9). No signal follows (§1.7).
        """


class Publisher(ABC, Generic[T_co]):
    """Delivers elements to each of its subscribers, at most as many as requested (§1.1)."""

    @abstractmethod
    def subscribe(self, subscriber: Subscriber[T_co]) -> None:
        """Start a subscription; ``on_subscribe`` is the first call to the subscriber (§1.9).

        It returns normally: a refusal is ``on_subscribe`` followed by ``on_error``. It may be
        called any number of times, each time with another subscriber (§1.10).

        Raises:
            TypeError: ``subscriber`` is None (§1.9), or has not the methods of one.
        """


class Processor(Subscriber[T_contra], Publisher[T_co], ABC, Generic[T_contra, T_co]):
    """A subscriber and a publisher at once, bound by both contracts (§4.1).

    It passes an error from upstream on at once (§4.2).
    """
