"""Commit and abort of a micro-batch, for whoever does it: a process of Spark, or the program."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from rstream._waits import Deadline
from rstream.errors import RStreamError
from rstream.ledger._internal import Account, Ask
from rstream.spark._ends import ask
from rstream.spark._routes import route_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.spark._options import SinkConfig
    from rstream.spark._task import TaskReport

log = logging.getLogger("rstream")

#: Seconds for telling reading ends of an epoch of which they got no rows.
NOTE_TIMEOUT_S: Final = 1.0
#: Seconds for telling all reading ends of an abort, and the least for each.
ABORT_TIMEOUT_S: Final = 2.0
ABORT_LEAST_S: Final = 0.05


def commit(config: SinkConfig, reports: Sequence[TaskReport], epoch: int) -> None:
    """Have every reading end release the rows that these attempts staged.

    With several reading ends all of them are asked first whether they still hold the rows, so that
    none releases any when one was opened anew. Those that got no rows are told if they are there.

    Raises:
        RStreamError: not within ``commitTimeout``, or rows are missing. Where the epoch was
            committed stays committed: a replay is recognised there.
    """
    deadline = Deadline(config.commit_timeout_s)
    told = _by_handle(reports)
    by_handle = {index: all_ for index, all_ in told.items() if any(one.rows for one in all_)}
    query = reports[0].origin.query if reports else ""
    if len(by_handle) > 1:
        for index, accounts in by_handle.items():
            for account in accounts:
                _tell(config, index, "prepare", query, epoch, (account,), deadline)
    for index, accounts in by_handle.items():
        _tell(config, index, "commit", query, epoch, tuple(accounts), deadline)
    deadline = Deadline(deadline.left_s(NOTE_TIMEOUT_S))
    for index in told.keys() - by_handle.keys():
        try:
            _tell(config, index, "commit", query, epoch, tuple(told[index]), deadline)
        except RStreamError as error:
            log.info("rstream sink: commit of epoch %d was not heard: %s", epoch, error)


def _by_handle(reports: Sequence[TaskReport]) -> dict[int, list[Account]]:
    found: dict[int, list[Account]] = {}
    for report in reports:
        for index, account in report.accounts.items():
            found.setdefault(index, []).append(account)
    return dict(sorted(found.items()))


def _tell(
    config: SinkConfig,
    index: int,
    do: Any,
    query: str,
    epoch: int,
    attempts: tuple[Account, ...],
    deadline: Deadline,
) -> None:
    route = route_to(config, query, index)
    question = Ask(do=do, query=query, epoch=epoch, attempts=attempts, route=route)
    answer = ask(config, index, question, timeout_s=deadline.left_s())
    if answer.state not in ("committed", "prepared"):
        raise RStreamError(
            f"rstream sink: epoch {epoch} of query {query} cannot be committed: {answer.why}; "
            "start the query again: it sends the epoch anew, and what is committed stays so"
        )


def abort(config: SinkConfig, *, query: str, epoch: int, token: str) -> None:
    """Have the reading ends drop what this run staged, as far as they hear it.

    All are told: a task that failed is not there to say where it had sent rows.
    """
    account = Account(partition=0, task_attempt=0, token=token)
    question = Ask(do="abort", query=query, epoch=epoch, attempts=(account,))
    deadline = Deadline(ABORT_TIMEOUT_S)
    for index in range(len(config.handles)):
        try:
            left_s = max(deadline.left_s(), ABORT_LEAST_S)
            ask(config, index, question, timeout_s=left_s)
        except RStreamError as error:
            log.info("rstream sink: abort of epoch %d was not heard: %s", epoch, error)
