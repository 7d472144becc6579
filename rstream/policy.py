"""Policies for slow consumers.

``Block`` and ``Evict`` leave unconsumed messages in the transport. Its window fills and stops the
publisher: without a time limit, or for ``after_s`` at most. All other policies read messages into
a bounded queue of the subscriber as they arrive, so that the publisher is not slowed, and decide
what is dropped when that queue is full. Capacities and counters stand in
docs/how-to/slow-consumers.md::

    rstream.subscriber("ticks", on_slow=rstream.policy.Latest(key=lambda tick: tick["symbol"]))

What happens when the consumer is slow::

    policy.Block()                                       # the publisher waits
    policy.Buffer(1000)                                  # ... once 1000 items wait here
    policy.DropNewest(1000)                              # new items are dropped
    policy.DropOldest(1000)                              # old items are dropped
    policy.Latest(key=lambda tick: tick["symbol"])       # the newest of each key stays
    policy.Conflate(lambda waiting, new: waiting + new)  # items are merged
    policy.Fail(1000)                                    # the subscriber fails
    policy.Evict(after_s=2.0)                            # the driver goes on without it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = (
    "Block",
    "Buffer",
    "Conflate",
    "DropNewest",
    "DropOldest",
    "Evict",
    "Fail",
    "Latest",
    "Overflow",
    "SlowPolicy",
)

Overflow: TypeAlias = Literal["block", "drop_newest", "drop_oldest", "fail"]


@dataclass(frozen=True, slots=True)
class Block:
    """Back-pressure (the default): the publisher waits, and nothing is lost."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A queue between transport and consumer.

    Attributes:
        n: most items that wait.
        overflow: what happens when it is full: ``"block"`` the publisher, drop the newest or the
            oldest item, or ``"fail"`` the subscriber.
    """

    n: int
    overflow: Overflow = "block"


@dataclass(frozen=True, slots=True)
class DropNewest:
    """Keep the ``n`` oldest items. Items that arrive while they wait are dropped and counted.

    They are dropped here only: what came behind an item that still waits when the subscriber is
    left is for the next reader, also if it was dropped.
    """

    n: int = 1024


@dataclass(frozen=True, slots=True)
class DropOldest:
    """Keep the ``n`` newest items. Older ones are dropped and counted."""

    n: int = 1024


@dataclass(frozen=True, slots=True)
class Latest:
    """Keep only the newest item of each key, in the order in which the keys first came.

    Attributes:
        key: function from item to key. None: all items have one key.
        keys_max: most keys that may wait. Beyond it the key that waited longest is dropped and
            counted.
    """

    key: Callable[[Any], Hashable] | None = None
    keys_max: int = 65_536


@dataclass(frozen=True, slots=True)
class Conflate:
    """Merge items that wait into one.

    Attributes:
        merge: ``merge(waiting, new)`` returns the item that replaces the waiting one.
    """

    merge: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Fail:
    """End the subscriber with :class:`rstream.errors.SlowConsumer` when more than ``n`` items wait.

    The items that wait are delivered first. The publisher is not held back any more.
    """

    n: int = 1024


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict a consumer that holds the stream back and stands still for ``after_s`` seconds.

    The stream goes on for the other consumers, which lose nothing. The driver evicts, so it works
    even when the consumer's process hangs. An evicted consumer gets
    :class:`rstream.errors.SlowConsumer`, or joins again.

    Attributes:
        after_s: 0.01 to 86400 seconds. A consumer holds the stream back while three quarters of
            the window wait for it. It stands still while it takes nothing: so a consumer that
            works on one batch of ``prefetch`` items for longer than this is evicted.
        rejoin: True: join again at the current position instead of raising. The events
            ``Evicted`` and ``Gap`` report the messages that were missed.
    """

    after_s: float
    rejoin: bool = False


SlowPolicy: TypeAlias = Block | Buffer | DropNewest | DropOldest | Latest | Conflate | Fail | Evict
