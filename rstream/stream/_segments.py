"""Sending messages in shared segments, on streams in shared memory.

A large message lies once in a segment, which every reader maps, and the log only says where. It is
copied there without the publisher's lock. Where that cannot be, for want of memory or on the
network, the message travels in parts (:mod:`rstream.stream._large`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from rstream._channel_uri import ChannelUri
from rstream.stream._large import LargeSender
from rstream.stream._parts import SEGMENT_LENGTH_MAX
from rstream.stream._steps import Pause, Steps

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._parts import PartedMessage
    from rstream.stream._sender import Waiting

T = TypeVar("T")

#: Laws, as in ``rs-rate``, with which messages may lie in segments: their bytes are not in the log,
#: and a law with numbers of the user's must count them.
LAWS_WITHOUT_NUMBERS = (None, "default", "unlimited")
#: The pause between two looks for a free segment, in seconds: at first, and at most.
FREE_PAUSE_S = 0.00005
FREE_PAUSE_MAX_S = 0.002


class SegmentSender(LargeSender[T]):
    """Adds messages in shared segments; one at a time, as those in parts."""

    def _may_use_segment(self, message: PartedMessage) -> bool:
        """Whether the message may lie in a segment."""
        return (
            message.total <= SEGMENT_LENGTH_MAX
            and self._core.is_ipc
            and not self._link.client.is_aeron_driver
            and ChannelUri.parse(self.channel).get("rs-rate") in LAWS_WITHOUT_NUMBERS
        )

    def _offer_in_segment(self, core: _core.Publication, number: int) -> int:
        return self._refusal or core.offer_segment(number, self._header)

    def _segment_steps(
        self, core: _core.Publication, number: int, message: PartedMessage, waiting: Waiting
    ) -> Steps[int]:
        """Send what was copied into a segment; returns the position after it.

        Returns 0 when the publisher has another session by now, whose segments are others. The
        caller drops the segment in any case, which does nothing once it was sent.
        """
        while self._core is core:
            position = self._offer_in_segment(core, number)
            if position > 0:
                self._note_segment_sent(message, position)
                return position
            yield from self._cause_steps(waiting, position, 0)
        return 0

    def _note_segment_sent(self, message: PartedMessage, position: int) -> None:
        message.sent = message.total
        if self._bucket is not None:
            self._bucket.spend(message.total)
        self._note_sent(position)

    def _free_segment_steps(self, waiting: Waiting) -> Steps[None]:
        """Wait a moment for a reader to consume what lies in a segment.

        Raises:
            BackPressured: not in time. NotConnected: there is no reader.
        """
        if self._closed or self._is_ending:
            raise self._closed_error()
        if not self._core.is_connected:
            yield from self._wait_reader_steps(waiting.deadline_ns)
            return
        self._note_consumed()
        if waiting.deadline_ns is not None and time.monotonic_ns() >= waiting.deadline_ns:
            raise self._held_error()
        yield Pause(min(FREE_PAUSE_MAX_S, FREE_PAUSE_S * 1.5 ** min(waiting.rounds, 20)))
        waiting.rounds += 1
