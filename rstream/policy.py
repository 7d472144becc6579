"""What happens when a consumer is slow: the user's choice, named where the queue is.

``Block`` and ``Evict`` leave what is not yet consumed in the transport, whose window fills and stops
the publisher: for as long as it takes, or for ``after_s`` at most. All others read eagerly into a
bounded queue of the subscriber, so that the publisher is not slowed, and say what is given up when
that queue is full. Capacities and counters of each: docs/slow-consumers.md.
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
    """Back-pressure (the default): nothing is lost, the publisher waits."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A queue of ``n`` items between transport and consumer; ``overflow`` says what happens when
    it is full.
    """

    n: int
    overflow: Overflow = "block"


@dataclass(frozen=True, slots=True)
class DropNewest:
    """Keep the ``n`` oldest items; what arrives while they wait is dropped and counted."""

    n: int = 1024


@dataclass(frozen=True, slots=True)
class DropOldest:
    """Keep the ``n`` newest items; older ones are dropped and counted."""

    n: int = 1024


@dataclass(frozen=True, slots=True)
class Latest:
    """Keep only the newest item of each key, in the order in which the keys first came.

    Attributes:
        key: item → key. None: one key for all.
        keys_max: most keys that may wait; beyond it the key that waited longest is dropped and
            counted.
    """

    key: Callable[[Any], Hashable] | None = None
    keys_max: int = 65_536


@dataclass(frozen=True, slots=True)
class Conflate:
    """Merge what waits: ``merge(waiting, new)`` gives the one item that waits from then on."""

    merge: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Fail:
    """End the subscriber with :class:`rstream.errors.SlowConsumer` when more than ``n`` items
    wait; those that wait are handed out before, and the publisher is no longer held.
    """

    n: int = 1024


@dataclass(frozen=True, slots=True)
class Evict:
    """Let the transport go on without a consumer that holds the stream back and stands still for
    ``after_s`` seconds; what the others get is not touched.

    Its driver watches over it, so it works too when the consumer's process hangs. When it wakes,
    it gets :class:`rstream.errors.SlowConsumer`, or goes on.

    Attributes:
        after_s: 0.01 to 86400 seconds. It holds the stream back while three quarters of the window
            wait for it; it stands still while it takes nothing: a consumer that works on one batch
            of ``prefetch`` items for longer is evicted.
        rejoin: instead of the exception go on at what comes then; the events ``Evicted`` and
            ``Gap`` tell what was missed.
    """

    after_s: float
    rejoin: bool = False


SlowPolicy: TypeAlias = Block | Buffer | DropNewest | DropOldest | Latest | Conflate | Fail | Evict
