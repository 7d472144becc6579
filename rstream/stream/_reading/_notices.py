"""What a reader without a publisher says: log lines while it waits, hints of its errors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rstream._neighbours import hint_for_reader, why_quiet
from rstream._other_drivers import tell_others
from rstream.stream._refusals import LOOK_EVERY_S, Refusals

if TYPE_CHECKING:
    from rstream.stream._events import PeerRefused
    from rstream.stream._reading._inputs import Inputs
    from rstream.stream._reading._report import Report

__all__ = ("NOTICE_EVERY_S", "ReaderNotices")

#: How often a reader without publishers looks for one that it may mean: first, and at last.
NOTICE_EVERY_S = 2.0
NOTICE_RARELY_S = 60.0


class ReaderNotices:
    """The notices of one reader; the thread that holds its turn uses them.

    Args:
        name: of the stream; empty: without one, no other stream can be meant.
        report: logs.
        inputs: the subscriptions.
    """

    def __init__(self, name: str, report: Report, inputs: Inputs) -> None:
        self._name = name
        self._report = report
        self._inputs = inputs
        self._refused = Refusals()
        self._has_told_others = False
        self._alone_since_s: float | None = time.monotonic()  # None: nothing to notice any more
        self._after_s = NOTICE_EVERY_S

    def due_in_s(self, is_connected: bool) -> float | None:
        """Seconds that a wait may last until the next look; None: there is nothing to look for."""
        if self._alone_since_s is None and is_connected:
            return None
        return min(self._after_s, LOOK_EVERY_S)

    def look(self, is_connected: bool) -> None:
        """Log once that a publisher is here which the reader may mean, and the reason for which
        its driver refuses one.
        """
        since_s = self._alone_since_s
        is_due = since_s is not None and time.monotonic() - since_s >= self._after_s
        if not (is_due or self._refused.is_due):
            return
        refused = [] if is_connected else self._refused.unlogged(self._refusals())
        hint = self._hint(is_connected) if is_due else ""
        if texts := [text for text in (*refused, hint) if text]:
            self._report.log(
                "%s on %s: waits for a publisher; %s",
                self._report.title,
                ", ".join(self._inputs.channels),
                "; ".join(texts),
            )

    def _hint(self, is_connected: bool) -> str:
        if not self._name or is_connected or self._inputs.all_completed_count:
            self._alone_since_s = None
            return ""
        self._alone_since_s = time.monotonic()
        self._after_s = min(2 * self._after_s, NOTICE_RARELY_S)
        hint = hint_for_reader(self._inputs.link.directory, self._name, *self._inputs.channels)
        if hint:
            self._alone_since_s = None
        elif not self._has_told_others:
            self._has_told_others = True
            hint = tell_others(self._inputs.link.directory)
        return hint

    def hint_of_timeout(self, timeout_s: float, is_connected: bool) -> str:
        """What to look at when no message came; of a short wait only the directory is told."""
        channels = () if is_connected or timeout_s < 0.5 else self._inputs.channels
        quiet = why_quiet(self._inputs.link.directory, self._name, *channels)
        if not is_connected:
            quiet = "; ".join((*self._refused.told(self._refusals()), quiet))
        if refused := self._report.refused:
            quiet = f"it could not use {refused} messages: events() has a Refused of each; {quiet}"
        return quiet

    def refused_peers(self) -> list[PeerRefused]:
        """An event for each publisher that is refused and that no event has told."""
        return self._refused.events(self._refusals())

    def _refusals(self) -> list[str]:
        """A text for each publisher that has another key than this reader."""
        sockets = (source.core.channel_status_id for source in self._inputs.joined)
        return self._refused.look(self._inputs.link.directory, sockets)
