"""One attempt of one partition: it sends its rows, and has them staged where they must be."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rstream._waits import Deadline
from rstream.codecs._internal import encoded_length
from rstream.errors import MessagesLost, NotConnected, RemoteError, RStreamError
from rstream.ledger._internal import (
    CHECKSUM_BEGIN,
    Account,
    Answer,
    Ask,
    Marks,
    checksum,
    marked,
    opening,
)
from rstream.ray._internal import StreamHandle
from rstream.spark import _worker_end
from rstream.spark._ends import ask, publisher_of
from rstream.spark._held import HeldMessages
from rstream.spark._routes import BATCH, pieces, route_to, routed
from rstream.spark._share import PAUSE_MOST_S, PAUSE_S, Readers, not_consumed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rstream.spark._options import SinkConfig
    from rstream.stream import Publisher

log = logging.getLogger("rstream")

#: ``pyarrow.RecordBatch``; pyarrow has no types.
RecordBatch: TypeAlias = Any

#: Most bytes of rows in one message, unless a single row has more. Spark's batches (10 000 rows) go
#: as they are: cut to what one message of a handle takes without parts (128 KiB), they went at
#: 0.78 GB/s, and whole at 1.31 GB/s.
MESSAGE_BYTES: Final = 1 << 20
#: Bytes of a message for Arrow's stream framing and for the schema with its marks.
FRAMING_BYTES: Final = 4096
#: A task looks after so many bytes whether its reader still stages them.
LOOK_BYTES: Final = 16 << 20
#: How long one look at a reader that does not answer may take.
LOOK_S: Final = 0.01
#: Seconds for telling all readers of an epoch, and the least for each.
TELL_S: Final = 1.0
TELL_LEAST_S: Final = 0.05
#: Seconds for telling one reader that a task has failed.
DROP_TIMEOUT_S: Final = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who sends: fields as in :class:`rstream.ledger.Marks`."""

    query: str
    epoch: int
    partition: int
    attempt: int
    task_attempt: int
    token: str


@dataclasses.dataclass(slots=True, kw_only=True)
class TaskReport:
    """The account of one attempt.

    Attributes:
        origin: who sent.
        rows, messages, bytes_sent: how much; of a broadcast once.
        blocked_s: seconds that it waited for readers.
        repeated: handles whose reading end had committed the epoch before; they got nothing.
        accounts: what is staged at each of the other handles, by index.
    """

    origin: Origin
    rows: int = 0
    messages: int = 0
    bytes_sent: int = 0
    blocked_s: float = 0.0
    repeated: int = 0
    accounts: dict[int, Account] = dataclasses.field(default_factory=dict[int, Account])


def batch_query(token: str) -> str:
    """The name of a batch job among queries."""
    return f"{BATCH}{token}"


def run(config: SinkConfig, origin: Origin, batches: Iterable[RecordBatch]) -> TaskReport:
    """Send the record batches of a partition; waits while readers have no room.

    Raises:
        RStreamError: a reader is dead, too slow, or refuses; the text says which and why.
    """
    with _worker_end.task():
        return _run(_Task(config, origin), batches)


def _run(task: _Task, batches: Iterable[RecordBatch]) -> TaskReport:
    try:
        if task.config.is_committed and task.origin.partition == 0:
            task.begin_everywhere()
        for batch in batches:
            task.send(batch)
        return task.finish()
    except RemoteError:
        # A reader has failed. If it is opened anew, only a new session reaches it at once.
        for target in task.targets.values():
            if target is not None:
                target.publisher.close(linger_s=0)
        raise
    except RStreamError:
        raise
    except Exception:  # of the rows: the reader would keep them until the job ends
        task.drop()
        raise


@dataclasses.dataclass(slots=True)
class _Target:
    """A handle that gets rows. ``held``: of eager delivery that waits until they are consumed."""

    publisher: Publisher[Any]
    medium: str
    held: HeldMessages | None = None
    rows: int = 0
    messages: int = 0
    checksum: int = CHECKSUM_BEGIN
    unseen_bytes: int = 0


