"""The actors of a chaos run: one that reads rows and is killed, and one that counts them."""

from __future__ import annotations

import os
from typing import Any

#: Query, epoch, partition, sequence: names a batch once and for all.
Key = tuple[str, int, int, int]


class Store:
    """Counts each row; nobody kills it. A batch whose name it knows was in hand at a death."""

    def __init__(self, rows: int) -> None:
        import numpy

        self.seen = numpy.zeros(rows, dtype=numpy.uint16)
        self.batches: dict[Key, tuple[int, str, int]] = {}
        self.again = 0  # batches of the same name, which are not counted
        self.other_attempts = 0  # of them by another attempt or run: repeats of eager delivery
        self.told = 0  # of all of them: marked as repeats, and by another reader than before
        self.pid = 0

    def add(self, key: Key, origin: str, pid: int, values: Any, *, may_repeat: bool) -> None:
        """Count a batch.

        Args:
            key: its name.
            origin: which attempt sent it.
            pid: the process of the reader.
            values: its rows, numbers from 0 on.
            may_repeat: as its marks say.
        """
        import numpy

        known = self.batches.get(key)
        if known is not None:
            self.again += 1
            self.other_attempts += known[1] != origin
            self.told += known[2] != pid and may_repeat
            assert known[0] == len(values), f"{key} came with other rows"
            return
        self.batches[key] = (len(values), origin, pid)
        numpy.add.at(self.seen, values, 1)

    def began(self, pid: int) -> None:
        """A reader has begun its life."""
        self.pid = pid

    def reader_pid(self) -> int:
        return self.pid

    def count(self) -> int:
        """Rows that came at least once."""
        return int((self.seen > 0).sum())

    def verdict(self) -> dict[str, int]:
        return {
            "rows": int(self.seen.sum()),
            "lost": int((self.seen == 0).sum()),
            "duplicates": int(self.seen.sum()) - self.count(),
            "again": self.again,
            "other_attempts": self.other_attempts,
            "told": self.told,
        }


class Reader:
    """Reads rows and has them counted; Ray starts it again when it was killed."""

    def __init__(self, directory: str, ledger: Any, store: Any) -> None:
        import ray

        import rstream.ray

        self.store = store
        made = rstream.ledger.FileLedger(ledger) if isinstance(ledger, str) else ledger
        self.end = rstream.ray.committed_reader(
            "chaos", dir=directory, host="127.0.0.1", ledger=made
        )
        self.end.start(self.take)
        ray.get(store.began.remote(os.getpid()))

    def take(self, batch: Any) -> None:
        import ray

        from rstream.ledger import marks_of

        marks = marks_of(batch)
        assert marks is not None
        key = (marks.query, marks.epoch, marks.partition, marks.sequence)
        origin = f"{marks.token}/{marks.task_attempt}"
        values = batch.column(0).to_numpy(zero_copy_only=False)
        add = self.store.add.remote
        ray.get(add(key, origin, os.getpid(), values, may_repeat=marks.may_repeat))

    def handle(self) -> Any:
        return self.end.handle

    def facts(self) -> str:
        """What it is doing: counts, and where each of its threads is."""
        import sys
        import traceback

        stacks = (
            f"thread {ident}\n{''.join(traceback.format_stack(frame))}"
            for ident, frame in sys._current_frames().items()
        )
        return f"{self.end.statistics()}\n{''.join(stacks)}"
