"""Gives messages to the readers that the desk names, and notes what was sent."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, final

from rstream.errors import ClosedError, MessageTooLarge, RStreamError
from rstream.work._protocol import HEAD

if TYPE_CHECKING:
    from rstream._later_log import LaterLog
    from rstream.work._changes import Listener
    from rstream.work._desk import Message, ReaderSeat, WorkDesk
    from rstream.work._seating import LanePublisher

__all__ = ("Dealer",)

#: Seconds without a new message after which the last reader gets what may have ended another one.
IDLE_S: Final = 0.25
#: Seconds beyond its wait after which a call that has not come back was interrupted.
RETURN_S: Final = 1.0


@final
class Dealer:
    """Deals the messages of one publisher. All methods under its lock.

    Args:
        title: the publisher, for people.
        desk: who has which message.
        unacknowledged_max: most messages that are not finished.
        later: logs when the lock is free.

    Attributes:
        sent: how many messages were given to a first reader.
        is_clogged: a message waits, and a reader with free demand has no room.
    """

    def __init__(
        self, title: str, desk: WorkDesk[LanePublisher], unacknowledged_max: int, later: LaterLog
    ) -> None:
        self._title = title
        self._desk = desk
        self._unacknowledged_max = unacknowledged_max
        self._later = later
        self.sent: int = 0
        self.is_clogged: bool = False
        self._offered: tuple[ReaderSeat[LanePublisher], Message, int] | None = None
        self._placed_s = 0.0  # when a new message came last while suspects waited
        # Who waits for free demand, or for the end, and until when that is believed: one who was
        # interrupted does not say that it waits no more.
        self._senders: dict[Listener, float] = {}
        self._enders: dict[Listener, float] = {}

    # ---- giving ----

    def place(self, message: Message) -> bool:
        """Give a new message to a reader. False: nobody has free demand."""
        self.settle_offered()
        desk = self._desk
        if desk.waiting or desk.open >= self._unacknowledged_max:
            return False
        if desk.suspects:
            self._placed_s = now_s = time.monotonic()
        else:
            now_s = 0.0
        return self._give(message, desk.free_seats(now_s))

    def _give(self, message: Message, seats: list[ReaderSeat[LanePublisher]]) -> bool:
        self.is_clogged = False
        for seat in seats:
            head = HEAD.pack(seat.lane, seat.last + 1, message.deliveries + 1)
            self._offered = seat, message, seat.publisher.sent_position
            try:
                if seat.publisher.offer(head + message.data) > 0:
                    self._note_given(seat, message)
                    return True
            except MessageTooLarge:
                raise
            except ClosedError:  # the thread has just closed it, or the program ends
                pass
            except RStreamError as error:  # the thread will find it without its reader
                text = "%s: %s could not be reached: %s"
                self._later.add(logging.WARNING, text, self._title, seat.title, error)
            self.is_clogged = True
        return False

    def _note_given(self, seat: ReaderSeat[LanePublisher], message: Message) -> None:
        """Note that a message was sent to a reader. No signal handler runs after the first call."""
        seat.give(message)
        if message.number == 0:
            self.sent += 1
            message.number = self.sent
        self._offered = None

    def settle_offered(self) -> None:
        """Note a message whose sender was interrupted when it was sent."""
        if self._offered is None:
            return
        seat, message, before = self._offered
        if seat.publisher.sent_position > before and message.number == 0:
            self._note_given(seat, message)
        self._offered = None

    def send_again(self) -> None:
        """Give what waits to readers with free demand."""
        self.settle_offered()
        desk, waiting, suspects = self._desk, self._desk.waiting, self._desk.suspects
        now_s = time.monotonic()
        while waiting and self._give(waiting[0], desk.free_seats(now_s)):
            desk.redelivered += waiting.popleft().deliveries > 1
        while (seats := desk.trial_seats(now_s, is_idle=self._is_idle(now_s))) and self._give(
            suspects[0], seats
        ):
            desk.redelivered += suspects.popleft().deliveries > 1

    # ---- who waits ----

    def waits_to_send(self, listener: Listener, seconds: float) -> None:
        """A call waits so long for free demand."""
        self._senders[listener] = time.monotonic() + seconds + RETURN_S
        listener.attend()

    def waits_for_end(self, listener: Listener, seconds: float) -> None:
        """A call waits so long until every message is finished."""
        self._enders[listener] = time.monotonic() + seconds + RETURN_S
        listener.attend()

    def waits_no_more(self, listener: Listener) -> None:
        """The call goes on. Idempotent."""
        self._senders.pop(listener, None)
        self._enders.pop(listener, None)

    def _is_idle(self, now_s: float) -> bool:
        """Whether nobody has anything new to send."""
        for waiting in (self._senders, self._enders):
            for who in [who for who, until_s in waiting.items() if until_s < now_s]:
                del waiting[who]
        if self._senders or self._enders:
            return not self._senders
        suspects = self._desk.suspects
        quiet_since_s = max(self._placed_s, suspects[0].since_s if suspects else 0.0)
        return now_s - quiet_since_s >= IDLE_S
