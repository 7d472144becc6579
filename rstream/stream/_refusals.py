"""Peers with another key, as one end of a stream was told of them: events, log lines, errors."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rstream._neighbours import why_refused
from rstream.stream._events import note_refusals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rstream.stream._events import PeerRefused

__all__ = ("LOOK_EVERY_S", "Refusals")

#: How often an end without a peer looks; a driver tells a refusal for 5 s after its last datagram.
LOOK_EVERY_S: Final = 4.0
#: Most reasons that one end logs: whoever reaches its port can make them up.
LOGGED_MAX: Final = 16


@dataclass(slots=True)
class Refusals:
    """The peers of one end that its driver refuses, and the last ones that it refused."""

    _told: set[str] = field(default_factory=set[str])  # by events
    _logged: set[str] = field(default_factory=set[str])  # reasons, without the peers' addresses
    _last: list[str] = field(default_factory=list[str])
    _seen_s: float = 0.0
    _looked_s: float = field(default_factory=time.monotonic)

    def look(self, driver_dir: str, channel_status_ids: Iterable[int]) -> list[str]:
        """A text for each peer that is refused just now; reads all counters."""
        found = why_refused(driver_dir, channel_status_ids)
        self._looked_s = time.monotonic()
        if found:
            self._last, self._seen_s = found, self._looked_s
        return found

    @property
    def is_due(self) -> bool:
        """Whether the last look is long enough ago."""
        return time.monotonic() - self._looked_s >= LOOK_EVERY_S

    def events(self, found: list[str]) -> list[PeerRefused]:
        """Those of what a look has found that no event has told."""
        return note_refusals(found, self._told)

    def unlogged(self, found: list[str]) -> list[str]:
        """Those whose reason this end has not logged; it has, after this call."""
        news: list[str] = []
        for text in found:
            reason = text.partition(" ")[2]
            if reason not in self._logged and len(self._logged) < LOGGED_MAX:
                self._logged.add(reason)
                news.append(text)
        return news

    def told(self, found: list[str]) -> list[str]:
        """What a look has found; if nothing, the last refusals, which may be the reason still."""
        age_s = time.monotonic() - self._seen_s
        return found or [f"{age_s:.0f} s ago {text}" for text in self._last]
