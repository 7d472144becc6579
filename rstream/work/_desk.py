"""Who has which message, and who gets the next one: pure, the owner holds a lock.

Law: every message is in one place: with one reader (``ReaderSeat.given``), waiting to be sent again
(``WorkDesk.waiting``, or ``WorkDesk.suspects``), or finished: acknowledged, or *unfinished* for
good, which the caller is told.

    send ──▶ given ──acknowledged──▶ finished
              │  ▲
              │  └──taken again────── waiting ◀────┐
              ├──reader gives back────────────────▶┤ or unfinished
              └──reader is lost with it──────────▶ suspects, or unfinished

A message is marked by its count of deliveries. A reader that leaves in good order names those that
nobody has seen: their last delivery does not count, so they go out without a mark.

A message whose reader was lost may be what ended it, and may end the next one. So a *suspect* goes
to a reader that has nothing else, and which gets nothing else meanwhile: then it is known which
message it was. At least one reader stays out of such trials. The last reader of several is put on
trial only when it has nothing else to do, or when a suspect has waited for ``PATIENCE_S``.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.work._protocol import LaneReport, ReaderReport

P = TypeVar("P")

#: Seconds that a suspect waits at most for a second reader, before it goes to the last one.
PATIENCE_S: Final = 30.0


@dataclass(slots=True, eq=False)
class Message:
    """One message until it is finished.

    Attributes:
        data: the encoded object.
        number: from 1 on, as :meth:`rstream.work.Publisher.send` returns it; 0: not given yet.
        deliveries: how often it was given to a reader.
        losses: how many readers died or left while they had it.
        since_s: when the last of them did; monotonic.
    """

    data: bytes
    number: int = 0
    deliveries: int = 0
    losses: int = 0
    since_s: float = 0.0

    @property
    def history(self) -> str:
        """How many readers were lost with it, for people; empty: none."""
        if self.losses == 0:
            return ""
        return f"{self.losses} reader{'s' * (self.losses > 1)} died or left with it"


class ReaderSeat(Generic[P]):
    """One reader, as its reports show it.

    Attributes:
        lane: of this publisher to this reader.
        publisher: sends there.
        given: messages that it has, by their number on the lane.
        last: the last number on the lane.
        reader, session, title: as its reports say.
        prefetch: most messages that it wants.
        elsewhere: messages that it has from other publishers.
        was_connected: whether the lane had its reader.
        is_on_trial: it has a suspect, and nothing else.
    """

    __slots__ = (
        "elsewhere",
        "given",
        "is_on_trial",
        "lane",
        "last",
        "prefetch",
        "publisher",
        "reader",
        "session",
        "title",
        "was_connected",
    )

    def __init__(self, lane: int, publisher: P, report: ReaderReport) -> None:
        self.lane: int = lane
        self.publisher: P = publisher
        self.given: OrderedDict[int, Message] = OrderedDict()
        self.last: int = 0
        self.reader: int = report.reader
        self.session: int = report.session
        self.title: str = report.title
        self.prefetch: int = report.prefetch
        self.elsewhere: int = 0
        self.was_connected: bool = False
        self.is_on_trial: bool = False

    @property
    def free(self) -> int:
        """Its demand that nobody has used, as far as is known here."""
        return 0 if self.is_on_trial else self.prefetch - len(self.given) - self.elsewhere

    def give(self, message: Message) -> None:
        """Note that a message was sent to it."""
        self.last += 1
        message.deliveries += 1
        self.given[self.last] = message
        self.is_on_trial = message.losses > 0

    def settle(self, report: LaneReport) -> tuple[list[Message], list[Message]]:
        """Take what a report says of this lane.

        Returns:
            Messages that were acknowledged, and messages that were given back.
        """
        given = self.given
        back = [given.pop(number) for number in report.returned if number in given]
        done: list[Message] = []
        while given and next(iter(given)) <= report.upto:
            done.append(given.popitem(last=False)[1])
        done += [given.pop(number) for number in report.beyond if number in given]
        self.is_on_trial &= bool(given)
        return done, back

    def unseen(self, leave: ReaderReport) -> set[int]:
        """Which of its messages nobody has seen, as the report with which it left says."""
        last = next((lane.last for lane in leave.lanes if lane.lane == self.lane), 0)
        return {number for number in self.given if number > last}


class WorkDesk(Generic[P]):
    """All readers, and what waits to be sent again.

    Args:
        redelivers: whether a message goes out again when its reader dies.
        deliveries_max: after so many deliveries it does not; None: no limit.
        losses_max: nor after so many readers died or left with it; None: no limit.
        on_unfinished: is told of a message that does not go out again, and why.
    """

    def __init__(
        self,
        *,
        redelivers: bool,
        deliveries_max: int | None,
        losses_max: int | None,
        on_unfinished: Callable[[Message, str], None],
    ) -> None:
        self._redelivers = redelivers
        self._deliveries_max = deliveries_max
        self._losses_max = losses_max
        self._on_unfinished = on_unfinished
        self._most = 0  # readers at a time so far
        # By reader. It is copied before it is gone through: a signal handler that closes the owner
        # lets others change it meanwhile.
        self.seats: dict[int, ReaderSeat[P]] = {}
        # Both are bounded by what readers have had.
        self.waiting: deque[Message] = deque()
        self.suspects: deque[Message] = deque()
        self.acknowledged: int = 0
        self.redelivered: int = 0

    @property
    def open(self) -> int:
        """Messages that are not finished."""
        return self.again_count + sum(len(seat.given) for seat in [*self.seats.values()])

    @property
    def again_count(self) -> int:
        """Messages that wait to be sent again."""
        return len(self.waiting) + len(self.suspects)

    def add(self, seat: ReaderSeat[P]) -> None:
        """A reader has come."""
        self.seats[seat.reader] = seat
        self._most = max(self._most, len(self.seats))

    # ---- who gets the next one ----

    def free_seats(self, now_s: float = 0.0) -> list[ReaderSeat[P]]:
        """Readers with free demand for what is no suspect, those with most of it first."""
        free = [seat for seat in [*self.seats.values()] if seat.free > 0]
        # Of equals the one that has had fewest messages comes first.
        free.sort(key=lambda seat: (-seat.free, seat.last))
        if self.suspects and free and self._may_try(now_s):
            del free[0]  # it shall have nothing soon, for a suspect
        return free

    def _may_try(self, now_s: float) -> bool:
        """Whether a suspect may go to a reader though there are other messages."""
        on_trial = sum(seat.is_on_trial for seat in [*self.seats.values()])
        if on_trial >= max(1, len(self.seats) - 1):
            return False
        is_last = len(self.seats) == 1 and self._most > 1
        return not is_last or now_s - self.suspects[0].since_s >= PATIENCE_S

    def trial_seats(self, now_s: float, *, is_idle: bool) -> list[ReaderSeat[P]]:
        """Readers that the next suspect may go to.

        Args:
            now_s: monotonic.
            is_idle: whether there is nothing else to send.
        """
        if not self.suspects or not (self._may_try(now_s) or self._is_last_idle(is_idle)):
            return []
        return [seat for seat in [*self.seats.values()] if seat.free > 0 and not seat.given]

    def _is_last_idle(self, is_idle: bool) -> bool:
        return is_idle and not self.waiting and len(self.seats) == 1

    # ---- what readers tell ----

    def report(self, seat: ReaderSeat[P], report: ReaderReport) -> None:
        """Take a reader's report."""
        seat.prefetch = report.prefetch
        if not report.is_partial:
            seat.elsewhere = sum(lane.held for lane in report.lanes if lane.lane != seat.lane)
        for lane in report.lanes:
            if lane.lane != seat.lane:
                continue
            done, back = seat.settle(lane)
            self.acknowledged += len(done)
            for message in back:
                self._again(message, "its reader gave it back")

    def drop(
        self,
        seat: ReaderSeat[P],
        leave: ReaderReport | None = None,
        *,
        now_s: float = 0.0,
        is_innocent: bool = False,
    ) -> None:
        """A reader has gone.

        Args:
            seat: which one.
            leave: its last report, if it left in good order; it says what nobody has seen.
            now_s: monotonic.
            is_innocent: no message can be the cause: the driver has died.
        """
        self.seats.pop(seat.reader, None)
        unseen = set[int]() if leave is None else seat.unseen(leave)
        why = "its reader died" if leave is None else "its reader left"
        for number, message in reversed(seat.given.items()):  # the oldest one waits in front
            if number in unseen:
                message.deliveries -= 1
                self._wait(message)
                continue
            if not is_innocent:
                message.losses += 1
                message.since_s = now_s
            if self._redelivers:
                self._again(message, why)
            else:
                self._on_unfinished(message, f"{why} and had not acknowledged it")
        seat.given.clear()

    def _again(self, message: Message, why: str) -> None:
        if self._losses_max is not None and message.losses >= self._losses_max:
            self._on_unfinished(message, f"given up: {message.history}")
            return
        most = self._deliveries_max
        if most is not None and message.deliveries >= most:
            self._on_unfinished(message, f"given up after {message.deliveries} deliveries: {why}")
            return
        self._wait(message)

    def _wait(self, message: Message) -> None:
        (self.suspects if message.losses else self.waiting).appendleft(message)
