"""What a publisher knows of its readers: who came and went, and how far they have consumed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, final

from rstream._held_by import HeldBy
from rstream._holders import holders_of, local_process, process_at, with_process
from rstream._neighbours import hint_for_publisher, last_reader, tell_last_reader
from rstream._other_drivers import tell_others
from rstream._publication import wanted_elements
from rstream.errors import RemoteError
from rstream.stream._events import Connected, Disconnected, Rejected, StreamEvent
from rstream.stream._sending._losses import Losses, Seen

if TYPE_CHECKING:
    from rstream import _core
    from rstream._facts import SlowestReader
    from rstream.stream._sending._session import SendSession

__all__ = ("CONSUMED_EVERY", "KnownReaders")

#: A publisher reads the consumed position after this many messages.
CONSUMED_EVERY: Final = 64
#: How long a reader's error over the network is an event only. A reader that is still there sends
#: a status message within 200 ms; then the error was forged, or that of another reader.
REJECTED_AFTER_NS: Final = 500_000_000


@final
class KnownReaders:
    """The readers of a publisher, as far as looks at the transport have shown.

    Attributes:
        error: with which the last reader left, until another one is there; empty: without.
        losses: events, gaps, and the position up to which they have consumed.
    """

    def __init__(self, session: SendSession, losses: Losses) -> None:
        self._session = session
        self.losses = losses
        self.error = ""
        self._error_ns = 0
        self._is_failure_told = False  # it was raised
        self._untold: list[_core.ReceiverError] = []  # until they are events

    # ---- looking ----

    def note_sent(self) -> None:
        """Look at the readers now and then, after something was sent and counted."""
        state = self._session.state
        if not state.was_connected:
            self.look()
        if state.sent >= state.look_again:
            state.look_again = state.sent + CONSUMED_EVERY
            self.note_consumed()

    def note_consumed(self) -> None:
        """Look at the readers, and how far they have consumed."""
        consumed = self._session.core.consumed_position
        # A new reader's position hides what the last one missed. The look reports that first.
        self.look()
        if consumed > self.losses.consumed:
            self.losses.consumed = consumed

    def look(self) -> None:
        """Note whether a first reader connected, the last one disconnected, or one left with an
        error.

        What it found is noted in one step: a look that a signal handler ends is made again.
        """
        self._note_rejections()
        session, state = self._session, self._session.state
        core, is_connected = session.core, session.core.is_connected
        was_connected = state.was_connected
        if not session.link.is_alive:
            return
        count, left, joined, sent = core.left
        if count == 0:
            left = joined = -1  # not known
        missed = 0 if is_connected and joined < 0 else count - session.left_count
        if missed == 0 and is_connected == was_connected:
            if not is_connected:
                state.before = -1
            return
        session_id, reached, consumed = core.session_id, state.reached, self.losses.consumed
        news: list[StreamEvent] = []
        # When several readers left, what the earlier ones missed is not told. In shared memory each
        # began where one stopped.
        if missed > 1 and not core.is_ipc:
            left = consumed
        if missed and is_connected and was_connected:
            was_connected = False
            consumed = max(consumed, left)
            news = [self._disconnected(consumed, count)]
        gap_to, why = 0, ""
        if is_connected and not was_connected:
            # Data sent since the last look reached no reader. The new reader acknowledges from its
            # first position on.
            reached = reached if state.before < 0 else state.before
            process, source = self._first_reader()
            news += (
                Connected(session_id=session_id, position=reached, process=process, source=source),
            )
            gap_to = min(reached, core.consumed_position if joined < 0 else joined)
            why = "sent while no reader was there"
        elif was_connected and not is_connected:
            consumed = max(consumed, core.consumed_position if left < 0 else left)
            news += (self._disconnected(consumed, count),)
            # In shared memory the next reader begins where the last one stopped. On the network it
            # begins after all data that was sent. A publication that is unconnected for another
            # reason (a group that is too small, an Aeron driver) tells that with its limit. In a
            # group this is the position of the slowest reader; others may have read on.
            is_told = count > session.left_count and sent >= 0
            gap_to = min(reached, sent if is_told else core.position_limit)
            why = f"no reader left, the slowest one stopped at {consumed}"
        seen = Seen(news, consumed, is_connected, session.left_count + missed)
        self.losses.report(session_id, 0 if core.is_ipc else gap_to, why, seen)

    def _first_reader(self) -> tuple[str, str]:
        """The process of a reader in shared memory, or the address of a receiver."""
        number, directory = self._session.core.registration_id, self._session.link.directory
        if self._session.core.is_ipc:
            return process_at(directory, number, is_reader=True), ""
        readers = [one for one in holders_of(directory) if one.publication_id == number]
        return "", next((one.source for one in readers if not one.is_local), "")

    def _who_left(self, count: int) -> tuple[str, str]:
        """Likewise, of the one that left as the ``count``-th."""
        core = self._session.core
        who = core.left_who
        if who.times != count:
            return "", ""
        return (local_process(who.name, who.pid), "") if core.is_ipc else ("", who.name)

    def _disconnected(self, consumed: int, count: int) -> Disconnected:
        process, source = self._who_left(count)
        return Disconnected(
            session_id=self._session.core.session_id,
            position=self._session.state.reached,
            consumed_position=consumed,
            process=process,
            source=source,
        )

    def _note_rejections(self) -> None:
        session = self._session
        self._untold += [*iter(session.core.next_error, None)]  # taken and kept in one step
        while self._untold:
            told = self._untold[0]
            source, process, reason = told.source, "", told.text
            if session.core.is_ipc:
                source, (process, _) = "", self._who_left(session.core.left.times)
            event = Rejected(
                session_id=told.session_id, source=source, reason=reason, process=process
            )
            self._error_ns = time.monotonic_ns()
            self._untold = self._untold[1:]
            self.losses.events += (event,)
            self.error, self._is_failure_told = reason, False
            session.logs.log(
                "%s: a reader left with an error: %s", session.settings.where(), reason
            )
        # The driver takes a reader off before it tells the error. So whoever is connected now is
        # another reader.
        if session.core.is_connected:
            self.error = ""

    # ---- readers that fail ----

    def check_accepted(self) -> None:
        """Raise the error with which the last reader left, until another reader is there.

        Raises:
            RemoteError: the text is the reader's. Over UDP half a second later.
        """
        self.look()
        age_ns = time.monotonic_ns() - self._error_ns
        if self.error and (self._session.core.is_ipc or age_ns >= REJECTED_AFTER_NS):
            raise self._remote_error()

    def failure(self, data_end: int) -> RemoteError | None:
        """The error with which the last reader left before it had consumed all data; else None."""
        is_told = not self.error or self._is_failure_told
        return None if is_told or not self.is_unread(data_end) else self._remote_error()

    def is_unread(self, data_end: int) -> bool:
        """Whether the last reader left before it had consumed all data."""
        left = self._session.core.left
        is_known = left.times > 0 and left.consumed >= 0
        return (left.consumed if is_known else self.losses.consumed) < data_end

    def _remote_error(self) -> RemoteError:
        self._is_failure_told = True
        return RemoteError(
            f"{self._session.settings.where()}: its reader has failed: {self.error}",
            hint="look at the reader; what was sent and not consumed is lost",
            **self._session.place(),
        )

    # ---- readers that hold it ----

    def slowest(self, *, is_report: bool = False) -> SlowestReader | None:
        """The slowest reader, or the one whose report the rate follows."""
        core, directory = self._session.core, self._session.link.directory
        found = [
            reader
            for reader in holders_of(directory)
            if reader.publication_id == core.registration_id and reader.is_report == is_report
        ]
        reader = min(found, key=lambda reader: reader.position, default=None)
        if reader is None:
            return None
        return with_process(reader, directory, self._session.settings.stream_id, core.session_id)

    def held_by(self) -> HeldBy:
        """What about the readers holds a send back; reads their demand."""
        core = self._session.core
        wanted = wanted_elements(self._session.link.directory, core.registration_id)
        return HeldBy.from_core(core.held_by, wanted)

    # ---- no readers ----

    @property
    def waits_for_ever(self) -> bool:
        """Whether it waits without a limit for a reader, which gets what none has consumed yet."""
        return self._session.settings.connect_timeout_s is None and self._session.core.is_ipc

    def may_come(self) -> bool | None:
        """Whether it is worth while to wait for a reader at the end; None: not known yet."""
        settings = self._session.settings
        return (self.waits_for_ever and not settings.why_gone()) or settings.is_coming()

    def say_alone(self, how_long: str) -> None:
        """Log that the publisher waits for a subscriber."""
        session, count = self._session, self._session.settings.wait_for
        if not session.logs.may_notice:
            return
        session.logs.log(
            "%s: waits for %s, %s%s; `rstream stat` shows the readers that are there",
            session.settings.where(),
            "a subscriber" if count == 1 else f"{count} subscribers",
            how_long,
            self.why_alone(),
        )

    def why_alone(self) -> str:
        """When and with what error the last reader left; and the reader that it may mean, if one
        waits here under another name; and the other drivers of this host.
        """
        settings, directory = self._session.settings, self._session.link.directory
        left_ms, why, who = last_reader(directory, self._session.core.registration_id)
        if why and self.error.startswith(why):
            why = self.error  # the log holds its beginning
        left = tell_last_reader(left_ms, why, who)
        if self.error and self.error not in left:
            left = left or f"the last one: {self.error}"
        address = settings.name, settings.channel, settings.stream_id
        hint = hint_for_publisher(directory, *address) if settings.name else ""
        refused = self.losses.refused.told(self.losses.refusals())
        texts = *refused, left, hint, tell_others(directory)
        return "".join(f"; {text}" for text in texts if text)
