"""What Ray Data needs: a sink and a source. It imports ``ray.data``, so at first use only."""

# ray and pyarrow have no strict types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata

from rstream._condition import Event
from rstream.errors import BackPressured, RStreamError
from rstream.ray._group import Group
from rstream.ray._member_events import Missed
from rstream.ray._rows import record_batches
from rstream.stream import Gap
from rstream.stream._internal import sending_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from rstream.ray._targets import Target
    from rstream.ray._wanted import Wanted
    from rstream.stream import Publisher

log = logging.getLogger("rstream")

#: After so many seconds without progress a write task logs that its reader stands still.
NOTICE_AFTER_S: Final = 5.0
#: Pause between two looks whether a reader is there.
PAUSE_S: Final = 0.005


class RstreamDatasink(Datasink[dict[str, int]]):
    """Sends the blocks of each write task; :func:`rstream.ray.datasink` makes it.

    While a job runs, the program has a writer of its own at each reader, which sends nothing: who
    reads until all writers have completed ends with the job, not with its first task.
    """

    def __init__(self, target: Target, batch_bytes: int, timeout_s: float | None) -> None:
        self._target = target
        self._batch_bytes = batch_bytes
        self._timeout_s = timeout_s
        self._job: list[Publisher[Any]] = []

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_job": []}

    def on_write_start(self, schema: Any = None) -> None:
        """Open the writers of the job; Ray Data calls it in the program, before any task."""
        del schema
        self._end_job()  # of a job that was broken off
        self._job = self._target.writers()
        for publisher in self._job:
            _await_reader(publisher)

    def on_write_complete(self, write_result: Any) -> None:
        """Complete the streams of the job: readers have consumed what its tasks sent."""
        del write_result
        if not self._job:
            self.on_write_start()  # Ray Data leaves it out where there is nothing to write
        self._end_job()

    def on_write_failed(self, error: Exception) -> None:
        """End the streams of the job by the error of the first task that failed."""
        self._end_job(error)

    def _end_job(self, error: Exception | None = None) -> None:
        job, self._job = self._job, []
        for publisher in job:
            if error is None:
                publisher.close()
            else:
                publisher.fail(error, linger_s=0)

    def write(self, blocks: Iterable[Any], ctx: Any) -> dict[str, int]:
        """Send blocks, and wait until they are consumed; Ray Data calls it in each write task.

        Returns:
            ``rows`` and ``messages`` that were sent.
        """
        rows = messages = 0
        with self._target.open() as out, _notice(out):
            for block in blocks:
                table = BlockAccessor.for_block(block).to_arrow()
                for batch in record_batches(table, self._batch_bytes):
                    out.send(batch, timeout_s=self._timeout_s)
                    rows += batch.num_rows
                    messages += 1
            _drain(out, self._timeout_s)
            if not self._target.is_group or self._target.flow_control == "min":
                _check_lost(out)
        return {"rows": rows, "messages": messages}

    @property
    def supports_distributed_writes(self) -> bool:
        """False: the target is in shared memory, so tasks run on the program's own node only."""
        return self._target.reaches_all_nodes


def _await_reader(publisher: Publisher[Any]) -> None:
    """Wait until a reader has this writer, or none will come, which the tasks then say."""
    began_s, limit_s = time.monotonic(), publisher.connect_timeout_s
    while not (publisher.is_connected or sending_of(publisher).settings.why_gone()):
        if limit_s is not None and time.monotonic() - began_s >= limit_s:
            return
        time.sleep(PAUSE_S)


@contextlib.contextmanager
def _notice(out: Publisher[Any] | Group) -> Generator[None]:
    """Log, once, that the reader takes nothing of what this task has sent."""
    is_over = Event()

    def watch() -> None:
        before: int | float | None = None
        while not is_over.wait(NOTICE_AFTER_S):
            now = _progress(out)
            if now == before and _has_unread(out):
                return log.warning(
                    "%r: its reader has taken nothing for %g s of what this write task has sent; "
                    "if it is read behind write_datasink, in the same thread (iter_batches), each "
                    "of the two waits for the other: read in another thread or program",
                    out,
                    NOTICE_AFTER_S,
                )
            before = now
        return None

    thread = threading.Thread(target=watch, name="rstream-write-task", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _has_unread(out: Publisher[Any] | Group) -> bool:
    return out.statistics()["unconsumed" if isinstance(out, Group) else "unread_bytes"] > 0


def _drain(out: Publisher[Any] | Group, timeout_s: float | None) -> None:
    """Wait until all is consumed; a reader that makes progress has any time.

    Raises:
        BackPressured: it made none for ``timeout_s``.
        MessagesLost: a media driver, or over UDP a dead reader, has taken rows with it.
    """
    seen = _progress(out)
    while not out.wait_consumed(timeout_s=timeout_s):
        now = _progress(out)
        if now == seen:
            raise BackPressured(
                f"{out!r}: the reader has consumed nothing for {timeout_s:g} s, and rows that this "
                "task has sent wait for it",
                hint="it stands still; or give the datasink another timeout_s",
            )
        seen = now


def _check_lost(out: Publisher[Any] | Group) -> None:
    """Raise if a media driver, or over UDP a dead reader, has taken rows with it."""
    for event in out.events():
        if isinstance(event, Gap | Missed):
            raise RStreamError(
                f"{out!r}: rows of this write task may be lost with a media driver or a reader: "
                f"{event}",
                hint="write the dataset again; readers get what had arrived a second time",
            )


def _progress(out: Publisher[Any] | Group) -> int | float:
    return out.statistics()["unconsumed" if isinstance(out, Group) else "consumed_position"]


class RstreamDatasource(Datasource):
    """One read task for each stream; :func:`rstream.ray.datasource` makes it."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        super().__init__()
        self._wanted = list(wanted)

    def estimate_inmemory_data_size(self) -> int | None:
        """The bounds in bytes; None: there are none."""
        bounds = [one.bytes_max for one in self._wanted if one.bytes_max is not None]
        return sum(bounds) if len(bounds) == len(self._wanted) else None

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,
    ) -> list[Any]:
        """The read tasks; a stream has one reader, whatever ``parallelism`` says."""
        return [_task(one, per_task_row_limit) for one in self._wanted]


def _task(one: Wanted, rows_max: int | None) -> Any:
    # Ray 2.44 has the schema among the metadata; later ones have it beside them.
    metadata = dict.fromkeys(field.name for field in dataclasses.fields(BlockMetadata))
    beside: dict[str, Any] = {} if rows_max is None else {"per_task_row_limit": rows_max}
    if "schema" in metadata:
        metadata["schema"] = one.schema
    else:
        beside["schema"] = one.schema
    return ReadTask(one.tables, BlockMetadata(**metadata), **beside)
