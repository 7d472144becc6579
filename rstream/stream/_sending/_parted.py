"""Sending messages in parts; one such message at a time, which the faces take care of.

Theory of operation. A message longer than the transport takes is cut into parts of 64 KiB
(docs/reference/wire.md). Between two parts others may send. When the readers change, or the
session does, nobody has the first parts, so the message begins again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from rstream import _core
from rstream._checks import check_timeout
from rstream._waits import Deadline, Pause, Steps
from rstream.stream._parts import PartedMessage
from rstream.stream._sending import _waiting
from rstream.stream._sending._waiting import Waiting
from rstream.stream._unsendable import NO_BUFFER

if TYPE_CHECKING:
    from rstream.codecs import Encoded
    from rstream.stream._sending._offers import Offers
    from rstream.stream._sending._readers import KnownReaders
    from rstream.stream._sending._session import SendSession
    from rstream.stream._sending._under_way import UnderWay
    from rstream.stream._sending._waiting import SendWaits

__all__ = ("GIVE_WAY_PAUSE_S", "PartedSending")

#: Most seconds that a part gives way to messages of other threads that wait for room.
GIVE_WAY_S: Final = 0.005
#: How often it looks meanwhile.
GIVE_WAY_PAUSE_S: Final = 0.0002


@final
class PartedSending:
    """Sends the parts of the message that is under way."""

    def __init__(
        self,
        session: SendSession,
        readers: KnownReaders,
        offers: Offers,
        waits: SendWaits,
        under_way: UnderWay,
    ) -> None:
        self._session = session
        self._readers = readers
        self._offers = offers
        self._waits = waits
        self._under_way = under_way

    def take_up(self, data: Encoded) -> PartedMessage:
        """Begin with a message: it is under way from now on."""
        try:
            message = PartedMessage(data)
        except NO_BUFFER as error:
            raise self._offers.buffer_error(data, error) from error
        self._begin(message)
        self._under_way.message = message
        return message

    def _begin(self, message: PartedMessage) -> None:
        self._under_way.count += 1
        message.begin(self._session.core, self._under_way.count)

    def offer_part(self, message: PartedMessage) -> int:
        """Offer the next part, or the first one again if nobody has it."""
        under_way = self._under_way
        if message.must_begin_again(self._session.core):
            self._begin(message)
        under_way.note_others(self._readers.losses.consumed)
        part = message.next_part()
        header = self._offers.part_header
        position = self._offers.offer(part, header, int(message.is_last_part))
        if position > 0:
            begin, under_way.part_end = under_way.part_end, position
            self._session.spend(message.advance())
            if message.is_sent:
                under_way.note_sent(begin, position)
            self._offers.note_sent()
        else:
            message.is_offering = False
            if position == _core.NOT_CONNECTED:
                self._begin(message)  # the next reader will not have seen its first parts
        return position

    def part_steps(self, message: PartedMessage, timeout_s: float | None) -> Steps[int]:
        """Send the next part; returns the position after it.

        Args:
            message: under way.
            timeout_s: most seconds to wait for room for this part.
        """
        check_timeout(timeout_s)
        waits = self._waits
        yield from waits.pace_steps(timeout_s)
        yield from self._give_way_steps()
        position = self.offer_part(message)
        if position > 0:
            return position
        waiting = Waiting(timeout_s)
        waits.count += 1
        try:
            while position <= 0:
                yield from waits.cause_steps(waiting, position, 0)
                position = self.offer_part(message)
                if waiting.waited_s >= _waiting.NOTICE_AFTER_S and not waiting.has_noticed:
                    waiting.has_noticed = True
                    self._session.logs.log(
                        "%s: a message of %d bytes waits for its readers; %d are sent",
                        self._session.settings.where(),
                        message.total,
                        message.sent,
                    )
            return position
        finally:
            waits.waited_ns += int(waiting.waited_s * 1e9)

    def _give_way_steps(self) -> Steps[None]:
        until: Deadline | None = None
        while self._waits.waiting_count:
            until = until or Deadline(GIVE_WAY_S)
            if until.is_over:
                return
            yield Pause(GIVE_WAY_PAUSE_S)

    def put_down(self) -> None:
        """Tell the readers of a message that was not sent to its end, if they have the beginning.

        Its caller has put the message into ``untold``, without a call between. So what is sent
        next tells them if an interrupt ends this.
        """
        self._session.core.note_segment_wait(0)
        if self._under_way.untold:
            self._offers.tell_given_up()
