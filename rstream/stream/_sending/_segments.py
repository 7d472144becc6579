"""Sending messages in shared segments, on streams in shared memory; one at a time.

A large message lies once in a segment, which every reader maps, and the log only says where. It is
copied there without the publisher's lock. Where that cannot be, for want of memory or on the
network, the message travels in parts (``_parted.py``).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

from rstream import _core, rate
from rstream._channel_uri import ChannelUri
from rstream._waits import Pause, Steps
from rstream.errors import NotSupported
from rstream.flow.unread import UnreadLimit
from rstream.stream import _parts
from rstream.stream._sending import _waiting

if TYPE_CHECKING:
    from rstream.stream._parts import PartedMessage
    from rstream.stream._sending._errors import SendErrors
    from rstream.stream._sending._offers import Offers
    from rstream.stream._sending._readers import KnownReaders
    from rstream.stream._sending._session import SendSession
    from rstream.stream._sending._under_way import UnderWay
    from rstream.stream._sending._waiting import SendWaits, Waiting

__all__ = ("SegmentSending", "unread_limit_of")

#: The pause between two looks for a free segment, in seconds: at first, and at most.
FREE_PAUSE_S: Final = 0.00005
FREE_PAUSE_MAX_S: Final = 0.002


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


@final
class SegmentSending:
    """Sends the message that is under way in a shared segment, where it may lie in one."""

    def __init__(
        self,
        session: SendSession,
        readers: KnownReaders,
        errors: SendErrors,
        offers: Offers,
        waits: SendWaits,
        under_way: UnderWay,
    ) -> None:
        self._session = session
        self._readers = readers
        self._errors = errors
        self._offers = offers
        self._waits = waits
        self._under_way = under_way
        self._unread: UnreadLimit | None = None
        # Publication and channel of the last look at the law.
        self._looked_at: tuple[_core.Publication | None, str] = (None, "")
        self._has_segments = False  # messages of this session may lie in segments

    def may_use(self, message: PartedMessage) -> bool:
        """Whether the message may lie in a segment."""
        if self._looked_at != (self._session.core, self._session.settings.channel):
            self._look_at_law()
        return self._has_segments and message.total <= _parts.SEGMENT_LENGTH_MAX

    def _look_at_law(self) -> None:
        session, channel = self._session, self._session.settings.channel
        self._unread = None  # the law of before holds nothing any more
        has_segments = session.core.is_ipc and not session.link.client.is_aeron_driver
        if has_segments:
            try:
                self._unread = unread_limit_of(ChannelUri.parse(channel).get("rs-rate"))
            except NotSupported:
                has_segments = False
        self._has_segments = has_segments
        self._looked_at = session.core, channel  # last: an interrupted look is made again

    @property
    def is_held(self) -> bool:
        """Whether a message waits because its readers have not consumed earlier ones."""
        unread = self._unread
        return self._under_way.message is not None and unread is not None and unread.is_held

    def must_wait(self, core: _core.Publication, message: PartedMessage) -> bool:
        """Whether as much as may be has been sent and not consumed."""
        unread = self._unread
        if unread is None or not core.is_connected:
            return False
        return not unread.may_send(message.total, core.consumed_position, time.monotonic_ns())

    def offer(self, core: _core.Publication, number: int, message: PartedMessage) -> int:
        """Offer what was copied into a segment, once."""
        if self._session.refusal:
            return self._session.refusal
        if self._under_way.untold and (reason := self._offers.tell_given_up()) < 0:
            return reason
        if self.must_wait(core, message):
            return _core.BACK_PRESSURED
        state = self._session.state
        return state.take(1, core.offer_segment, number, state.header)

    def steps(
        self, core: _core.Publication, number: int, message: PartedMessage, waiting: Waiting
    ) -> Steps[int]:
        """Send what was copied into a segment; returns the position after it.

        Returns 0 when the publisher has another session by now, whose segments are others. The
        caller drops the segment in any case, which does nothing once it was sent.
        """
        while self._session.core is core:
            position = self.offer(core, number, message)
            if position > 0:
                self.note_sent(message, position)
                return position
            if self.is_held:
                yield from self.free_steps(waiting)
            else:
                yield from self._waits.cause_steps(waiting, position, 0)
        return 0

    def note_sent(self, message: PartedMessage, position: int) -> None:
        """The message lies in a segment, and the log says where."""
        message.sent = message.total
        if self._unread is not None:
            self._unread.note_sent(position, message.total, time.monotonic_ns())
        self._session.spend(message.total)
        self._offers.note_sent()

    def free_steps(self, waiting: Waiting) -> Steps[None]:
        """Wait a moment for a reader to consume what lies in a segment.

        Raises:
            BackPressured: not in time. NotConnected: there is no reader.
        """
        session, message = self._session, self._under_way.message
        session.check_open()
        if not session.core.is_connected:
            yield from self._waits.reader_steps(waiting.deadline)
            return
        self._readers.note_consumed()
        if not waiting.rounds and message is not None:
            session.core.note_segment_wait(message.total)
        if waiting.deadline.is_over:
            raise self._errors.held()
        yield Pause(min(FREE_PAUSE_MAX_S, FREE_PAUSE_S * 1.5 ** min(waiting.rounds, 20)))
        waiting.rounds += 1
        if waiting.waited_s >= _waiting.NOTICE_AFTER_S and not waiting.has_noticed:
            waiting.has_noticed = True
            session.logs.log(
                "%s: a large message waits: %d bytes of earlier ones are not consumed, or held by "
                "views that readers keep (view=True); a kept view holds all that came after it",
                session.settings.where(),
                session.core.unread_bytes,
            )
