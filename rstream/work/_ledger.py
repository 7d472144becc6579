"""What a reader has, and what it has done: pure, the owner holds a lock.

Law: each number of a lane up to the last one that was received is held, or done; ``upto`` and
``beyond`` name exactly those that are done. ``beyond`` is no longer than what was held at once.

A signal handler may end a change anywhere. Each change can be made again then: a number stays held
until it is noted as done, and as returned.

Numbers come in order. One that is missing was lost with a driver: it counts as given back.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from rstream.work._protocol import PREFETCH_MAX, REPORT_NUMBERS_MAX, LaneReport

#: Lanes without a held message that are remembered; the oldest ones are forgotten.
LANES_MAX = 64


class _Lane:
    __slots__ = ("beyond", "changed", "held", "last", "returned", "upto")

    def __init__(self, first: int, returned_max: int) -> None:
        self.last = first - 1
        self.upto = first - 1
        self.beyond: set[int] = set()
        self.held: dict[int, bool] = {}  # number: whether the user has seen it
        self.returned: deque[int] = deque(maxlen=returned_max)
        self.changed = 0  # the version of the ledger when it changed last

    def done(self, number: int) -> None:
        if number > self.upto:
            self.beyond.add(number)
        while self.upto + 1 in self.beyond:
            self.upto += 1
            self.beyond.discard(self.upto)

    def report(self, lane: int, *, is_leaving: bool) -> LaneReport:
        last = self.last
        if is_leaving:
            # What was started before an older one counts as seen, and so does the older one: a
            # mark too many does no harm.
            for number, is_started in reversed(self.held.items()):
                if is_started or number != last:
                    break
                last -= 1
        return LaneReport(
            lane=lane,
            last=last,
            upto=self.upto,
            beyond=sorted(number for number in self.beyond if number > self.upto),
            returned=list(self.returned),
            held=len(self.held),
        )


class JobLedger:
    """The messages of all lanes of one reader.

    Args:
        returned_max: how many returned numbers each report repeats, per lane.
    """

    def __init__(self, returned_max: int) -> None:
        self._returned_max = returned_max
        self._lanes: OrderedDict[int, _Lane] = OrderedDict()
        self._told = 0
        self._has_left = False  # the last report was made
        #: Counts changes.
        self.version = 0

    def is_next(self, lane: int, number: int) -> bool:
        """Whether an honest publisher may send this message now."""
        known = self._lanes.get(lane)
        return known is None or 0 < number - known.last <= PREFETCH_MAX + 1

    def received(self, lane: int, number: int) -> None:
        """A message has come that :meth:`is_next`. Idempotent."""
        known = self._lanes.get(lane)
        if known is None:
            known = self._lanes[lane] = _Lane(number, self._returned_max)
            self._forget()
        if number <= known.last:
            return
        for lost in range(known.last + 1, number):
            known.returned.append(lost)
            known.done(lost)
        self._note(known)
        known.held[number] = False
        known.last = number

    def _note(self, lane: _Lane) -> None:
        self.version += 1
        lane.changed = self.version

    def _forget(self) -> None:
        idle = [lane for lane, known in self._lanes.items() if not known.held]
        for lane in idle[: max(0, len(self._lanes) - LANES_MAX)]:
            del self._lanes[lane]

    def started(self, lane: int, number: int) -> None:
        """The user has got it. Idempotent."""
        held = self._lanes[lane].held if lane in self._lanes else {}
        if number in held:
            held[number] = True

    def done(self, lane: int, number: int) -> bool:
        """The user has acknowledged it. False: it was done before, or its reader has left."""
        known = self._lanes.get(lane)
        if known is None or number not in known.held or self._has_left:
            return False
        known.done(number)
        self._note(known)
        del known.held[number]
        return True

    def give_back(self, lane: int, number: int) -> bool:
        """The user has given it back. False: as :meth:`done`."""
        known = self._lanes.get(lane)
        if known is None or number not in known.held or self._has_left:
            return False
        known.returned.append(number)  # first: what is done and not returned is acknowledged
        return self.done(lane, number)

    def has_left_with(self, lane: int, number: int) -> bool:
        """Whether the last report said that it is not done with this message."""
        known = self._lanes.get(lane)
        return self._has_left and known is not None and number in known.held

    @property
    def lanes(self) -> int:
        """How many publishers it remembers."""
        return len(self._lanes)

    @property
    def held(self) -> int:
        """Messages that are not done."""
        return sum(len(lane.held) for lane in self._lanes.values())

    def told(self, version: int) -> None:
        """A report of this version has reached every publisher."""
        self._told = max(self._told, version)

    def reports(self, *, is_leaving: bool = False, is_whole: bool = True) -> list[LaneReport]:
        """The state of the lanes.

        Args:
            is_leaving: ``last`` is the last message that somebody has seen.
            is_whole: False: only those that have changed since a report reached every publisher,
                and those with a held message.
        """
        self._has_left |= is_leaving
        return [
            known.report(lane, is_leaving=is_leaving)
            for lane, known in self._lanes.items()
            if is_whole or known.held or known.changed > self._told
        ]


def pieces(lanes: list[LaneReport]) -> list[list[LaneReport]]:
    """The same state in reports that are short enough: all lists but the last one are partial.

    What was given back goes first. ``upto`` comes last: it would acknowledge those, too.
    """
    found: list[list[LaneReport]] = []
    rest: list[LaneReport] = []
    room = REPORT_NUMBERS_MAX
    for lane in lanes:
        if len(lane.returned) + len(lane.beyond) <= room:
            room -= len(lane.returned) + len(lane.beyond)
            rest.append(lane)
            continue
        for name in ("returned", "beyond"):
            numbers: list[int] = getattr(lane, name)
            for first in range(0, len(numbers), REPORT_NUMBERS_MAX):
                part = LaneReport(lane.lane, lane.last, upto=0)
                setattr(part, name, numbers[first : first + REPORT_NUMBERS_MAX])
                found.append([part])
        rest.append(LaneReport(lane.lane, lane.last, lane.upto, held=lane.held))
    return [*found, rest]
