"""Recognising repeated batches of eager delivery, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from rstream._checks import is_whole
from rstream.errors import ConfigError
from rstream.ledger._marks import marks_of

if TYPE_CHECKING:
    from rstream.ledger._marks import RecordBatch

PARTITIONS_MAX: Final = 65_536


class Repeats:
    """Tells which batches of ``delivery="eager"`` a reader has had already.

    It is right as long as a partition's rows come in the same order each time, in the same batches.
    It does not survive its process. Where that is not enough, use ``delivery="committed"``.

    Of each partition of each query it remembers the last batch, so its memory is bounded. One
    thread at a time.

    Args:
        partitions_max: most partitions of all queries; the one that was idle longest is forgotten.
    Raises:
        ConfigError: partitions_max is no number above 0.

    Example::

        repeats = rstream.ledger.Repeats()
        for batch in reader:
            if repeats.is_new(batch):
                add(batch)
    """

    def __init__(self, partitions_max: int = PARTITIONS_MAX) -> None:
        if not is_whole(partitions_max) or partitions_max < 1:
            raise ConfigError(f"partitions_max={partitions_max!r}: give a whole number above 0")
        self._partitions_max = partitions_max
        self._last: OrderedDict[tuple[str, int], tuple[int, int]] = OrderedDict()

    def is_new(self, batch: RecordBatch) -> bool:
        """Whether this batch comes for the first time; True also for one without marks."""
        marks = marks_of(batch)
        if marks is None:
            return True
        key, number = (marks.query, marks.partition), (marks.epoch, marks.sequence)
        if number <= self._last.get(key, (-1, -1)):
            return False
        if key in self._last:
            self._last.move_to_end(key)
        elif len(self._last) >= self._partitions_max:
            self._last.popitem(last=False)
        self._last[key] = number  # no signal handler runs before the caller knows it
        return True
