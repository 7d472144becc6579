"""What a reader has, and what it has done: pure, the owner holds a lock.

Law: each number of a lane that was received is held, or done; ``upto`` and ``beyond`` name exactly
those that are done. ``beyond`` is no longer than what was held at once.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from rstream.work._protocol import LaneReport

#: Lanes without a held message that are remembered; the oldest ones are forgotten.
LANES_MAX = 256


class _Lane:
    __slots__ = ("beyond", "held", "returned", "upto")

    def __init__(self, returned_max: int) -> None:
        self.upto = 0
        self.beyond: set[int] = set()
        self.held: dict[int, bool] = {}  # number: whether the user has seen it
        self.returned: deque[int] = deque(maxlen=returned_max)

    def done(self, number: int) -> bool:
        if self.held.pop(number, None) is None:
            return False
        self.beyond.add(number)
        while self.upto + 1 in self.beyond:
            self.upto += 1
            self.beyond.remove(self.upto)
        return True


class Ledger:
    """The messages of all lanes of one reader.

    Args:
        returned_max: how many returned numbers each report repeats, per lane.
    """

    def __init__(self, returned_max: int) -> None:
        self._returned_max = returned_max
        self._lanes: OrderedDict[int, _Lane] = OrderedDict()

    def received(self, lane: int, number: int) -> None:
        """A message has come."""
        known = self._lanes.get(lane)
        if known is None:
            known = self._lanes[lane] = _Lane(self._returned_max)
            known.upto = number - 1  # a lane begins with 1, unless its beginning is lost
            self._forget()
        known.held[number] = False

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
        return known is not None and known.done(number)

    def give_back(self, lane: int, number: int) -> bool:
        """The user has given it back. False: it was done before."""
        if not self.done(lane, number):
            return False
        self._lanes[lane].returned.append(number)
        return True

    @property
    def lanes(self) -> int:
        """How many publishers it has had."""
        return len(self._lanes)

    @property
    def held(self) -> int:
        """Messages that are not done."""
        return sum(len(lane.held) for lane in self._lanes.values())

    def reports(self, *, is_leaving: bool = False) -> list[LaneReport]:
        """The state of all lanes."""
        return [
            LaneReport(
                lane=lane,
                upto=known.upto,
                beyond=sorted(known.beyond),
                returned=list(known.returned),
                unstarted=[n for n, is_started in known.held.items() if not is_started]
                if is_leaving
                else [],
                held=len(known.held),
            )
            for lane, known in self._lanes.items()
        ]
