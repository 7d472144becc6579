"""Rows that wait for their commit: what is held, what counts, what is dropped. Pure logic.

One attempt of one partition is staged under its own key. ``commit`` names the attempts that count;
their rows are released, every other attempt of the epoch is dropped. The last committed epoch of a
query is remembered, so that a replayed one is recognised. Everything is bounded: staged bytes,
committed epochs that nobody has consumed, queries.

The caller holds a lock around each call.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rstream.ledger._messages import CHECKSUM_BEGIN, Account, Answer, Ask, checksum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rstream.ledger._marks import AttemptKey, Marks

#: Committed epochs of a query that may wait for the consumer when a further one begins. So the next
#: one is made while one is consumed, and none more.
EPOCHS_AHEAD: Final = 1
#: Queries whose last committed epoch is remembered; the one that was idle longest is forgotten.
QUERIES_MAX: Final = 1024
#: Between a query and its route in the names that a ledger remembers.
ROUTED: Final = " routed "
#: Aborted runs that are remembered: a task of one may still be about to begin.
ABORTED_MAX: Final = 1024


@dataclass(slots=True)
class StagedBatch:
    """A record batch with its origin; ``position`` numbers what was released, from 1 on."""

    batch: Any
    marks: Marks
    length_bytes: int
    position: int = 0


@dataclass(slots=True)
class _Attempt:
    epoch: int
    session_id: int
    rows: list[StagedBatch] = field(default_factory=list[StagedBatch])
    row_count: int = 0
    checksum: int = CHECKSUM_BEGIN
    length_bytes: int = 0
    is_prepared: bool = False
    refusal: str = ""


@dataclass(slots=True)
class _Query:
    committed: int = -1  # the last committed epoch
    unsure: int | None = None  # the first epoch here, if others must have come before
    waiting: dict[int, int] = field(default_factory=dict[int, int])  # epoch: batches to consume
    route: str = ""  # of the last committed epochs
    route_from: int = 0  # the first one of them


class Staging:
    """What a reading end holds for its writers.

    Args:
        title: names the reading end in texts.
        bytes_max: most staged bytes; more is refused.
        committed: last committed epochs of queries, as a ledger remembers them.

    Attributes:
        staged_bytes: held now, without what was released.
        waiting_bytes: released and not consumed.
        dropped: batches that came for an attempt that does not count.
        repeated_epochs: replays of committed epochs that were recognised.
        unknown: queries that went on in the middle: this reading end knows nothing of their
            earlier epochs. What an earlier one had not consumed is lost, and the first epoch here
            may come again (:meth:`may_repeat`).
    """

    def __init__(
        self, title: str, bytes_max: int, committed: Mapping[str, int] | None = None
    ) -> None:
        self._title = title
        self._bytes_max = bytes_max
        self._attempts: dict[AttemptKey, _Attempt] = {}
        self._queries: OrderedDict[str, _Query] = OrderedDict()
        self._aborted: deque[str] = deque(maxlen=ABORTED_MAX)  # tokens
        for name, epoch in sorted((committed or {}).items(), key=lambda one: one[1]):
            query, _, route = name.partition(ROUTED)
            if route:
                self._note_route(query, route, epoch)
            else:
                self._query(query).committed = epoch
        self.staged_bytes = self.waiting_bytes = 0
        self.dropped = 0
        self.repeated_epochs = 0
        self.unknown: list[str] = []

    @property
    def attempts(self) -> int:
        """How many attempts are staged."""
        return len(self._attempts)

    def _query(self, query: str) -> _Query:
        known = self._queries.get(query)
        if known is None:
            known = self._queries[query] = _Query()
            for name in [name for name, one in self._queries.items() if not one.waiting]:
                if len(self._queries) <= QUERIES_MAX:
                    break
                del self._queries[name]
        self._queries.move_to_end(query)
        return known

    def _meet(self, name: str, epoch: int) -> _Query:
        """The query of a question; notes one that goes on in the middle."""
        query = self._query(name)
        if epoch > 0 and query.committed < 0 and query.unsure is None:
            query.unsure = epoch
            self.unknown.append(f"{name} from epoch {epoch} on")
        return query

    def _note_route(self, name: str, route: str, epoch: int) -> None:
        query = self._query(name)
        query.route, query.route_from = route, epoch

    def new_route(self, ask: Ask) -> str:
        """What a ledger remembers of the route of a commit, under its epoch; empty: nothing new."""
        is_known = not ask.route or self._query(ask.query).route == ask.route
        return "" if is_known else f"{ask.query}{ROUTED}{ask.route}"

    def may_repeat(self, query: str, epoch: int) -> bool:
        """Whether an earlier reading end, which is forgotten, may have committed this epoch."""
        known = self._queries.get(query)
        return known is not None and epoch == known.unsure

    # ---- rows ----

    def add(self, row: StagedBatch) -> None:
        """Stage a record batch, or drop it if its attempt does not count."""
        attempt = self._attempts.get(row.marks.key)
        if attempt is None or attempt.refusal or attempt.is_prepared:
            self.dropped += 1
            return
        needed_bytes = self.staged_bytes + row.length_bytes
        if needed_bytes > self._bytes_max:
            self.dropped += 1 + len(attempt.rows)
            attempt.refusal = self._no_room(row, attempt, needed_bytes)
            self._empty(attempt)
            return
        attempt.rows.append(row)
        attempt.row_count += row.batch.num_rows
        attempt.checksum = checksum(attempt.checksum, row.marks.sequence, row.batch.num_rows)
        attempt.length_bytes += row.length_bytes
        self.staged_bytes += row.length_bytes

    def _no_room(self, row: StagedBatch, attempt: _Attempt, needed_bytes: int) -> str:
        query, attempts = row.marks.query, self._attempts.items()
        others_bytes = sum(other.length_bytes for key, other in attempts if key[0] != query)
        held = f", {others_bytes} of them of other jobs" if others_bytes else ""
        return (
            f"{self._title}: no room to stage epoch {attempt.epoch}: "
            f"{needed_bytes} bytes{held}, and the bound is {self._bytes_max}; "
            "open the reading end with a larger staging_bytes=, or make smaller micro-batches "
            "(such as maxFilesPerTrigger)"
        )

    def _empty(self, attempt: _Attempt) -> None:
        self.staged_bytes -= attempt.length_bytes
        attempt.rows.clear()
        attempt.length_bytes = 0

    def _drop(self, key: AttemptKey) -> None:
        attempt = self._attempts.pop(key, None)
        if attempt is not None:
            self.dropped += len(attempt.rows)
            self._empty(attempt)

    def lose_session(self, session_id: int) -> None:
        """Drop what a writer that has gone had not prepared."""
        for key, attempt in list(self._attempts.items()):
            if attempt.session_id == session_id and not attempt.is_prepared:
                self._drop(key)

    def consume(self, row: StagedBatch) -> None:
        """A released batch was consumed."""
        epoch, waiting = row.marks.epoch, self._query(row.marks.query).waiting
        left = waiting.get(epoch, 0) - 1
        self.waiting_bytes -= row.length_bytes  # in one step with what follows
        if left > 0:
            waiting[epoch] = left
        elif epoch in waiting:
            del waiting[epoch]

    def note_waiting(self, row: StagedBatch) -> None:
        """A released batch waits for the consumer."""
        epoch, waiting = row.marks.epoch, self._query(row.marks.query).waiting
        self.waiting_bytes += row.length_bytes
        waiting[epoch] = waiting.get(epoch, 0) + 1

    # ---- questions ----

    def answer(self, ask: Ask) -> Answer:
        """The answer to all but ``commit``."""
        match ask.do:
            case "begin":
                return self._begin(ask)
            case "look":
                return self._look(ask)
            case "prepare":
                return self._prepare(ask)
            case "drop":
                self._drop(self._key(ask, ask.attempts[0]))
                return Answer(state="go")
            case "abort":
                return self._abort(ask)
            case "commit":
                raise ValueError("commit releases rows: use start_commit and end_commit")

    def _begin(self, ask: Ask) -> Answer:
        query, account = self._meet(ask.query, ask.epoch), ask.attempts[0]
        if 0 <= ask.epoch <= query.committed:
            if ask.route and query.route_from <= ask.epoch and query.route not in ("", ask.route):
                return Answer(state="refused", why=self._rerouted(ask, query.route))
            self.repeated_epochs += 1
            return Answer(state="committed")
        if account.token in self._aborted:
            return Answer(state="refused", why=f"{self._title}: the job of this task was aborted")
        self._drop_older(ask, account.token)
        if len(query.waiting) <= EPOCHS_AHEAD and self.waiting_bytes > self._bytes_max:
            return Answer(
                state="wait",
                why=f"{self._title}: {self.waiting_bytes} bytes are committed and not yet consumed",
            )
        if len(query.waiting) > EPOCHS_AHEAD:
            return Answer(
                state="wait",
                why=f"{self._title}: epochs {sorted(query.waiting)} of the query are committed and "
                f"not yet consumed, {sum(query.waiting.values())} batches in all",
            )
        key = self._key(ask, account)
        self._drop(key)  # its writer begins anew
        self._attempts[key] = _Attempt(ask.epoch, ask.session_id)
        return Answer(state="go")

    def _rerouted(self, ask: Ask, route: str) -> str:
        return (
            f"{self._title}: epoch {ask.epoch} of the query was committed here as {route!r}, and "
            f"is replayed as {ask.route!r}, so rows of it would come twice or never: start the "
            "query with the handles and options that it had; from the next epoch on it may have "
            "others"
        )

    def _drop_older(self, ask: Ask, token: str) -> None:
        """Drop what earlier runs of a query have left: Spark runs one micro-batch at a time."""
        for key, attempt in list(self._attempts.items()):
            if key[0] == ask.query and key[1] != token and attempt.epoch <= ask.epoch:
                self._drop(key)

    def _key(self, ask: Ask, account: Account) -> AttemptKey:
        return (ask.query, account.token, account.partition, account.task_attempt)

    def _find(self, ask: Ask, account: Account) -> _Attempt | None:
        return self._attempts.get(self._key(ask, account))

    def _look(self, ask: Ask) -> Answer:
        attempt = self._find(ask, ask.attempts[0])
        if attempt is None:
            return Answer(state="missing", why=self._unknown(ask, ask.attempts[0]))
        if attempt.refusal:
            return Answer(state="refused", why=attempt.refusal)
        return Answer(state="go")

    def _unknown(self, ask: Ask, account: Account) -> str:
        return (
            f"{self._title}: nothing is staged for epoch {ask.epoch}, partition "
            f"{account.partition}, task attempt {account.task_attempt}: this reading end was "
            "opened anew since, the job was aborted, or another run of the query has begun"
        )

    def _prepare(self, ask: Ask) -> Answer:
        answer = self._look(ask)
        if answer.state != "go":
            return answer
        account = ask.attempts[0]
        attempt = self._find(ask, account)
        assert attempt is not None
        wrong = _difference(attempt, account)
        if wrong:
            return Answer(state="missing", why=f"{self._title}: {wrong}")
        attempt.is_prepared = True
        return Answer(state="prepared")

    def _abort(self, ask: Ask) -> Answer:
        tokens = {account.token for account in ask.attempts}
        self._aborted.extend(tokens.difference(self._aborted))
        for key in [key for key in self._attempts if key[0] == ask.query and key[1] in tokens]:
            self._drop(key)
        return Answer(state="go")

    # ---- commit ----

    def start_commit(self, ask: Ask) -> tuple[Answer, list[StagedBatch]]:
        """What a commit would release, in order. Nothing changes yet.

        Returns:
            ``go`` and the rows; or what is wrong, or that it is committed already.
        """
        if ask.epoch <= self._meet(ask.query, ask.epoch).committed:
            self.repeated_epochs += 1
            return Answer(state="committed"), []
        rows: list[StagedBatch] = []
        for account in sorted(ask.attempts, key=lambda one: one.partition):
            attempt = self._find(ask, account)
            if attempt is None:
                return Answer(state="missing", why=self._unknown(ask, account)), []
            wrong = "it is not prepared" if not attempt.is_prepared else ""
            wrong = wrong or _difference(attempt, account)
            if wrong:
                why = f"{self._title}: epoch {ask.epoch}, partition {account.partition}: {wrong}"
                return Answer(state="missing", why=why), []
            rows += attempt.rows
        return Answer(state="go"), rows

    def end_commit(self, ask: Ask, rows: list[StagedBatch]) -> Answer:
        """Release these rows of :meth:`start_commit`, and drop what else the epoch has staged."""
        query = self._query(ask.query)
        query.committed = ask.epoch
        if ask.route and ask.route != query.route:
            self._note_route(ask.query, ask.route, ask.epoch)
        for row in rows:
            self.note_waiting(row)
        for account in ask.attempts:  # released, not dropped
            attempt = self._find(ask, account)
            if attempt is not None:
                self._empty(attempt)
        for key, attempt in list(self._attempts.items()):
            if key[0] == ask.query and attempt.epoch <= ask.epoch:
                self._drop(key)
        return Answer(state="committed")

    def committed(self) -> Iterator[tuple[str, int]]:
        """The last committed epoch of each query."""
        for name, query in self._queries.items():
            if query.committed >= 0:
                yield name, query.committed


def _difference(attempt: _Attempt, account: Account) -> str:
    """What an attempt lacks of its account; empty: nothing."""
    has = (attempt.row_count, len(attempt.rows), attempt.checksum)
    if has == (account.rows, account.messages, account.checksum):
        return ""
    return (
        f"{attempt.row_count} of {account.rows} rows are here, in {len(attempt.rows)} of "
        f"{account.messages} messages (checksum {attempt.checksum:08x}, {account.checksum:08x})"
    )
