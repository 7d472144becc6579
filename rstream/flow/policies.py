"""The queue of each policy for a slow consumer: one table for subscribers, RxPY and stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rstream import policy
from rstream._checks import check_seconds
from rstream.errors import ConfigError
from rstream.flow.queues import (
    ConflateQueue,
    DropNewestQueue,
    DropOldestQueue,
    LatestQueue,
    PlainQueue,
)

if TYPE_CHECKING:
    from rstream.flow.queues import Queue

__all__ = ("check_evict", "queue_of")

AFTER_S_LEAST: Final = 0.01
AFTER_S_MOST: Final = 86_400.0


def queue_of(on_slow: policy.SlowPolicy) -> Queue[Any] | None:
    """The queue of a policy; None: no queue, the transport's window is the only one.

    Raises:
        ConfigError: a field of it cannot be used; the text says which.
    """
    try:
        match on_slow:
            case policy.Block():
                return None
            case policy.Buffer(n=n, overflow="block" | "fail") | policy.Fail(n=n):
                return PlainQueue[Any](n)
            case policy.Buffer(n=n, overflow="drop_newest") | policy.DropNewest(n=n):
                return DropNewestQueue[Any](n)
            case policy.Buffer(n=n, overflow="drop_oldest") | policy.DropOldest(n=n):
                return DropOldestQueue[Any](n)
            case policy.Latest():
                _check_key(on_slow)
                return LatestQueue[Any](on_slow.key, on_slow.keys_max)
            case policy.Conflate():
                if not callable(on_slow.merge):
                    raise ConfigError(
                        f"on_slow={on_slow!r}: merge must be a function of two items, the one that "
                        "waits and the new one"
                    )
                return ConflateQueue[Any](on_slow.merge)
            case policy.Evict():
                check_evict(on_slow)
                return None
            case policy.Buffer():
                raise ConfigError(
                    f"{on_slow!r}: overflow must be block, drop_newest, drop_oldest or fail"
                )
            case _:
                raise ConfigError(
                    f"on_slow={on_slow!r} is no policy",
                    hint="use one of rstream.policy, such as policy.DropOldest(1000)",
                )
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"on_slow={on_slow!r}: {error}") from error


def _check_key(latest: policy.Latest) -> None:
    key: object = latest.key
    if key is not None and not callable(key):
        raise ConfigError(
            f"on_slow={latest!r}: key must be None or a function of an item",
            hint="keys_max limits the number of keys",
        )


def check_evict(evict: policy.Evict) -> policy.Evict:
    """Return the policy when it can be used.

    Raises:
        ConfigError: ``after_s`` is outside its limits, or ``rejoin`` is no bool.
    """
    check_seconds("on_slow=Evict: after_s", evict.after_s)
    if not isinstance(evict.rejoin, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"on_slow={evict!r}: rejoin must be True or False")
    if not AFTER_S_LEAST <= evict.after_s <= AFTER_S_MOST:
        raise ConfigError(
            f"on_slow={evict!r}: after_s must be {AFTER_S_LEAST} to {AFTER_S_MOST:.0f} seconds"
        )
    return evict
