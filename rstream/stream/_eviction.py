"""``policy.Evict``: what its channel says, and what its consumer is told. The watching is the driver's
(``transport_ext/driver/conductor/eviction.c``), so that it works when the consumer's process hangs.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rstream._channel_uri import ChannelUri
from rstream.errors import ConfigError, SlowConsumer

if TYPE_CHECKING:
    from rstream.policy import Evict

AFTER_S_LEAST = 0.01
AFTER_S_MOST = 86_400.0


def check_evict(evict: Evict) -> Evict:
    """Return the policy when it can be used.

    Raises:
        ConfigError: ``after_s`` is outside its limits.
    """
    if not AFTER_S_LEAST <= evict.after_s <= AFTER_S_MOST:
        raise ConfigError(
            f"on_slow={evict!r}: after_s must be {AFTER_S_LEAST} to {AFTER_S_MOST:.0f} seconds"
        )
    return evict


def evicting_channel(uri: str, evict: Evict | None) -> str:
    """The channel with what the policy asks of the driver.

    ``rs-evict`` is ours. Beside a driver of Aeron's its untethered subscription does the next best:
    there the time-outs count in shared memory only when the publication's channel has them.
    """
    if evict is None:
        return uri
    after_ns = round(evict.after_s * 1e9)
    wanted = ChannelUri.parse(uri).with_defaults(
        {
            "tether": "false",
            "untethered-window-limit-timeout": f"{after_ns - after_ns // 4}ns",
            "untethered-linger-timeout": f"{after_ns // 4}ns",
            "rs-evict": f"{after_ns}ns",
        }
    )
    return str(wanted)


def slow_consumer(where: str, evict: Evict, since_ms: int) -> SlowConsumer:
    """The error of a consumer that was let go; the caller adds channel, session and position."""
    ago_s = max(0.0, time.time() - since_ms / 1000)
    since = time.strftime("%H:%M:%S", time.localtime(since_ms / 1000))
    return SlowConsumer(
        f"{where}: this consumer held the stream and stood still for {evict.after_s:g} s; the stream "
        f"goes on without it since {since}, {ago_s:.1f} s ago",
        hint="it joins again"
        if evict.rejoin
        else "open another subscriber, which gets what comes "
        "from then on; Evict(rejoin=True) does that by itself and reports the gap",
    )
