"""The reading end for committed delivery: it stands in front of another reading.

Theory of operation. Most writers know nothing of commits. So it passes everything
through until a writer opens committed delivery by a message without rows (``OPENS``). From then on
a thread, the *pump* (_stage_pump.py), reads the source and stages what is marked as committed, so
that a slow consumer never holds up the answers to writers; and a service answers the questions of
writers (:mod:`rstream.ledger._messages`). A commit moves the rows of the named attempts into the
queue from which the consumer takes. Writers are slowed down by their next ``begin``, which waits
for the consumer; a writer that knows nothing of commits is slowed down by a bound of the queue.

One lock, the condition ``_changed``, guards staging, queue and flags. The ledger has a lock of its
own, because it may wait for a disk; a thread that needs both takes the ledger's first.

Neither the thread nor the service refers to it: one that the program drops is collected, and they
end.
"""

from __future__ import annotations

from collections import deque
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, final

from rstream._process import quiet_when_torn_down
from rstream.errors import ClosedError
from rstream.ledger._ledger import Ledger, MemoryLedger
from rstream.ledger._marks import handed_out, marks_of, medium_of
from rstream.ledger._stage_pump import StagePump
from rstream.ledger._staging import StagedBatch
from rstream.stream._internal import Reading

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from rstream.stream import StreamEvent

#: Bytes that may be staged by default.
STAGING_BYTES = 256 << 20


