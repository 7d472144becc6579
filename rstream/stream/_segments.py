"""Sending messages in shared segments, on streams in shared memory.

A large message lies once in a segment, which every reader maps, and the log only says where. It is
copied there without the publisher's lock. Where that cannot be, for want of memory or on the
network, the message travels in parts (:mod:`rstream.stream._large`).
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, TypeVar

from rstream import _core, rate
from rstream._channel_uri import ChannelUri
from rstream._waits import Pause, Steps
from rstream.errors import NotSupported
from rstream.flow.unread import UnreadLimit
from rstream.stream._large import LargeSender
from rstream.stream._parts import SEGMENT_LENGTH_MAX
from rstream.stream._sender import NOTICE_AFTER_S

if TYPE_CHECKING:
    from rstream.stream._parts import PartedMessage
    from rstream.stream._sender import Waiting

log = logging.getLogger("rstream")

T = TypeVar("T")

#: The pause between two looks for a free segment, in seconds: at first, and at most.
FREE_PAUSE_S = 0.00005
FREE_PAUSE_MAX_S = 0.002


def unread_limit_of(text: str | None) -> UnreadLimit | None:
    """What holds messages in segments back under a law; their bytes are not in the log.

    Args:
        text: value of ``rs-rate``; None: the default law.
    Returns:
        None: nothing but the bounds of the segments.
    Raises:
        NotSupported: the law has rates, which must count these bytes: they travel in parts.
    """
    law = rate.Default() if text is None else rate.from_text(text)
    if isinstance(law, rate.Unlimited):
        return None
    if isinstance(law, rate.Default):
        law = rate.Adaptive()
    if not isinstance(law, rate.Adaptive) or law != rate.Adaptive(
        target_delay_s=law.target_delay_s
    ):
        raise NotSupported(f"rs-rate={text}: its rates do not see what lies in segments")
    return UnreadLimit(int(law.target_delay_s * 1e9))


class SegmentSender(LargeSender[T]):
    """Adds messages in shared segments; one at a time, as those in parts."""

    _unread: UnreadLimit | None = None
    _unread_of: tuple[_core.Publication | None, str] = (None, "")  # session and channel
    _has_segments = False  # messages of this session may lie in segments

    def _may_use_segment(self, message: PartedMessage) -> bool:
        """Whether the message may lie in a segment."""
        if self._unread_of != (self._core, self.channel):
            self._look_at_law()
        return self._has_segments and message.total <= SEGMENT_LENGTH_MAX

    def _look_at_law(self) -> None:
        has_segments = self._core.is_ipc and not self._link.client.is_aeron_driver
        if has_segments:
            try:
                self._unread = unread_limit_of(ChannelUri.parse(self.channel).get("rs-rate"))
            except NotSupported:
                has_segments = False
        self._has_segments = has_segments
        self._unread_of = self._core, self.channel  # last: an interrupted look is made again

    @property
    def _is_segment_held(self) -> bool:
        """Whether a message waits because its readers have not consumed earlier ones."""
        return self._large is not None and self._unread is not None and self._unread.is_held

    def _offer_in_segment(
        self, core: _core.Publication, number: int, message: PartedMessage
    ) -> int:
        if self._refusal:
            return self._refusal
        if self._untold and (reason := self._tell_given_up()) < 0:
            return reason
        if self._must_wait(core, message):
            return _core.BACK_PRESSURED
        return self._take(1, core.offer_segment, number, self._header)

    def _must_wait(self, core: _core.Publication, message: PartedMessage) -> bool:
        """Whether as much as may be has been sent and not consumed."""
        unread = self._unread
        if unread is None or not core.is_connected:
            return False
        return not unread.may_send(message.total, core.consumed_position, time.monotonic_ns())

    def _segment_steps(
        self, core: _core.Publication, number: int, message: PartedMessage, waiting: Waiting
    ) -> Steps[int]:
        """Send what was copied into a segment; returns the position after it.

        Returns 0 when the publisher has another session by now, whose segments are others. The
        caller drops the segment in any case, which does nothing once it was sent.
        """
        while self._core is core:
            position = self._offer_in_segment(core, number, message)
            if position > 0:
                self._note_segment_sent(message, position)
                return position
            if self._is_segment_held:
                yield from self._free_segment_steps(waiting)
            else:
                yield from self._cause_steps(waiting, position, 0)
        return 0

    def _put_down(self) -> None:
        self._core.note_segment_wait(0)
        super()._put_down()

    def _note_segment_sent(self, message: PartedMessage, position: int) -> None:
        message.sent = message.total
        if self._unread is not None:
            self._unread.note_sent(position, message.total, time.monotonic_ns())
        if self._bucket is not None:
            self._bucket.spend(message.total)
        self._note_sent()

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
        if not waiting.rounds and self._large is not None:
            self._core.note_segment_wait(self._large.total)
        if waiting.deadline_ns is not None and time.monotonic_ns() >= waiting.deadline_ns:
            raise self._held_error()
        yield Pause(min(FREE_PAUSE_MAX_S, FREE_PAUSE_S * 1.5 ** min(waiting.rounds, 20)))
        waiting.rounds += 1
        if waiting.waited_s >= NOTICE_AFTER_S and not waiting.has_noticed:
            waiting.has_noticed = True
            self._log(
                "%s: a large message waits: %d bytes of earlier ones are not consumed, or held by "
                "views that readers keep (view=True); a kept view holds all that came after it",
                self._where(),
                self._core.unread_bytes,
            )
