"""What a reader has, and what it has done: pure, the owner holds a lock.

Law: each number of a lane up to the last one that was received is held, or done; ``upto`` and
``beyond`` name exactly those that are done. ``beyond`` is no longer than what was held at once.

Numbers come in order. One that is missing was lost with a driver: it counts as given back.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from rstream.work._protocol import PREFETCH_MAX, LaneReport

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
        self.beyond.add(number)
        while self.upto + 1 in self.beyond:
            self.upto += 1
            self.beyond.remove(self.upto)

    def report(self, lane: int, *, is_leaving: bool) -> LaneReport:
        unstarted = [number for number, is_started in self.held.items() if not is_started]
        return LaneReport(
            lane=lane,
            last=self.last,
            upto=self.upto,
            beyond=sorted(self.beyond),
            returned=list(self.returned),
            unstarted=unstarted if is_leaving else [],
            held=len(self.held),
        )


class Ledger:
    """The messages of all lanes of one reader.

    Args:
        returned_max: how many returned numbers each report repeats, per lane.
    """

    def __init__(self, returned_max: int) -> None:
        self._returned_max = returned_max
        self._lanes: OrderedDict[int, _Lane] = OrderedDict()
        self._told = 0
        #: Counts changes.
        self.version = 0

    def received(self, lane: int, number: int) -> bool:
        """A message has come. False: no honest publisher sends it now; it is ignored."""
        known = self._lanes.get(lane)
        if known is None:
            known = self._lanes[lane] = _Lane(number, self._returned_max)
            self._forget()
        missing = range(known.last + 1, number)
        if number <= known.last or len(missing) > PREFETCH_MAX:
            return False
        for lost in missing:
            known.done(lost)
            known.returned.append(lost)
        known.last = number
        known.held[number] = False
        self._note(known)
        return True

    def _note(self, lane: _Lane) -> None:
        self.version += 1
        lane.changed = self.version

    def _forget(self) -> None:
        idle = [lane for lane, known in self._lanes.items() if not known.held]
        for lane in idle[: max(0, len(self._lanes) - LANES_MAX)]:
            del self._lanes[lane]

    def started(self, lane: int, number: int) -> None:
        """The user has got it."""
        self._lanes[lane].held[number] = True

    def done(self, lane: int, number: int) -> bool:
        """The user has acknowledged it. False: it was done before."""
        known = self._lanes.get(lane)
        if known is None or known.held.pop(number, None) is None:
            return False
        known.done(number)
        self._note(known)
        return True

    def give_back(self, lane: int, number: int) -> bool:
        """The user has given it back. False: it was done before."""
        if not self.done(lane, number):
            return False
        self._lanes[lane].returned.append(number)
        return True

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
            is_leaving: name what nobody has seen.
            is_whole: False: only those that have changed since a report reached every publisher,
                and those with a held message.
        """
        return [
            known.report(lane, is_leaving=is_leaving)
            for lane, known in self._lanes.items()
            if is_whole or known.held or known.changed > self._told
        ]
