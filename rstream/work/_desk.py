"""Who has which message, and who gets the next one: pure, the owner holds a lock.

Law: every message is in one place: with one reader (``Seat.given``), waiting to be sent again
(``Desk.waiting``), or finished: acknowledged, or *unfinished* for good, which the caller is told.

    send ──▶ given ──acknowledged──▶ finished
              │  ▲
              │  └──taken again────── waiting
              └──reader dies, leaves or gives back──▶ waiting, or unfinished

A message is marked by its count of deliveries. A reader that leaves in good order names those that
nobody has seen: their last delivery does not count, so they go out without a mark.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.work._protocol import LaneReport, Report

P = TypeVar("P")


@dataclass(slots=True, eq=False)
class Message:
    """One message until it is finished.

    Attributes:
        data: the encoded object.
        number: from 1 on, as :meth:`rstream.work.Publisher.send` returns it; 0: not given yet.
        deliveries: how often it was given to a reader.
    """

    data: bytes
    number: int = 0
    deliveries: int = 0


class Seat(Generic[P]):
    """One reader, as its reports show it.

    Attributes:
        lane: of this publisher to this reader.
        publisher: sends there.
        given: messages that it has, by their number on the lane.
        last: the last number on the lane.
        reader, session: as its reports say.
        prefetch: most messages that it wants.
        elsewhere: messages that it has from other publishers.
        was_connected: whether the lane had its reader.
    """

    __slots__ = (
        "elsewhere",
        "given",
        "lane",
        "last",
        "prefetch",
        "publisher",
        "reader",
        "session",
        "was_connected",
    )

    def __init__(self, lane: int, publisher: P, report: Report) -> None:
        self.lane = lane
        self.publisher = publisher
        self.given: OrderedDict[int, Message] = OrderedDict()
        self.last = 0
        self.reader = report.reader
        self.session = report.session
        self.prefetch = report.prefetch
        self.elsewhere = 0
        self.was_connected = False

    @property
    def free(self) -> int:
        """Its demand that nobody has used, as far as is known here."""
        return self.prefetch - len(self.given) - self.elsewhere

    def give(self, message: Message) -> None:
        """Note that a message was sent to it."""
        self.last += 1
        message.deliveries += 1
        self.given[self.last] = message

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
        return done, back

    def unseen(self, leave: Report) -> set[int]:
        """Which of its messages nobody has seen, as the report with which it left says."""
        last, unstarted = 0, set[int]()
        for lane in leave.lanes:
            if lane.lane == self.lane:
                last, unstarted = lane.last, set(lane.unstarted)
        return {number for number in self.given if number > last or number in unstarted}


class Desk(Generic[P]):
    """All readers, and what waits to be sent again.

    Args:
        redelivers: whether a message goes out again when its reader dies.
        deliveries_max: after so many deliveries it does not; None: no limit.
        on_unfinished: is told of a message that does not go out again, and why.
    """

    def __init__(
        self,
        *,
        redelivers: bool,
        deliveries_max: int | None,
        on_unfinished: Callable[[Message, str], None],
    ) -> None:
        self._redelivers = redelivers
        self._deliveries_max = deliveries_max
        self._on_unfinished = on_unfinished
        self.seats: dict[int, Seat[P]] = {}  # by reader
        self.waiting: deque[Message] = deque()  # bounded by what readers have had
        self.acknowledged = self.redelivered = 0

    @property
    def open(self) -> int:
        """Messages that are not finished."""
        return len(self.waiting) + sum(len(seat.given) for seat in self.seats.values())

    def free_seats(self) -> list[Seat[P]]:
        """Readers with free demand, those with most of it first."""
        free = [seat for seat in self.seats.values() if seat.free > 0]
        # Of equals the one that has had fewest messages comes first.
        free.sort(key=lambda seat: (-seat.free, seat.last))
        return free

    def report(self, seat: Seat[P], report: Report) -> None:
        """Take a reader's report."""
        seat.prefetch = report.prefetch
        seat.elsewhere = 0
        for lane in report.lanes:
            if lane.lane != seat.lane:
                seat.elsewhere += lane.held
                continue
            done, back = seat.settle(lane)
            self.acknowledged += len(done)
            for message in back:
                self._again(message, "its reader gave it back")

    def drop(self, seat: Seat[P], leave: Report | None = None) -> None:
        """A reader has gone.

        Args:
            seat: which one.
            leave: its last report, if it left in good order; it says what nobody has seen.
        """
        self.seats.pop(seat.reader, None)
        unseen = set[int]() if leave is None else seat.unseen(leave)
        why = "its reader died" if leave is None else "its reader left"
        for number, message in reversed(seat.given.items()):  # the oldest one waits in front
            if number in unseen:
                message.deliveries -= 1
                self.waiting.appendleft(message)
            elif self._redelivers:
                self._again(message, why)
            else:
                self._on_unfinished(message, f"{why} and had not acknowledged it")
        seat.given.clear()

    def _again(self, message: Message, why: str) -> None:
        most = self._deliveries_max
        if most is not None and message.deliveries >= most:
            self._on_unfinished(message, f"given up after {message.deliveries} deliveries: {why}")
            return
        self.waiting.appendleft(message)
