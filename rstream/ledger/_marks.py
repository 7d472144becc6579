"""The origin of a record batch, in the metadata of its schema."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, Final, TypeAlias

import msgspec

#: ``pyarrow.RecordBatch``; pyarrow has no types.
RecordBatch: TypeAlias = Any

MARKS_KEY: Final = b"rstream.marks"
#: What the only column of an opening message is called, before the medium.
OPENS: Final = "rstream.opens."
#: Rows that are handed out once their micro-batch is committed.
COMMITTED: Final = "committed"
#: Rows that are handed out as they arrive.
EAGER: Final = "eager"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The origin of a record batch.

    ``(query, epoch, partition, sequence)`` names a batch of committed delivery once and for all:
    a repeated one is not handed out, as long as the reading end's ledger remembers it. With eager
    delivery readers recognise a repeated batch by the attempt, if a partition's rows come in the
    same order each time.

    Attributes:
        query: Spark's id of the streaming query; of a batch job an id of its own.
        epoch: number of the micro-batch; 0 in a batch job.
        partition: number of the partition.
        attempt: number of the attempt for this partition.
        task_attempt: Spark's id of the task attempt.
        token: new for each planned micro-batch, so a replayed epoch has another one.
        sequence: number of the message within the attempt.
        row_offset: number of its first row within the attempt.
        sent_s: when the task began to send the message, seconds since 1970 by its host's clock.
            The reader's clock less it is the queueing delay, as far as both clocks agree.
        delivery: ``"committed"`` or ``"eager"``.
        may_repeat: committed delivery: an earlier reading end may have handed the batch out
            already, so compare its name with what you have stored. Either the ledger held it, not
            consumed; or the ledger was lost, and this is the first epoch that the reading end sees
            of the query. (Not if that is epoch 0, which looks like the first one of a new query.)
        medium: committed delivery: ``"ipc"`` or ``"udp"``, on which the writer asks. Empty with
            eager delivery, and once the batch is handed out.
    """

    query: str
    epoch: int
    partition: int
    attempt: int
    task_attempt: int
    token: str
    sequence: int
    row_offset: int
    sent_s: float
    delivery: str = EAGER
    may_repeat: bool = False
    medium: str = ""

    @property
    def key(self) -> AttemptKey:
        """Which attempt it belongs to."""
        return (self.query, self.token, self.partition, self.task_attempt)

    @property
    def awaits_commit(self) -> bool:
        """Whether a reading end must stage it. One that was handed out may be sent on."""
        return self.delivery == COMMITTED and self.medium != ""


#: Query, token, partition, task attempt.
AttemptKey: TypeAlias = tuple[str, str, int, int]


def marks_of(batch: RecordBatch) -> Marks | None:
    """The marks of a record batch that a sink sent; None: it has none.

    Example::

        marks = rstream.ledger.marks_of(batch)
        print(marks.query, marks.epoch, marks.partition)
    """
    # A data frame has no schema, or one without metadata.
    metadata: dict[bytes, bytes] | None = getattr(getattr(batch, "schema", None), "metadata", None)
    text = metadata.get(MARKS_KEY) if metadata else None
    return None if text is None else msgspec.json.decode(text, type=Marks)


def marked(batch: RecordBatch, marks: Marks) -> RecordBatch:
    """The batch with these marks in place of its schema's metadata."""
    return batch.replace_schema_metadata({MARKS_KEY: msgspec.json.encode(marks)})


def handed_out(batch: RecordBatch, marks: Marks) -> RecordBatch:
    """The batch as its consumer gets it: who sends it on waits for no commit."""
    return marked(batch, dataclasses.replace(marks, medium=""))


def opening(marks: Marks) -> RecordBatch:
    """The message without rows that opens committed delivery."""
    pyarrow: Any = importlib.import_module("pyarrow")
    schema = pyarrow.schema([(OPENS + marks.medium, pyarrow.null())])
    return marked(pyarrow.RecordBatch.from_pylist([], schema=schema), marks)


def medium_of(rows: Any) -> str:
    """The medium of an opening message, also as a table or data frame; empty: it is none."""
    if len(rows):
        return ""
    columns: Any = getattr(rows, "column_names", None)  # of pyarrow; frames have columns
    names = [str(name) for name in (rows.columns if columns is None else columns)]
    return names[0].removeprefix(OPENS) if len(names) == 1 and names[0].startswith(OPENS) else ""
