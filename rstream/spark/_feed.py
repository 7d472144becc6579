"""The reading thread of a query: from a stream into the spool.

It runs in the process that plans the query's micro-batches. It tells the publishers real demand:
while the spool is full it reads nothing, so their window closes. A message counts as consumed when
the spool has it. Should the process die between the two, the message comes again, and its position
tells that the spool has it.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from rstream.errors import CodecError, MessagesLost
from rstream.ledger._internal import to_bytes
from rstream.spark._elements import batches_of
from rstream.spark._source_options import WHO
from rstream.stream import Available, Gap, Refused, reader
from rstream.stream._internal import reading_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rstream.spark._source_options import SourceConfig
    from rstream.spark._spool import Spool
    from rstream.stream import StreamEvent
    from rstream.stream._internal import StreamReading

log = logging.getLogger("rstream")

#: Most messages of one poll. The bytes of a poll have a bound of their own (1 MiB).
POLL_MAX: Final = 4096
WAIT_S: Final = 0.2
JOIN_S: Final = 10.0
#: Seconds in which a feed that closes takes what publishers have sent, which may be closing too.
REST_S: Final = 1.0
#: Seconds in which a publisher that is there has been found.
CONNECT_S: Final = 1.0


def open_reader(config: SourceConfig, codec: str) -> StreamReading[Any]:
    """A reader whose publishers' trouble and gaps are events."""
    opened = reader(
        config.stream,
        codec=codec,
        channels=None if config.channel is None else [config.channel],
        on_lost="event",
        on_gap="resume",
        hold=True,
        limits=config.limits,
        dir=config.driver_dir,
    )
    return reading_of(opened)