class _Presence:
    """Whether the reader of a publisher is there, while its answer is waited for.

    Args:
        publisher: towards the reader.
        opens: makes the message that has a reader answer. One that was opened anew meanwhile has
            not heard the first one.
    """

    def __init__(self, publisher: Publisher[Any], opens: Callable[[], RecordBatch]) -> None:
        self._publisher = publisher
        self._opens = opens
        self._gone_since_s: float | None = None

    def check(self) -> None:
        """Look at the reader.

        Raises:
            RemoteError: it has failed. NotConnected: it has been away for as long as a reader that
                is opened anew may take.
        """
        publisher, now_s = self._publisher, time.monotonic()
        with suppress(MessagesLost):  # what is asked says whether the rows are there
            publisher.wait_consumed(timeout_s=LOOK_S)  # raises its error
        if publisher.is_connected:
            self._gone_since_s = None
            publisher.offer(self._opens())
            return
        if self._gone_since_s is None:
            self._gone_since_s = now_s
        limit_s = publisher.connect_timeout_s
        if limit_s is not None and now_s - self._gone_since_s >= limit_s:
            raise NotConnected(
                f"rstream sink: the reader of {publisher.name!r} ({publisher.channel}) is gone, "
                f"and none was opened at its handle within {limit_s:g} s; the task fails and Spark "
                "may retry it"
            )


