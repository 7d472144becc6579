"""The reading end for committed delivery: a subscriber in front of another one.

Theory of operation. Most writers know nothing of commits. So this subscriber passes everything
through until a writer opens committed delivery by a message without rows (``OPENS``). From
then on a thread, the *pump*, reads the source and stages what is marked as committed, so that a
slow consumer never holds up the answers to writers; and a service answers the questions of writers
(:mod:`rstream.ledger._messages`). A commit moves the rows of the named attempts into the queue from
which the consumer takes. Writers are slowed down by their next ``begin``, which waits for the
consumer; a writer that knows nothing of commits is slowed down by a bound of the queue.

One lock, the condition ``_changed``, guards staging, queue and flags. The ledger has a lock of its
own, because it may wait for a disk; a thread that needs both takes the ledger's first.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
import time
from collections import deque
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from rstream._checks import check_timeout
from rstream._condition import Condition
from rstream._process import holds
from rstream.codecs._arrow_stream import encoded_length
from rstream.errors import ClosedError, RegistrationError, RStreamError
from rstream.ledger._ledger import Ledger, MemoryLedger
from rstream.ledger._marks import Marks, handed_out, marked, marks_of, medium_of
from rstream.ledger._messages import Answer, Ask, service_name
from rstream.ledger._rows import from_bytes, to_bytes
from rstream.ledger._staging import Row, Staging
from rstream.service import Service, serve
from rstream.stream import Lost, Subscriber, Unavailable, _pump
from rstream.stream._events import EVENTS_MAX
from rstream.stream._placed_errors import PlacedErrors
from rstream.stream._subscriber import title_of
from rstream.stream._watched import Bell

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.stream import StreamEvent

log = logging.getLogger("rstream")

PUMP_WAIT_S = 0.5
#: Bytes that may be staged by default.
STAGING_BYTES = 256 << 20
#: Most batches of writers that know nothing of commits that wait for the consumer.
PLAIN_MAX = 64
#: How long the service waits for its place, which a reading end that died may still hold.
SERVE_TIMEOUT_S = 15.0
SERVE_PAUSE_S = 0.1


class CommittedSubscriber(Subscriber[Any]):
    """Hands out committed record batches, each once, and those of other writers as they come.

    Args:
        source: reads the transport; another one after it is closed.
        name, stream_id: of the stream; writers ask under the stream id.
        channels: for each medium (``"ipc"``, ``"udp"``) where it is asked.
        dir: driver directory.
        ledger: its memory; None: one of its own that forgets with it.
        staging_bytes: most bytes staged; more is refused to the writer.
        refusal: why committed delivery is refused here; empty: it is not.
    """

    closes_slowly: bool = True
    part_most: int = 1  # what is not counted is handed out again when the reader dies

    def __init__(
        self,
        source: Subscriber[Any],
        *,
        name: str,
        stream_id: int,
        channels: dict[str, str],
        dir: str,
        ledger: Ledger | None = None,
        staging_bytes: int = STAGING_BYTES,
        refusal: str = "",
    ) -> None:
        self._source = source
        self.prefetch = source.prefetch
        self.in_hand = source.in_hand
        self.made_at = source.made_at
        self._pid = os.getpid()
        self._stream_id = stream_id
        self._channels = channels
        self._dir = dir
        self._title = f"stream {name!r}"
        self._refusal = refusal
        self._changed = Condition()
        self._ledger_lock = threading.RLock()
        self._bell: Bell | None = None
        self._ready: deque[Row | Any] = deque()
        self._plain = 0  # of them without a commit
        self._unsorted: list[Any] = []  # of the source, by a call that was interrupted
        self._taken: list[Row | Any] = []  # of what is ready, by a call that was interrupted
        self._out: list[Row | Any] = []  # of the last poll
        self._out_done = 0  # of them consumed
        self._errors = PlacedErrors()
        self._events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self._has_ended = self._is_woken = False
        self._demand: int | None = None
        self._services: dict[str, Service[Ask, Answer]] = {}
        self._pump: threading.Thread | None = None
        self._ledger = MemoryLedger() if ledger is None else ledger
        recalled = self._ledger.recall()
        self._position = recalled.position
        self._staging = Staging(self._title, staging_bytes, recalled.committed)
        self._unknown_told = 0  # of staging.unknown
        for position, data in recalled.rows:
            row = _row_of(position, data)
            self._staging.note_waiting(row)
            self._ready.append(row)
        self._closed = self._has_left = False
        if recalled.committed:  # a commit may be on its way to the earlier reading end
            self._start_pump([], 0, tuple(channels))

    def __repr__(self) -> str:
        return f"<rstream.Subscriber over {self._source!r}>"

    @property
    def _stream_title(self) -> str:
        return title_of(self._source)

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
        self._source.joins_in_poll = True  # the pump may block
        pump = threading.Thread(
            target=self._run_pump, args=(items[index:], media, len(items)),
            name=f"rstream-stage{self._stream_id}", daemon=True,
        )  # fmt: skip
        # In one step. A poll starts it if a signal handler comes before the next line.
        self._unsorted, self._pump = items[:index], pump
        pump.start()

    # ---- the pump's thread ----

    def _run_pump(self, items: list[Any], media: tuple[str, ...], count: int) -> None:
        self._source.consume(count)  # here: who starts it may be interrupted
        for medium in media:
            self._serve(medium)
        while not self._closed:
            try:
                self._store(items)
                items = []
                for polled in _pump.batches(
                    self._source,
                    lambda: self._closed,
                    limit=self._await_room,
                    is_ended=self._look,
                    wait_s=PUMP_WAIT_S,
                ):
                    self._store(polled)
                    self._take_events()
            except ClosedError:
                return
            except Exception as error:  # a poll of the consumer raises it; reading goes on
                with self._changed:
                    self._errors.put(error, len(self._ready))
                    self._note_change()

    def _await_room(self) -> None:
        with self._changed:
            while self._plain >= PLAIN_MAX and not self._closed:
                self._changed.wait(PUMP_WAIT_S)

    def _look(self) -> bool:
        self._take_events()
        if self._source.is_ended and not self._has_ended:
            with self._changed:
                self._has_ended = self._is_woken = True
                self._note_change()
        return False

    def _take_events(self) -> None:
        events = self._source.events()
        if not events:
            return
        with self._changed:
            self._events.extend(events)
            for event in events:
                if isinstance(event, (Lost, Unavailable)):
                    self._staging.lose_session(event.session_id)

    def _store(self, items: list[Any]) -> None:
        for item in items:
            if medium := medium_of(item):
                self._serve(medium)
                continue
            marks = marks_of(item)
            if marks is not None and marks.awaits_commit and marks.medium not in self._services:
                self._serve(marks.medium)  # its writer began with an earlier reading end
            with self._changed:
                self._has_ended = False
                if marks is not None and marks.awaits_commit:
                    self._staging.add(Row(item, marks, encoded_length(item)))
                    continue
                self._ready.append(item)
                self._plain += 1
                self._note_change()

    def _serve(self, medium: str) -> None:
        """Answer the questions of writers; it is opened by the first one."""
        if medium in self._services or medium not in self._channels:
            return
        make = serve(
            service_name(self._stream_id), Ask, channel=self._channels[medium], dir=self._dir
        )
        deadline_s = time.monotonic() + SERVE_TIMEOUT_S
        while not self._closed:
            try:
                service = make(self._answer).start()
                with self._changed:
                    if not self._closed:
                        self._services[medium] = service
                        return
                service.close()  # else it would answer for the reading end opened next
                return
            except RStreamError as error:
                is_taken = isinstance(error, RegistrationError)
                if not is_taken or time.monotonic() >= deadline_s:
                    log.warning("%s: writers cannot commit their rows: %s", self._title, error)
                    return
                time.sleep(SERVE_PAUSE_S)

    # ---- the service's thread ----

    def _answer(self, ask: Ask) -> Answer:
        if self._refusal:
            return Answer(state="refused", why=f"{self._title}: {self._refusal}")
        if ask.do == "commit":
            answer = self._commit(ask)
        else:
            with self._changed:
                answer = self._staging.answer(ask)
        with self._changed:
            unknown = self._staging.unknown[self._unknown_told :]
            self._unknown_told += len(unknown)
        for query in unknown:
            log.warning(
                "%s: query %s: this reading end knows no earlier epoch. What an earlier one had "
                "committed and not consumed is lost, and rows of this epoch that it had handed out "
                "come again, marked as may_repeat; a ledger would remember them (ledger=)",
                self._title,
                query,
            )
        return answer

    def _commit(self, ask: Ask) -> Answer:
        with self._ledger_lock:
            with self._changed:
                answer, rows = self._staging.start_commit(ask)
                may_repeat = self._staging.may_repeat(ask.query, ask.epoch)
                routed = self._staging.new_route(ask)
                for number, row in enumerate(rows, self._position + 1):
                    row.position = number
                    if may_repeat:
                        _mark_as_repeat(row)
            if answer.state != "go":
                return answer
            if routed:
                self._ledger.commit(routed, ask.epoch, [])
            self._ledger.commit(
                ask.query, ask.epoch, [(row.position, _maker(row.batch)) for row in rows]
            )
            with self._changed:
                self._position += len(rows)
                answer = self._staging.end_commit(ask, rows)
                self._ready.extend(rows)
                self._note_change()
        return answer

    # ---- the consumer's thread ----

    def poll(self, limit: int | None = None) -> list[Any]:
        return self._poll(limit, lambda: self._source.poll(limit))

    def fill(self, limit: int | None) -> None:
        self._unsorted = self.poll_held(limit)
        rest, end = iter(self._unsorted), self._base + len(self._unsorted)
        # In one step: no signal handler runs before a loop can hand them out.
        self._rest, self._rest_end, self.is_given, self._unsorted = rest, end, True, []

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
            self._source.joins_in_poll = self.joins_in_poll
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
        if self._closed:
            raise ClosedError(f"{self._stream_title}: this subscriber is closed")
        pump = self._pump
        if pump is not None and pump.ident is None:  # an interrupt came before it was started
            pump.start()
        self._count(len(self._out))
        is_due = False
        with self._changed:
            self._is_woken = False
            if not self._taken:
                is_due = self._errors.is_due
                count = min(self._errors.most(limit), len(self._ready))
                plain = sum(not isinstance(one, Row) for one in islice(self._ready, count))
                popped = map(deque[Any].popleft, repeat(self._ready, count))
                # In one step: no signal handler runs before all of it is noted.
                self._taken = [*popped]
                self._errors.gone += count
                self._plain -= plain
            self._note_change()
        if is_due:
            self._out = []
            raise self._errors.take()
        taken = self._taken[:limit]
        items = [handed_out(one.batch, one.marks) if isinstance(one, Row) else one for one in taken]
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
        rows = [one for one in done if isinstance(one, Row)]
        if rows:
            with self._ledger_lock:
                if self._closed:
                    return  # the next reading end with this ledger begins with them
                self._ledger.consume(rows[-1].position)
        with self._changed:
            for one in done:
                if isinstance(one, Row):
                    self._staging.consume(one)
                self._out_done += 1  # in one step with the line before

    def raise_demand(self, n: int) -> None:
        if self._pump is None:
            self._source.raise_demand(n)

    # ---- waiting ----

    def _note_change(self) -> None:
        """Wake everyone who waits; under the lock."""
        self._changed.notify_all()
        if self._bell is not None:
            self._bell.wake()

    def wait(self, timeout_s: float | None = None) -> bool:
        if self._pump is None:
            return self._source.wait(timeout_s)
        check_timeout(timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            while not self.is_ready():
                left_s = PUMP_WAIT_S if deadline_s is None else deadline_s - time.monotonic()
                if left_s <= 0:
                    return False
                self._changed.wait(min(left_s, PUMP_WAIT_S))
            self._is_woken = False
        return True

    @property
    def watched(self) -> Any:
        if self._pump is None:
            return self._source.watched
        if self._bell is None:
            self._bell = Bell(self._changed, self.is_ready)
        return self._bell

    def is_ready(self) -> bool:
        if self.has_rest() or self._unsorted:
            return True
        if self._pump is None:
            return self._source.is_ready()
        if self._errors.is_due:
            return True
        if self._taken or self._ready:
            return self._demand != 0 or self._closed or self._is_woken
        return bool(self._closed or self._is_woken)

    def wake(self) -> None:
        with self._changed:
            self._is_woken = True
            self._note_change()
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
            events = self._events
            taken = [*events]
            events *= 0  # no signal handler runs before the program has what it loses here
        return taken

    def statistics(self) -> dict[str, int | float | bool]:
        """As of the source; and ``staged_bytes`` and ``staged_attempts`` of now, ``unstaged``
        batches that did not count, ``repeated_epochs`` that were recognised, and
        ``unknown_queries`` of whose earlier epochs this reading end knows nothing.
        """
        statistics = self._source.statistics()
        with self._changed:
            statistics |= {
                "staged_bytes": self._staging.staged_bytes,
                "staged_attempts": self._staging.attempts,
                "unstaged": self._staging.dropped,
                "repeated_epochs": self._staging.repeated_epochs,
                "unknown_queries": len(self._staging.unknown),
            }
            if self._pump is not None:
                statistics["waiting"] = len(self._ready) + len(self._taken)
        return statistics

    @property
    def is_connected(self) -> bool:
        return self._source.is_connected

    @property
    def is_ended(self) -> bool:
        if self._pump is None:
            return self._source.is_ended and not self.has_rest() and not self._unsorted
        with self._changed:
            waits = self.has_rest() or self._taken or self._ready or self._errors
            return self._has_ended and not waits

    # ---- life ----

    def close(self) -> None:
        if self._has_left or self.forget_inherited():
            return
        with self._changed:
            self._closed = True
            services = list(self._services.values())
            self._note_change()
        for service in services:
            service.close()
        self._source.close()
        pump = self._pump
        is_mine = pump is threading.current_thread() or holds(self._changed)
        if pump is not None and pump.is_alive() and not is_mine:
            pump.join(10.0)
        with self._ledger_lock:
            self._ledger.close()
        if self._bell is not None:
            self._bell.close()
        self._has_left = True  # last: a close that was interrupted is made again


def _maker(batch: Any) -> Callable[[], bytes]:
    return lambda: to_bytes(batch)


def _row_of(position: int, data: bytes) -> Row:
    batch = from_bytes(data)
    marks: Marks | None = marks_of(batch)
    if marks is None:
        raise RStreamError(f"ledger: the rows at position {position} have no marks")
    row = Row(batch, marks, encoded_length(batch), position)
    _mark_as_repeat(row)  # the earlier reading end may have handed it out, and died with it in hand
    return row


def _mark_as_repeat(row: Row) -> None:
    row.marks = dataclasses.replace(row.marks, may_repeat=True)
    row.batch = marked(row.batch, row.marks)