@final
class CommittedReading(Reading[Any]):
    """Hands out committed record batches, each once, and those of other writers as they come.

    Args:
        source: reads the transport; another one after it is closed.
        name, stream_id: of the stream; writers ask under the stream id.
        channels: for each medium (``"ipc"``, ``"udp"``) where it is asked.
        dir: driver directory.
        ledger: its memory; None: one of its own that forgets with it.
        staging_bytes: most bytes staged; more is refused to the writer.
    """

    closes_slowly: bool = True
    _pump: threading.Thread | None = None  # of the stage, from the first writer that commits on
    _has_left: bool = True  # __del__ runs even when the constructor raises
    part_most: int = 1  # what is not counted is handed out again when the reader dies

    def __init__(
        self,
        source: Reading[Any],
        *,
        name: str,
        stream_id: int,
        channels: dict[str, str],
        dir: str,
        ledger: Ledger | None = None,
        staging_bytes: int = STAGING_BYTES,
    ) -> None:
        super().__init__(source.prefetch, in_hand=source.rest.in_hand, made_at=source.made_at)
        self._source = source
        self._stage = stage = StagePump(
            source,
            name=name,
            stream_id=stream_id,
            channels=channels,
            dir=dir,
            ledger=MemoryLedger() if ledger is None else ledger,
            staging_bytes=staging_bytes,
        )
        self._changed = stage.changed
        self._errors = stage.errors
        self._unsorted: list[Any] = []  # of the source, by a call that was interrupted
        # Of what is ready, likewise.
        self._taken: list[StagedBatch | Any] = []
        self._out: list[StagedBatch | Any] = []  # of the last poll
        self._out_done = 0  # of them consumed
        self._demand: int | None = None
        self.is_closed = self._has_left = False
        if stage.is_awaited:
            self._start_pump([], 0, tuple(channels))

    def __repr__(self) -> str:
        return f"<rstream.Subscriber over {self._source!r}>"

    @property
    def title(self) -> str:
        return self._source.title

    # ---- from passing through to staging ----

    def _sort_out(self, items: list[Any]) -> None:
        """Start the pump if a writer opens committed delivery, with all from there on."""
        for index, item in enumerate(items):
            marks = marks_of(item)
            # Rows without an opening are for a reading end that was here before.
            if medium_of(item) or (marks is not None and marks.awaits_commit):
                self._start_pump(items, index)
                return

    def _start_pump(self, items: list[Any], index: int = 0, media: tuple[str, ...] = ()) -> None:
        self._source.set_joins_in_poll(True)  # the pump may block
        self._stage.begin = items[index:], media, len(items)
        pump = self._stage.thread
        # In one step. A poll starts it if a signal handler comes before the next line.
        self._unsorted, self._pump = items[:index], pump
        pump.start()

    # ---- the consumer's thread ----

    def poll(self, limit: int | None = None) -> list[Any]:
        return self._poll(limit, lambda: self._source.poll(limit))

    def fill(self, limit: int | None) -> None:
        self._unsorted = self.poll_held(limit)
        rest = self.rest
        left, end = iter(self._unsorted), rest.base + len(self._unsorted)
        # In one step: no signal handler runs before a loop can hand them out.
        rest.left, rest.end, rest.is_given, self._unsorted = left, end, True, []

    def poll_held(self, limit: int | None) -> list[Any]:
        return self._poll(limit, lambda: self._source.poll_held(limit))

    def _poll(self, limit: int | None, poll: Callable[[], list[Any]]) -> list[Any]:
        self._demand = None
        limit = limit or self.prefetch
        if items := self.take_rest(limit):
            return items
        self._pass_through(poll)
        if self._unsorted or self._pump is None:
            items, self._unsorted = self._unsorted, []
            return items
        return self._take(limit)

    def _pass_through(self, poll: Callable[[], list[Any]]) -> None:
        """Poll the source while no writer has opened committed delivery."""
        if self._pump is None:
            self._source.set_joins_in_poll(self.joins_in_poll)
            if not self._unsorted:
                self._unsorted = poll()
            self._sort_out(self._unsorted)

    def poll_demanded(self, demand: int) -> list[Any]:
        self._demand = demand
        self._pass_through(lambda: self._source.poll_demanded(demand))
        if self._unsorted or self._pump is None:
            items, self._unsorted = self._unsorted, []
            return items
        return self._take(min(demand, self.prefetch))

    def _take(self, limit: int) -> list[Any]:
        if self.is_closed:
            raise ClosedError(f"{self.title}: this subscriber is closed")
        stage, pump = self._stage, self._pump
        if pump is not None and pump.ident is None:  # an interrupt came before it was started
            pump.start()
        self._count(len(self._out))
        is_due = False
        with self._changed:
            stage.is_woken = False
            if not self._taken:
                is_due = self._errors.is_due
                count = min(self._errors.most(limit), len(stage.ready))
                plain = sum(not isinstance(one, StagedBatch) for one in islice(stage.ready, count))
                popped = map(deque[Any].popleft, repeat(stage.ready, count))
                # In one step: no signal handler runs before all of it is noted.
                self._taken = [*popped]
                self._errors.gone += count
                stage.plain -= plain
            stage.note_change()
        if is_due:
            self._out = []
            raise self._errors.take()
        taken = self._taken[:limit]
        items = [
            handed_out(one.batch, one.marks) if isinstance(one, StagedBatch) else one
            for one in taken
        ]
        self._out, self._out_done, self._taken = taken, 0, self._taken[limit:]
        return items  # given: no signal handler has run since

    def consume(self, count: int) -> None:
        if self._pump is None:
            self._source.consume(count)
        else:
            self._count(count)

    def _count(self, count: int) -> None:
        """Count the first ``count`` of what was handed out as consumed."""
        done = self._out[self._out_done : count]
        rows = [one for one in done if isinstance(one, StagedBatch)]
        if rows:
            with self._stage.ledger_lock:
                if self.is_closed:
                    return  # the next reading end with this ledger begins with them
                self._stage.ledger.consume(rows[-1].position)
        with self._changed:
            for one in done:
                if isinstance(one, StagedBatch):
                    self._stage.staging.consume(one)
                self._out_done += 1  # in one step with the line before

    def raise_demand(self, n: int) -> None:
        if self._pump is None:
            self._source.raise_demand(n)

    # ---- waiting ----

    def wait(self, timeout_s: float | None = None) -> bool:
        if self._pump is None:
            return self._source.wait(timeout_s)
        return self._stage.wait(self.is_ready, timeout_s)

    @property
    def watched(self) -> Any:
        return self._source.watched if self._pump is None else self._stage.watched(self.is_ready)

    def is_ready(self) -> bool:
        if self.rest.has_some() or self._unsorted:
            return True
        if self._pump is None:
            return self._source.is_ready()
        if self._errors.is_due:
            return True
        if self._taken or self._stage.ready:
            return self._demand != 0 or self.is_closed or self._stage.is_woken
        return bool(self.is_closed or self._stage.is_woken)

    def wake(self) -> None:
        self._stage.wake()
        if self._pump is None:
            self._source.wake()

    def patience_s(self) -> float:
        return self._source.patience_s() if self._pump is None else super().patience_s()

    def note_quiet(self) -> None:
        if self._pump is None:
            self._source.note_quiet()

    @property
    def must_join(self) -> bool:
        return self._pump is None and self._source.must_join

    def join_again(self) -> None:
        self._source.join_again()

    def stop_joining(self) -> None:
        self._source.stop_joining()

    # ---- facts ----

    def events(self) -> list[StreamEvent]:
        if self._pump is None:
            return self._source.events()
        with self._changed:
            events = self._stage.events
            taken = [*events]
            events *= 0  # no signal handler runs before the program has what it loses here
        return taken

    def statistics(self) -> dict[str, int | float | bool]:
        """As of the source; and ``staged_bytes`` and ``staged_attempts`` of now, ``unstaged``
        batches that did not count, ``repeated_epochs`` that were recognised, and
        ``unknown_queries`` of whose earlier epochs this reading end knows nothing.
        """
        statistics = self._source.statistics()
        staging = self._stage.staging
        with self._changed:
            statistics |= {
                "staged_bytes": staging.staged_bytes,
                "staged_attempts": staging.attempts,
                "unstaged": staging.dropped,
                "repeated_epochs": staging.repeated_epochs,
                "unknown_queries": len(staging.unknown),
            }
            if self._pump is not None:
                statistics["waiting"] = len(self._stage.ready) + len(self._taken)
        return statistics

    @property
    def is_connected(self) -> bool:
        return self._source.is_connected

    @property
    def is_ended(self) -> bool:
        if self._pump is None:
            return self._source.is_ended and not self.rest.has_some() and not self._unsorted
        with self._changed:
            waits = self.rest.has_some() or self._taken or self._stage.ready or self._errors
            return self._stage.has_ended and not waits

    # ---- life ----

    def close(self) -> None:
        if self._has_left or self.forget_inherited():
            return
        stage = self._stage
        with self._changed:
            self.is_closed = stage.is_closed = True
            stage.note_change()
        stage.leave()
        stage.join()
        stage.close_ledger()
        stage.close_bell()
        self._has_left = True  # last: a close that was interrupted is made again

    @quiet_when_torn_down
    def __del__(self) -> None:
        if self._has_left or self.forget_inherited():
            return
        if self._pump is None:  # the source goes too, and warns
            self._stage.ledger.close()
            return
        try:
            super().__del__()
        finally:
            self.is_closed = True
            self._stage.drop(self._stage.leave_dropped)