class _Task:
    """One attempt; ``targets`` has None where the epoch is committed already."""

    def __init__(self, config: SinkConfig, origin: Origin) -> None:
        self.config = config
        self.origin = origin
        self.targets: dict[int, _Target | None] = {}
        self.report = TaskReport(origin=origin)
        self.readers = Readers(config, origin.partition)  # of routing work

    # ---- rows ----

    def send(self, batch: RecordBatch) -> None:
        if self.config.routing == "work":
            # A message in parts waits for its reader once it is begun.
            room = self.readers.unparted_length() - FRAMING_BYTES
            for piece in pieces(batch, self.config.rows_per_message, room):
                self._share(piece)
            return
        for indexes, rows in routed(self.config, self.origin.partition, batch):
            wanted = [one for one in map(self._target, indexes) if one is not None]
            if not wanted:
                self.report.rows += rows.num_rows
                continue
            for piece in pieces(rows, self.config.rows_per_message, MESSAGE_BYTES):
                self._send_piece(wanted, piece)

    def _target(self, index: int) -> _Target | None:
        if index not in self.targets:
            publisher = publisher_of(self.config, index)
            is_acked = self.config.wait_consumed and not self.config.is_committed
            held = HeldMessages(publisher) if is_acked else None
            target = _Target(publisher, self._medium(index), held)
            is_wanted = not self.config.is_committed or self._begin(index, target)
            self.targets[index] = target if is_wanted else None
        return self.targets[index]

    def _medium(self, index: int) -> str:
        if not self.config.is_committed:
            return ""
        handle = StreamHandle.from_text(self.config.handles[index])
        return "ipc" if handle.is_local(self.config.driver_dir) else "udp"

    def _marks(self, medium: str) -> Marks:
        return Marks(
            **dataclasses.asdict(self.origin),
            sequence=self.report.messages,
            row_offset=self.report.rows,
            sent_s=time.time(),
            delivery=self.config.delivery,
            medium=medium,
        )

    def _send_piece(self, targets: list[_Target], piece: RecordBatch) -> None:
        length_bytes, message, medium = encoded_length(piece), None, None
        for target in targets:
            if message is None or target.medium != medium:
                medium = target.medium
                message = marked(piece, self._marks(medium))
            self._send(target, message)
            target.rows += piece.num_rows
            target.checksum = checksum(target.checksum, self.report.messages, piece.num_rows)
            target.messages += 1
            target.unseen_bytes += length_bytes
            if self.config.is_committed and target.unseen_bytes >= LOOK_BYTES:
                target.unseen_bytes = 0
                self._check("look", target, "go")
        self._count(piece, length_bytes)

    def _share(self, piece: RecordBatch) -> None:
        before_s = time.monotonic()
        self.readers.send(marked(piece, self._marks("")))
        self.report.blocked_s += time.monotonic() - before_s
        self._count(piece, encoded_length(piece))

    def _count(self, piece: RecordBatch, length_bytes: int) -> None:
        self.report.rows += piece.num_rows
        self.report.messages += 1
        self.report.bytes_sent += length_bytes

    def _send(self, target: _Target, message: RecordBatch) -> None:
        before_s = time.monotonic()
        again = deque([message])
        while again:
            sent = again.popleft()
            position = target.publisher.send(sent, timeout_s=self.config.offer_timeout_s)
            if target.held is not None:
                target.held.add(position, sent)
                again.extend(target.held.take_lost())
        self.report.blocked_s += time.monotonic() - before_s

    # ---- what reading ends are told and asked ----

    def begin_everywhere(self) -> None:
        """Tell all reading ends of the epoch, also those that get no rows of it.

        So they know the query when rows come: what they have not heard of since its first epoch
        may have been lost with an earlier reading end. Who is not there, or has no room yet, is
        told by the first rows.

        Raises:
            RStreamError: the epoch is a replayed one, and goes to other handles now.
        """
        deadline = Deadline(TELL_S)
        for index in range(len(self.config.handles)):
            try:
                target = _Target(publisher_of(self.config, index), self._medium(index))
                left_s = max(deadline.left_s(), TELL_LEAST_S)
                target.publisher.send(self._opening(target), timeout_s=left_s)
                question = self._question("begin", self._account(target), target, index)
                answer = ask(self.config, index, question, timeout_s=left_s)
            except RStreamError as error:
                log.info("rstream sink: not told of epoch %d: %s", self.origin.epoch, error)
                continue
            if answer.state != "wait":
                is_new = self._is_new(answer)
                self.targets[index] = target if is_new else None

    def _is_new(self, answer: Answer) -> bool:
        """Whether the reading end wants the rows. False: it has committed the epoch already."""
        if answer.state == "committed":
            self.report.repeated += 1
            return False
        self._accept(answer, "go")
        return True

    def _begin(self, index: int, target: _Target) -> bool:
        """Have a reading end expect rows. False: it has committed the epoch already."""
        self._send(target, self._opening(target))
        began_s, pause_s = time.monotonic(), PAUSE_S
        deadline = Deadline(self.config.offer_timeout_s)
        question = self._question("begin", self._account(target), target, index)
        while (answer := self._ask(index, target, question, deadline)).state == "wait":
            if deadline.left_s() <= pause_s:
                raise RStreamError(
                    f"rstream sink: {answer.why}; waited {self.config.offer_timeout_s:g} s "
                    "(offerTimeout): the reader is dead or too slow, and Spark may retry the task"
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MOST_S)
        self.report.blocked_s += time.monotonic() - began_s
        return self._is_new(answer)

    def _opening(self, target: _Target) -> RecordBatch:
        return opening(self._marks(target.medium))

    def _account(self, target: _Target) -> Account:
        return Account(
            partition=self.origin.partition,
            task_attempt=self.origin.task_attempt,
            token=self.origin.token,
            rows=target.rows,
            messages=target.messages,
            checksum=target.checksum,
        )

    def _question(self, do: Any, account: Account, target: _Target, index: int) -> Ask:
        return Ask(
            do=do,
            query=self.origin.query,
            epoch=self.origin.epoch,
            attempts=(account,),
            session_id=target.publisher.session_id,
            route=route_to(self.config, self.origin.query, index) if do == "begin" else "",
        )

    def _ask(self, index: int, target: _Target, question: Ask, deadline: Deadline) -> Answer:
        check = _Presence(target.publisher, lambda: self._opening(target)).check
        return ask(self.config, index, question, timeout_s=deadline.left_s(), check=check)

    def _check(self, do: str, target: _Target, wanted: str) -> None:
        index = next(index for index, one in self.targets.items() if one is target)
        question = self._question(do, self._account(target), target, index)
        deadline = Deadline(self.config.offer_timeout_s)
        self._accept(self._ask(index, target, question, deadline), wanted)

    def _accept(self, answer: Answer, wanted: str) -> None:
        if answer.state != wanted:
            raise RStreamError(f"rstream sink: {answer.why}; the task fails, Spark may retry it")

    # ---- the end ----

    def drop(self) -> None:
        """Have the reading ends drop what is staged, as far as they hear it."""
        for index, target in self.targets.items():
            if target is not None and self.config.is_committed:
                with suppress(RStreamError):
                    question = self._question("drop", self._account(target), target, index)
                    ask(self.config, index, question, timeout_s=DROP_TIMEOUT_S)

    def finish(self) -> TaskReport:
        """Wait until the rows are staged; or with eager delivery, if wanted, consumed."""
        config = self.config
        before_s = time.monotonic()
        if config.wait_consumed:
            self.readers.finish()
        for index, target in sorted(self.targets.items()):
            if target is None:
                continue
            if target.rows and (config.is_committed or config.wait_consumed):
                self._wait_consumed(target.publisher)
            while target.held:
                for message in target.held.take_lost():
                    self._send(target, message)
                if target.held:
                    self._wait_consumed(target.publisher)
            if config.is_committed:
                self._check("prepare", target, "prepared")
                self.report.accounts[index] = self._account(target)
        self.report.blocked_s += time.monotonic() - before_s
        return self.report

    def _wait_consumed(self, publisher: Publisher[Any]) -> None:
        """Wait for what is known to be under way. What may be lost is sent again afterwards with
        eager delivery; with committed delivery the reading end says what it has.
        """
        timeout_s = self.config.offer_timeout_s
        while True:
            with suppress(MessagesLost):
                if publisher.wait_consumed(timeout_s=timeout_s):
                    return
                raise not_consumed(publisher, timeout_s)
