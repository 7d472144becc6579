"""gevent: a wait in C would hold every greenlet of its thread, without a word."""

from __future__ import annotations

import sys
from typing import Any

from rstream.errors import ConfigError

__all__ = ("check_may_wait",)


def check_may_wait() -> None:
    """Refuse to wait in a thread that runs gevent's loop.

    Raises:
        ConfigError: it runs there. Says what to write.
    """
    local: Any = sys.modules.get("gevent._hub_local")
    if local is not None and local.get_hub_if_exists() is not None:
        raise ConfigError(
            "gevent runs in this thread, and a wait of rstream would stop all its greenlets",
            hint="wait in a thread of gevent's pool: "
            "gevent.get_hub().threadpool.apply(subscriber.get)",
        )
