"""What a writer and the reading end say to each other beside the rows.

A writer asks; the reading end answers at once, so that no question waits behind another one.
"""

from __future__ import annotations

import zlib
from typing import Final, Literal, TypeAlias

import msgspec

Doing: TypeAlias = Literal["begin", "look", "prepare", "drop", "commit", "abort"]
State: TypeAlias = Literal["go", "wait", "committed", "prepared", "missing", "refused"]


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What an attempt sent to one reading end.

    Attributes:
        partition, task_attempt, token: name the attempt within its query.
        rows, messages: how many.
        checksum: over the numbers and rows of its messages (:func:`checksum`).
    """

    partition: int
    task_attempt: int
    token: str
    rows: int = 0
    messages: int = 0
    checksum: int = 0


class Ask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question of a writer.

    Attributes:
        do: ``begin`` before the first row of an attempt; ``look`` whether it still may go on;
            ``prepare`` after its last row; ``drop`` when it has failed; ``commit`` of an epoch;
            ``abort`` of a run, of whose attempts none will count.
        query, epoch: which micro-batch.
        attempts: those that count for commit; for abort only their tokens; else one.
        session_id: begin: of the writer's publication, whose death ends the attempt.
        route: begin and commit: which rows of an epoch come here, if that must not change when it
            is replayed; empty: whatever comes.
    """

    do: Doing
    query: str
    epoch: int
    attempts: tuple[Account, ...]
    session_id: int = 0
    route: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of a reading end.

    Attributes:
        state: ``go``; ``wait``: ask again later; ``committed``: the epoch is committed already, or
            now; ``prepared``; ``missing``: rows are not here; ``refused``: they never can be.
        why: for people.
    """

    state: State
    why: str = ""


#: The checksum of an attempt without messages.
CHECKSUM_BEGIN: Final = 0


def checksum(before: int, sequence: int, rows: int) -> int:
    """The checksum of an attempt after one more message. (The transport guards the bytes.)"""
    return zlib.crc32(b"%d %d;" % (sequence, rows), before)


def service_name(stream_id: int) -> str:
    """Where the reading end of a stream is asked."""
    return f"rstream-commit{stream_id}"
