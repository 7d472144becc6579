"""Committed delivery: rows are handed out once their writer has committed them, each once.

A Spark sink with ``delivery="committed"`` (:mod:`rstream.spark`) stages its rows at the reading
end and commits whole micro-batches. The reading end, opened by ``rstream.ray.committed_reader()``,
recognises what is repeated. How long it can do so is up to its ledger::

    ledger = rstream.ledger.FileLedger("/var/lib/rows.ledger")  # survives the process
    end = rstream.ray.committed_reader("rows", ledger=ledger)
    for batch in end.source:
        store(batch, key=rstream.ledger.marks_of(batch))

Without one it remembers for as long as it is open (:class:`MemoryLedger`).
"""

from __future__ import annotations

import rstream.codecs  # pyright: ignore[reportUnusedImport] - decision 90
import rstream.stream  # noqa: F401  # pyright: ignore[reportUnusedImport] - decision 90
from rstream.ledger._file import FileLedger
from rstream.ledger._ledger import Ledger, MemoryLedger, Recalled
from rstream.ledger._marks import Marks, marks_of
from rstream.ledger._repeats import Repeats

__all__ = ("FileLedger", "Ledger", "Marks", "MemoryLedger", "Recalled", "Repeats", "marks_of")
