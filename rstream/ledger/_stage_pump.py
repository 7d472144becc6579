"""Stages the rows of writers that commit, and answers their questions (_reading.py)."""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from rstream._waits import Deadline
from rstream.codecs._internal import encoded_length
from rstream.errors import ClosedError, RegistrationError, RStreamError
from rstream.ledger._marks import Marks, marked, marks_of, medium_of
from rstream.ledger._messages import Answer, Ask, service_name
from rstream.ledger._rows import from_bytes, to_bytes
from rstream.ledger._staging import StagedBatch, Staging
from rstream.service import Service, serve
from rstream.stream import Lost, Unavailable
from rstream.stream._internal import EVENTS_MAX, PUMP_WAIT_S, QueueThread, pump

if TYPE_CHECKING:
    from collections.abc import Callable

    from rstream.ledger._ledger import Ledger
    from rstream.stream import StreamEvent
    from rstream.stream._internal import Reading

log = logging.getLogger("rstream")

#: Most batches of writers that know nothing of commits that wait for the consumer.
PLAIN_MAX = 64
#: How long the service waits for its place, which a reading end that died may still hold.
SERVE_TIMEOUT_S = 15.0
SERVE_PAUSE_S = 0.1


class StagePump(QueueThread):
    """Reads for a :class:`~rstream.ledger._reading.CommittedReading`, with its arguments.

    Attributes:
        ready: what the consumer may take.
        plain: how many of these came without a commit.
        events: of the source, for the consumer.
        staging: under the lock.
        ledger, ledger_lock: its memory.
        begin: what the thread begins with: messages, the media to serve, and how many messages of
            the source's last poll it counts as consumed.
    """

    def __init__(
        self,
        source: Reading[Any],
        *,
        name: str,
        stream_id: int,
        channels: dict[str, str],
        dir: str,
        ledger: Ledger,
        staging_bytes: int,
    ) -> None:
        super().__init__(source, f"rstream-stage{stream_id}")
        self._stream_id = stream_id
        self._channels = channels
        self._dir = dir
        self._title = f"stream {name!r}"
        self.ready: deque[StagedBatch | Any] = deque()
        self.plain: int = 0
        self.events: deque[StreamEvent] = deque(maxlen=EVENTS_MAX)
        self.begin: tuple[list[Any], tuple[str, ...], int] = ([], (), 0)
        self.ledger: Ledger = ledger
        self.ledger_lock: threading.RLock = threading.RLock()
        self._services: dict[str, Service[Ask, Answer]] = {}
        self._unknown_told = 0  # of staging.unknown
        recalled = ledger.recall()
        self._position = recalled.position
        self.staging: Staging = Staging(self._title, staging_bytes, recalled.committed)
        for position, data in recalled.rows:
            row = _row_of(position, data)
            self.staging.note_waiting(row)
            self.ready.append(row)
        #: Whether a commit may be on its way to the earlier reading end.
        self.is_awaited: bool = bool(recalled.committed)

    # ---- its thread ----

    def read(self) -> None:
        items, media, count = self.begin
        self.begin = [], (), 0
        self._source.consume(count)  # here: who starts it may be interrupted
        for medium in media:
            self._serve(medium)
        while not self.is_closed:
            try:
                self._store(items)
                items = []
                for polled in pump.batches(
                    self._source,
                    lambda: self.is_closed,
                    limit=self._await_room,
                    is_ended=self._look,
                    wait_s=PUMP_WAIT_S,
                ):
                    self._store(polled)
                    self._take_events()
            except ClosedError:
                return
            except Exception as error:  # a poll of the consumer raises it; reading goes on
                with self.changed:
                    self.errors.put(error, len(self.ready))
                    self.note_change()

    def _await_room(self) -> None:
        with self.changed:
            while self.plain >= PLAIN_MAX and not self.is_closed:
                self.changed.wait(PUMP_WAIT_S)

    def _look(self) -> bool:
        self._take_events()
        return self.note_ended()

    def _take_events(self) -> None:
        events = self._source.events()
        if not events:
            return
        with self.changed:
            self.events.extend(events)
            for event in events:
                if isinstance(event, (Lost, Unavailable)):
                    self.staging.lose_session(event.session_id)

    def _store(self, items: list[Any]) -> None:
        for item in items:
            if medium := medium_of(item):
                self._serve(medium)
                continue
            marks = marks_of(item)
            if marks is not None and marks.awaits_commit and marks.medium not in self._services:
                self._serve(marks.medium)  # its writer began with an earlier reading end
            with self.changed:
                self.has_ended = False
                if marks is not None and marks.awaits_commit:
                    self.staging.add(StagedBatch(item, marks, encoded_length(item)))
                    continue
                self.ready.append(item)
                self.plain += 1
                self.note_change()

    def _serve(self, medium: str) -> None:
        """Answer the questions of writers; it is opened by the first one."""
        if medium in self._services or medium not in self._channels:
            return
        make = serve(
            service_name(self._stream_id), Ask, channel=self._channels[medium], dir=self._dir
        )
        deadline = Deadline(SERVE_TIMEOUT_S)
        while not self.is_closed:
            try:
                service = make(self._answer).start()
                with self.changed:
                    if not self.is_closed:
                        self._services[medium] = service
                        return
                service.close()  # else it would answer for the reading end opened next
                return
            except RStreamError as error:
                is_taken = isinstance(error, RegistrationError)
                if not is_taken or deadline.is_over:
                    log.warning("%s: writers cannot commit their rows: %s", self._title, error)
                    return
                time.sleep(SERVE_PAUSE_S)

    # ---- the service's thread ----

    def _answer(self, ask: Ask) -> Answer:
        if ask.do == "commit":
            answer = self._commit(ask)
        else:
            with self.changed:
                answer = self.staging.answer(ask)
        with self.changed:
            unknown = self.staging.unknown[self._unknown_told :]
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
        with self.ledger_lock:
            with self.changed:
                answer, rows = self.staging.start_commit(ask)
                may_repeat = self.staging.may_repeat(ask.query, ask.epoch)
                routed = self.staging.new_route(ask)
                for number, row in enumerate(rows, self._position + 1):
                    row.position = number
                    if may_repeat:
                        _mark_as_repeat(row)
            if answer.state != "go":
                return answer
            if routed:
                self.ledger.commit(routed, ask.epoch, [])
            self.ledger.commit(
                ask.query, ask.epoch, [(row.position, _maker(row.batch)) for row in rows]
            )
            with self.changed:
                self._position += len(rows)
                answer = self.staging.end_commit(ask, rows)
                self.ready.extend(rows)
                self.note_change()
        return answer

    # ---- the end ----

    def leave(self) -> None:
        """Leave the stream: no writer gets an answer any more; again after an interrupt."""
        with self.changed:
            services = list(self._services.values())
        for service in services:
            service.close()
        self._source.close()

    def close_ledger(self) -> None:
        """Give the ledger back, when the thread has ended."""
        with self.ledger_lock:
            self.ledger.close()

    def leave_dropped(self) -> None:
        """Both, when the consumer is collected."""
        try:
            self.leave()
        finally:
            self.close_ledger()


def _maker(batch: Any) -> Callable[[], bytes]:
    return lambda: to_bytes(batch)


def _row_of(position: int, data: bytes) -> StagedBatch:
    batch = from_bytes(data)
    marks: Marks | None = marks_of(batch)
    if marks is None:
        raise RStreamError(f"ledger: the rows at position {position} have no marks")
    row = StagedBatch(batch, marks, encoded_length(batch), position)
    _mark_as_repeat(row)  # the earlier reading end may have handed it out, and died with it in hand
    return row


def _mark_as_repeat(row: StagedBatch) -> None:
    row.marks = dataclasses.replace(row.marks, may_repeat=True)
    row.batch = marked(row.batch, row.marks)
