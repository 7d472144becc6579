"""Objects that are views of the transport's memory: what they hold is watched, counted and told.

A view of a message that came in several frames has memory of its own. A view of one frame lies in
the log, or in a shared segment that the log names, where the position of its reader cannot move
over it. So publishers may write as far as their window behind the oldest view that is kept, or
until all segments are in use, and then wait. That is right, because the view must stay valid, but
nobody should have to guess it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from rstream import _core
from rstream._facts import SEGMENT_BYTES_MAX, SEGMENTS_MAX, segment_fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.codecs import Codec
    from rstream.stream._reading._input import Input

__all__ = ("COPIED_BELOW", "Views", "takes_views")

log = logging.getLogger("rstream")

#: A message with fewer bytes is copied also for a codec that takes views: that costs less than to
#: lease it.
COPIED_BELOW: Final = 4096
#: A poll hands out at most this part of the window, or of the segments. A second one then fits
#: beside it, and the publisher has half of them left.
WINDOW_PARTS: Final = 4
#: Most bytes of a poll before a window is known.
BYTES_AT_FIRST: Final = 1

_HINT = (
    "drop views that are no longer needed, copy what you keep (array.copy()), or open the reader "
    "without view=True"
)


def takes_views(codec: Codec[Any]) -> bool:
    """Whether a codec makes objects that point into the messages that it is given."""
    return bool(getattr(codec, "takes_views", False))


class Views:
    """What the views of one reader hold. The thread that reads uses it.

    Attributes:
        held_bytes: bytes that its publisher cannot reuse, as last seen, in the log and in shared
            segments; of several publishers the most.
        holds: how often that has come to be more than half of the window, or of what segments may
            hold.
        bytes_max: most bytes of one poll; 0: no limit. A loop refers to what it was given last
            while it waits for more. If that could fill the window or the segments, both ends would
            wait for each other.
    """

    def __init__(self, title: str) -> None:
        self.held_bytes = 0
        self.holds = 0
        self.bytes_max = BYTES_AT_FIRST
        self._title = title
        self._is_holding = False

    def look(self, sources: Sequence[Input]) -> None:
        """Look at what is held. Call it between two polls, when no batch is open."""
        held, window, mtu = _most_held(sources)
        segment_bytes, messages = _most_in_segments(sources) if held else (0, 0)
        self.held_bytes = held + segment_bytes
        self.bytes_max = BYTES_AT_FIRST
        if window > 0:
            self.bytes_max = _poll_bytes_max(window, mtu, sources)
        fills_log = 2 * held > window
        is_holding = fills_log or 2 * segment_fill(segment_bytes, messages) > 1
        if is_holding and not self._is_holding:
            self.holds += 1
            if self.holds == 1 and fills_log:
                log.warning(
                    "%s: views that are kept hold %d bytes of the stream, more than half of the "
                    "window of %d bytes; when it is full the publisher waits for them; %s",
                    self._title,
                    held,
                    window,
                    _HINT,
                )
            elif self.holds == 1:
                log.warning(
                    "%s: views that are kept hold %d large messages of %d bytes in shared memory; "
                    "the publisher waits for them when it has %d, or %d bytes; %s",
                    self._title,
                    messages,
                    segment_bytes,
                    SEGMENTS_MAX,
                    SEGMENT_BYTES_MAX,
                    _HINT,
                )
        self._is_holding = is_holding

    def look_at_the_end(self, sources: Sequence[Input]) -> None:
        """Say that a subscription stays for its views, though its reader was closed."""
        held, window, _ = _most_held(sources)
        self.held_bytes = held + (_most_in_segments(sources)[0] if held else 0)
        if held > 0:
            log.warning(
                "%s: closed while views of it are kept; they stay valid, and until they are gone "
                "its publisher gets no further than its window of %d bytes; %s",
                self._title,
                window,
                _HINT,
            )


def _most_held(sources: Sequence[Input]) -> tuple[int, int, int]:
    """What the views hold of the source of which they hold most, its window, and the largest MTU
    of all.
    """
    facts = [source.core.held for source in sources]
    most = max(facts, default=_core.HeldMemory((0, 0, 0)))
    return most.held_bytes, most.window_bytes, max((one.mtu_max for one in facts), default=0)


def _most_in_segments(sources: Sequence[Input]) -> tuple[int, int]:
    """Bytes and number of the messages in shared segments that views hold, of the source of which
    they hold most.
    """
    uses = (source.core.segments for source in sources)
    return max(((use.held_bytes, use.held_messages) for use in uses), default=(0, 0))


def _poll_bytes_max(window: int, mtu: int, sources: Sequence[Input]) -> int:
    if mtu > COPIED_BELOW:  # only with larger frames a view can lie in the log
        return window // WINDOW_PARTS
    if not any(source.channel.startswith("aeron:ipc") for source in sources):
        return 0
    # A message in a segment has more bytes than an eighth of a term, and a window has half a term
    # at most. So as many bytes as two windows lie in eight segments, a quarter of all, at most.
    return min(2 * window, SEGMENT_BYTES_MAX // WINDOW_PARTS)