class SparkFeed:
    """Reads from when it is made until :meth:`close`, or an error.

    Args:
        config: where to read.
        codec, schema: what the messages are, and what the rows shall be.
        spool: where to; its owner closes it, after the feed.
    Raises:
        RStreamError: the stream cannot be opened.
    """

    def __init__(self, config: SourceConfig, codec: str, schema: Any, spool: Spool) -> None:
        self._config, self._codec, self._schema, self._spool = config, codec, schema, spool
        self._title = f"{WHO}: stream {config.stream!r}"
        self._error: Exception | None = None
        self._passed: dict[int, int] = {}  # session -> position, to be noted with the error
        self._closed = False
        self._rest_until_s = 0.0  # of a feed that closes
        self._quiet_at_s = 0.0
        self._began_s = time.monotonic()
        if spool.failure:
            self._fail(CodecError(f"{spool.failure} (an earlier run ended before it told this)"))
        self._reader = open_reader(config, codec)
        self._thread = threading.Thread(
            target=self._run, name=f"rstream-spool-{config.stream}", daemon=True
        )
        self._thread.start()

    # ---- Spark's thread ----

    def check(self) -> None:
        """Raise what ended the feed.

        What is told this way is done with: the next run goes on behind it.

        Raises:
            MessagesLost: a gap, with ``onGap=fail``.
            CodecError: a message that cannot be used.
            RStreamError: reading, or the spool, has failed.
        """
        if self._error is not None:
            for session_id, position in self._passed.items():
                self._spool.note(session_id, position)
            self._spool.forget_failure()
            raise self._error

    def await_quiet(self, timeout_s: float) -> None:
        """Wait until what publishers have sent by now is in the spool, or it is full."""
        asked_s = time.monotonic()
        while time.monotonic() < asked_s + timeout_s and self._error is None:
            has_looked = self._quiet_at_s > asked_s
            is_alone = not self._reader.is_connected
            if self._spool.is_full or (
                has_looked and not (is_alone and time.monotonic() < self._began_s + CONNECT_S)
            ):
                return
            time.sleep(0.01)

    def close(self) -> None:
        """Take what has been sent, as far as the spool has room, and stop reading. Idempotent.

        What is not in the spool stays with the publishers.
        """
        if not self._closed:
            self._rest_until_s = time.monotonic() + REST_S
        self._closed = True
        self._spool.wake()
        self._reader.wake()
        self._thread.join(JOIN_S)
        self._reader.close()

    # ---- the reading thread ----

    def _is_stopped(self) -> bool:
        return self._closed or self._error is not None

    def _run(self) -> None:
        try:
            while not self._is_stopped():
                self._spool.await_room(self._is_stopped)
                if not self._take():
                    self._quiet_at_s = time.monotonic()
                    self._reader.wait(WAIT_S)
            while time.monotonic() < self._rest_until_s and self._error is None:
                if self._spool.is_full or not self._take():
                    break
        except Exception as error:
            if not self._closed:
                self._fail(error)

    def _take(self) -> bool:
        """Put what is there into the spool. False: no message was."""
        items = self._reader.poll_held(POLL_MAX)
        events = self._reader.taken_events()
        self._take_events(events)
        if items:
            self._store(items, self._reader.held_places())
            # Not when storing has failed: then a close gives them back.
            self._reader.consume(len(items))
        self._take_refused(events)
        return bool(items)

    def _fail(self, error: Exception) -> None:
        if self._error is None:
            text = str(error)
            text = text if text.startswith(WHO) else f"{self._title}: {text}"
            log.warning("%s; the query fails", text)
            self._error = error

    def _store(self, items: list[Any], places: list[tuple[int, int]]) -> None:
        """Put into the spool what it does not have yet."""
        known = self._spool.position
        new = [
            index
            for index, (session_id, position) in enumerate(places)
            if position > (known(session_id) or 0)
        ]
        if len(new) < len(items):
            log.info("%s: %d messages came again", self._title, len(items) - len(new))
            items, places = [items[index] for index in new], [places[index] for index in new]
        if not items:
            return
        failure: CodecError | None = None
        try:
            batches = batches_of(items, self._codec, self._schema)
        except CodecError:
            batches, failure = self._sift(items, places)
        rows = [(batch.num_rows, to_bytes(batch)) for batch in batches]
        self._spool.add(rows, dict(places), "" if failure is None else str(failure))
        if failure is not None:
            self._fail(failure)

    def _sift(
        self, items: list[Any], places: list[tuple[int, int]]
    ) -> tuple[list[Any], CodecError | None]:
        """The rows of what can be used, and the error of the first message of the rest."""
        batches: list[Any] = []
        texts: list[str] = []
        for item, (session_id, position) in zip(items, places, strict=True):
            try:
                batches += batches_of([item], self._codec, self._schema)
            except CodecError as error:
                texts.append(
                    f"{self._title}, session {session_id}, position {position}: a message is "
                    f"skipped: {error}"
                )
        for text in texts[1:]:
            log.warning("%s", text)
        if not texts:
            return batches, None
        more = f" (and {len(texts) - 1} more that came with it, each in the log)"
        return batches, CodecError(
            texts[0] + (more if len(texts) > 1 else ""),
            hint="start the query again, and it goes on behind the message",
        )

    # ---- what is told beside objects ----

    def _take_events(self, events: Sequence[StreamEvent]) -> None:
        for event in events:
            if isinstance(event, Available):
                self._on_available(event.session_id, event.position)
            elif isinstance(event, Gap):
                self._on_gap(event)

    def _take_refused(self, events: Sequence[StreamEvent]) -> None:
        """Note messages that could not be read; call it when the messages before them are stored,
        which would else count as known.
        """
        for event in events:
            if isinstance(event, Refused):
                error = CodecError(f"{WHO}: {event.reason}")
                self._spool.note(event.session_id, event.position, str(error))
                self._fail(error)

    def _on_available(self, session_id: int, position: int) -> None:
        """A publisher is there: compare where this reader joined with what the spool has."""
        had = self._spool.position(session_id)
        if had is None:
            # In the first run of a query it is a late joiner, and what was before is not its own.
            had = 0 if self._spool.is_reopened else position
        if position > had:
            reason = "sent while the query did not read"
            self._on_gap(
                Gap(session_id=session_id, from_position=had, to_position=position, reason=reason)
            )

    def _on_gap(self, gap: Gap) -> None:
        to_text = "an unknown position" if gap.to_position is None else f"{gap.to_position}"
        text = (
            f"{self._title}, session {gap.session_id}: positions {gap.from_position} to {to_text} "
            f"are lost to this query ({gap.reason})"
        )
        if gap.to_position is not None:
            self._passed[gap.session_id] = gap.to_position
        if self._config.fails_on_gap:
            error = MessagesLost(
                text,
                hint="start the query again, and it goes on behind the gap; onGap=report only logs",
            )
            error.gap = gap
            self._fail(error)
        else:
            log.warning("%s", text)
