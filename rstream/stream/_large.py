"""Sending messages in parts, as steps that a thread and an event loop share."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from rstream import _core
from rstream._checks import check_timeout
from rstream._waits import Pause, Steps
from rstream.errors import RStreamError
from rstream.stream._names import KIND_PART, header_of
from rstream.stream._parts import PartedMessage
from rstream.stream._sender import NOTICE_AFTER_S, Sender, Waiting
from rstream.stream._unsendable import NO_BUFFER

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from rstream.codecs import Encoded
    from rstream.stream._publisher_facts import Seen

log = logging.getLogger("rstream")

T = TypeVar("T")

#: Most seconds that a part gives way to messages of other threads that wait for room.
GIVE_WAY_S = 0.005
#: How often it looks meanwhile.
GIVE_WAY_PAUSE_S = 0.0002


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a message is that travels in parts.

    Attributes:
        sent_bytes: sent so far; 0 again when it begins anew, for other readers or another session.
        total_bytes: its length.
    """

    sent_bytes: int
    total_bytes: int


class LargeSender(Sender[T]):
    """Adds messages in parts; one such message at a time, which the faces take care of."""

    _large: PartedMessage | None = None  # under way
    _large_count = 0
    _part_end = 0  # position behind the part that was sent last
    _untold: tuple[PartedMessage, ...] = ()  # given up, and readers may not know: tell them first
    # Begin and end of what else was sent, before and between parts, and whole messages in parts.
    _others: deque[tuple[int, int]]

    @property
    def progress(self) -> Progress | None:
        """How far the message is that travels in parts just now; None: there is none. Any thread.

        Longer messages than :attr:`max_unparted_length` travel in parts.
        """
        message = self._large
        if message is None:
            return None
        return Progress(sent_bytes=message.sent, total_bytes=message.total)

    def _take_up(self, data: Encoded) -> PartedMessage:
        if self._large_count == 0:
            self._others = deque()
        try:
            message = PartedMessage(data)
        except NO_BUFFER as error:
            raise self._buffer_error(data, error) from error
        self._part_header = header_of(KIND_PART, self._codec.codec_id, self.name)
        self._begin_large(message)
        self._large = message
        return message

    def _begin_large(self, message: PartedMessage) -> None:
        self._large_count += 1
        message.begin(self._core, self._large_count)

    def _offer_part(self, message: PartedMessage) -> int:
        """Offer the next part, or the first one again if nobody has it."""
        if message.must_begin_again(self._core):
            self._begin_large(message)
        self._note_others()
        part = message.next_part()
        position = self._offer_data(part, self._part_header, int(message.is_last_part))
        if position > 0:
            begin, self._part_end = self._part_end, position
            part_bytes = message.advance()
            if self._bucket is not None:
                self._bucket.spend(part_bytes)
            if message.is_sent:
                self._others.append((begin, position))
            self._note_sent()
        else:
            message.is_offering = False
            if position == _core.NOT_CONNECTED:
                self._begin_large(message)  # the next reader will not have seen its first parts
        return position

    def _note_others(self) -> None:
        if self._reached != self._part_end:
            begin = self._part_end if self._reached > self._part_end else 0  # of another session
            self._others.append((begin, self._reached))
            self._part_end = self._reached
        while self._others and self._others[0][1] <= self._consumed:
            self._others.popleft()

    def _report_gap(
        self, session_id: int, to_position: int, why: str, seen: Seen | None = None
    ) -> None:
        """As of the base. Nothing is lost with the parts of a message that is under way: it is sent
        again from its first byte on.
        """
        message = self._large
        consumed = self._consumed if seen is None else seen.consumed
        if message is None or message.is_sent or to_position <= consumed:
            super()._report_gap(session_id, to_position, why, seen)
            return
        self._note_others()
        ends = [end for begin, end in self._others if begin < to_position]
        message.core = None  # so it begins again, whoever reads now
        super()._report_gap(session_id, min(to_position, max(ends, default=0)), why, seen)
        self._consumed = max(self._consumed, to_position)

    def _part_steps(self, message: PartedMessage, timeout_s: float | None) -> Steps[int]:
        """Send the next part; returns the position after it.

        Args:
            message: under way.
            timeout_s: most seconds to wait for room for this part.
        """
        check_timeout(timeout_s)
        yield from self._pace_steps(timeout_s)
        yield from self._give_way_steps()
        position = self._offer_part(message)
        if position > 0:
            return position
        waiting = Waiting(timeout_s)
        self._waits += 1
        has_noticed = False
        try:
            while position <= 0:
                yield from self._cause_steps(waiting, position, 0)
                position = self._offer_part(message)
                if waiting.waited_s >= NOTICE_AFTER_S and not has_noticed:
                    has_noticed = True
                    self._log(
                        "%s: a message of %d bytes waits for its readers; %d are sent",
                        self._where(),
                        message.total,
                        message.sent,
                    )
            return position
        finally:
            self._waited_ns += int(waiting.waited_s * 1e9)

    def _give_way_steps(self) -> Steps[None]:
        until_s = 0.0
        while self._waiting_count:
            now_s = time.monotonic()
            until_s = until_s or now_s + GIVE_WAY_S
            if now_s >= until_s:
                return
            yield Pause(GIVE_WAY_PAUSE_S)

    def _put_down(self) -> None:
        """Tell the readers of a message that was not sent to its end, if they have the beginning.

        Its caller has put the message into ``_untold``, without a call between. So what is sent
        next tells them if an interrupt ends this.
        """
        if self._untold:
            self._tell_given_up()

    def _tell_given_up(self) -> int:
        """Tell the readers to drop what they have of a message; below 0: why it must be done later.

        It need not wait for room, unless the limit was lowered far below what was sent.
        """
        while self._untold:
            message = self._untold[0]
            data = message.give_up()
            if message.is_begun and message.core is self._core and not self._is_ending:
                try:
                    reason = self._core.offer_control(data, self._part_header)
                except RStreamError as error:  # the end of the stream tells it
                    log.debug("%s: readers were not told: %s", self._where(), error)
                else:
                    if _core.CLOSED < reason < 0:
                        return reason
            # An interrupt before this has it told twice, which readers leave out.
            self._untold = self._untold[1:]
        if self._refusal == 0:
            self._accept()
        return 0

    def _accept(self) -> None:
        super()._accept()
        if self._untold:
            self._direct = None  # the short way does not look

    def _offer_data(self, data: Encoded, header: int | None = None, messages: int = 1) -> int:
        if self._untold and (reason := self._tell_given_up()) < 0:
            return reason
        return super()._offer_data(data, header, messages)

    def _offer_from(self, messages: list[Buffer], start: int) -> tuple[int, int]:
        if self._untold and (reason := self._tell_given_up()) < 0:
            return 0, reason
        return super()._offer_from(messages, start)
