"""Publishers that come and go, as the transport tells it: events, gaps, and publishers lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rstream._holders import process_at
from rstream._neighbours import why_refused
from rstream.errors import CodecError, CorruptError, MessageTooLarge, PublisherLost
from rstream.stream._events import EVENTS_MAX, Available, Gap, Lost, Refused, Unavailable
from rstream.stream._parts import (
    ABANDONED,
    CUT,
    ENDED,
    GIVEN_BACK,
    INVALID,
    NO_MEMORY,
    NO_SEGMENT,
    PART_LOST,
    TOO_LONG,
)
from rstream.stream._reading._peers import Left, Peer
from rstream.stream._reading._tails import Tail, tail_of

if TYPE_CHECKING:
    from rstream import _core
    from rstream.stream._reading._gaps import Gaps
    from rstream.stream._reading._input import Input
    from rstream.stream._reading._report import Report

SKIP_TEXTS = {
    TOO_LONG: "longer than max_message_length of this reader",
    NO_MEMORY: "no memory for it",
    PART_LOST: "a part of it is lost",
    ABANDONED: "its publisher gave it up",
    INVALID: "its parts contradict each other",
    ENDED: "the stream ended or was cut off before its last part",
    NO_SEGMENT: "this process cannot map it",
    CUT: "another program has cut it short, so what was read of it may be zeros",
    GIVEN_BACK: "this reader left before it was consumed",
}
SKIP_HINTS = {
    TOO_LONG: "open the reader with a larger max_message_length",
    NO_MEMORY: "give the process more memory; it holds 4 GiB of partial messages at most",
    CUT: "only publishers and the driver may change what is in the driver's directory",
    NO_SEGMENT: "let it map more memory (ulimit -v, vm.max_map_count), and open more files",
}
#: How long the refusals at a socket are taken as they were seen.
REFUSALS_KEPT_S = 0.5

_GONE = (
    "it died, was cut off from the driver or the network, or its program ended without close(): "
    "open publishers in `with`"
)


class Images:
    """Turns the transport's image events into events and errors of a report. Called while polling.

    Args:
        report: where the events and errors go.
        gaps: where overruns go.
        directory: of the driver.
    """

    def __init__(self, report: Report, gaps: Gaps[Any], directory: str = "") -> None:
        self._directory = directory
        self._report = report
        self._gaps = gaps
        # session -> where it was left, and why
        self._left: dict[int, tuple[Left, str]] = {}
        # session -> reason and time of its open gap, and whether that is its end
        self._due: dict[int, tuple[str, float, bool]] = {}
        self._tails: dict[int, Tail] = {}  # of publishers of this host
        self._refused: tuple[int, float, list[str]] = (-1, 0.0, [])  # socket, time, refusals there

    def expect(self, left_at: dict[int, Left], reason: str, due_s: float, *, is_here: bool) -> None:
        """Remember where sessions were left; the oldest ``EVENTS_MAX`` at most.

        A session that comes back gets a gap with its end, if it goes on further ahead.

        Args:
            left_at: by session id.
            reason: why it was left.
            due_s: monotonic time from which :meth:`report_missing` reports an open gap for a
                session that is not back.
            is_here: their driver lives, so a publisher that is not back by then has ended or died;
                otherwise it may come back with another session.
        """
        for session_id, left in left_at.items():
            self._remember(session_id, left, reason)
            self._due[session_id] = reason, due_s, is_here

    def has_tail(self, session_id: int) -> bool:
        """Whether it will be known how far a session got that does not come back."""
        return session_id in self._tails

    def close(self) -> None:
        """Let go of what is mapped."""
        for session_id in list(self._tails):
            self._drop_tail(session_id)

    def _drop_tail(self, session_id: int) -> None:
        if (tail := self._tails.pop(session_id, None)) is not None:
            tail.close()

    def _remember(self, session_id: int, left: Left, reason: str) -> None:
        if len(self._left) >= EVENTS_MAX and session_id not in self._left:
            oldest = next(iter(self._left))
            self._report_open_gap(oldest, is_event=True)
            del self._left[oldest]
        self._left[session_id] = left, reason

    @property
    def is_missing_some(self) -> bool:
        """Whether a session that was left is not back, and its open gap not reported."""
        return bool(self._due)

    def _on_local(self, session_id: int, registration_id: int) -> None:
        """A publisher of this host has come: what an earlier session of it has beyond what was
        handed out is lost, and is told before what the new one sends.
        """
        for earlier, (_, _, returns) in list(self._due.items()):
            tail = None if returns else self._tails.get(earlier)
            if tail is not None and tail.position() > self._left[earlier][0].position:
                self._report_open_gap(earlier)
        self._drop_tail(session_id)
        if (tail := tail_of(self._directory, registration_id)) is not None:
            self._tails[session_id] = tail

    def report_missing(self, now_s: float) -> None:
        """Report an open gap for each session that should be back by ``now_s`` (monotonic)."""
        late = [(s, ends) for s, (_, due_s, ends) in self._due.items() if due_s <= now_s]
        for session_id, has_ended in late:
            self._report_open_gap(session_id, is_event=has_ended)
            if has_ended:
                self._tell_ended_meanwhile(session_id, *self._left[session_id])

    def _tell_ended_meanwhile(self, session_id: int, left: Left, reason: str) -> None:
        """Its end was not seen, so it counts as lost: a loop would wait for it for ever."""
        self._tell_lost(
            session_id,
            left,
            what=f"has completed the stream or died while this reader was away ({reason})",
            hint="what it sent behind that position, if anything, is lost",
        )

    def _report_open_gap(self, session_id: int, *, is_event: bool = False) -> None:
        """``is_event``: nothing is raised for it, or another error is."""
        reason, _, _ = self._due.pop(session_id, ("", 0.0, False))
        if not reason:
            return
        left = self._left[session_id][0]
        tail = self._tails.get(session_id)
        end = None if tail is None else tail.position()
        self._drop_tail(session_id)
        if end is None or end > left.position:
            positions = left.position, end
            self._gaps.on_missed(left, session_id, positions, reason, is_event=is_event)

    def on_available(
        self,
        source: Input,
        session_id: int,
        position: int,
        origin: str,
        initial_term_id: int | None = None,
        registration_id: int = 0,
    ) -> None:
        """A publisher has come; this reader joined it at ``position``.

        After a time away it may join behind what it was given, or before: what it had not counted
        as consumed comes again then, and the decoder leaves that out. If the publisher has begun a
        new stream meanwhile, their positions say nothing of each other.
        """
        peer = source.peers.get(session_id)
        if origin == "aeron:ipc":
            self._on_local(session_id, registration_id)
        if peer.is_done:  # the same session once more, as after a network break
            source.peers.by_session[session_id] = peer = Peer()
        peer.source, peer.initial_term_id = origin, initial_term_id
        if origin == "aeron:ipc":
            peer.process = process_at(self._directory, registration_id)
        peer.position = max(peer.position, position)
        events = self._report.events
        event = Available(
            session_id=session_id, position=position, source=origin, process=peer.process
        )
        events.append(event)
        left, reason = self._left.get(session_id, (Left(position, None), ""))
        if left.initial_term_id not in (None, initial_term_id):
            self._report_open_gap(session_id)
        elif left.position < position:
            self._gaps.on_missed(source, session_id, (left.position, position), reason)
        elif left.position > position and left.initial_term_id is not None:
            peer.position = peer.again_until = left.position
        self._due.pop(session_id, None)
        self._left.pop(session_id, None)

    def on_overrun(self, source: Input, session_id: int, position: int, goes_on_at: int) -> None:
        """A group has left this reader behind: another image of the publisher follows."""
        peer = source.peers.get(session_id)  # it stays: the publisher has not gone
        peer.position = max(peer.position, position)
        self._gaps.on_overrun(source, session_id, position, goes_on_at)
        self._remember(session_id, Left(goes_on_at, None), "overrun")

    def on_skipped(self, event: _core.ImageEvent) -> None:
        """Messages of an unreliable stream are lost. Fewer bytes are than lie between when there
        were too many gaps to tell them apart.
        """
        self._report.gaps += 1
        self._report.skipped_bytes += event.received_position
        self._report.events.append(
            Gap(
                session_id=event.session_id,
                from_position=event.position,
                to_position=event.end_position,
                reason="lost on the way; the stream is unreliable",
            )
        )

    def on_message_skipped(self, source: Input, event: _core.ImageEvent) -> None:
        """A message in parts, or in a segment, is not handed out.

        What this reader could have had with other settings counts as a message that it cannot use;
        what is gone counts as a gap.
        """
        peer = source.peers.get(event.session_id)
        peer.is_rstream = True  # only its publishers send parts and segments
        number = event.skip_reason
        end = event.position if event.end_position is None else event.end_position
        how = " in parts" if number in (PART_LOST, ABANDONED, ENDED) else ""
        if event.segment >= 0:
            how = f" in shared segment {event.segment}"
        reason = f"a message of {event.message_length} bytes{how}: {SKIP_TEXTS[number]}"
        report = self._report
        if number not in (TOO_LONG, NO_MEMORY, INVALID, NO_SEGMENT, CUT):
            report.gaps += 1
            report.skipped_bytes += event.received_position
            report.events.append(
                Gap(
                    session_id=event.session_id,
                    from_position=event.position,
                    to_position=end,
                    reason=reason,
                )
            )
            return
        report.refused += 1
        is_first, peer.is_warned = not peer.is_warned, True
        error = {TOO_LONG: MessageTooLarge, CUT: CorruptError}.get(number, CodecError)
        place = f"{report.where(source, event.session_id)}, position {event.position}"
        report.tell(
            Refused(
                session_id=event.session_id,
                position=end,
                source=peer.source,
                reason=reason,
                process=peer.process,
            ),
            error(f"{place}: {reason}", hint=SKIP_HINTS.get(number)),
            is_first=is_first,
        )

    def on_unavailable(
        self,
        source: Input,
        session_id: int,
        position: int,
        end_position: int | None,
        received_position: int,
    ) -> None:
        """A publisher has gone; this reader had consumed up to ``position``."""
        peers = source.peers.by_session
        peer = peers.get(session_id) or Peer()
        self._tell_gone(source, session_id, peer, (position, end_position, received_position))
        peers.pop(session_id, None)  # at last: an interrupt may come before, and this call again

    def _tell_gone(
        self,
        source: Input,
        session_id: int,
        peer: Peer,
        positions: tuple[int, int | None, int],
    ) -> None:
        position, end_position, received_position = positions
        self._drop_tail(session_id)
        events = self._report.events
        events.append(
            Unavailable(
                session_id=session_id,
                position=position,
                end_position=end_position,
                is_completed=peer.is_done,
                source=peer.source,
                process=peer.process,
            )
        )
        if peer.is_done:
            return
        is_cut_off = end_position is None or position < max(end_position, received_position)
        if is_cut_off:
            known_end = received_position if end_position is None else end_position
            events.append(
                Gap(
                    session_id=session_id,
                    from_position=position,
                    to_position=known_end if known_end > position else None,
                    reason="the stream was cut off",
                )
            )
        # Of its first message perhaps only the beginning came, so no header was read. Plain Aeron
        # publishers, which end without a word, write to streams without a name.
        if peer.is_rstream or (is_cut_off and self._report.name):
            refused = self._why_refused(source.core.channel_status_id)
            self._tell_lost(
                session_id,
                Left(position, None, source.channel, peer.source, peer.process),
                what="has gone without completing the stream",
                hint="; ".join((*refused, _GONE)),
            )

    def _why_refused(self, channel_status_id: int) -> list[str]:
        """The refusals at a socket; of publishers that are lost together one look tells them."""
        known, since_s, texts = self._refused
        now_s = time.monotonic()
        if known != channel_status_id or now_s - since_s >= REFUSALS_KEPT_S:
            texts = why_refused(self._directory, (channel_status_id,))
            self._refused = channel_status_id, now_s, texts
        return texts

    def _tell_lost(self, session_id: int, left: Left, *, what: str, hint: str) -> None:
        who = f"{left.source or 'unknown'}{left.process and f' ({left.process})'}"
        text = (
            f"{self._report.where(left, session_id)} from {who}: "
            f"its publisher {what}; last position {left.position}"
        )
        self._report.tell(
            Lost(
                session_id=session_id,
                position=left.position,
                source=left.source,
                process=left.process,
            ),
            PublisherLost(
                text,
                hint=hint,
                channel=left.channel,
                stream_id=self._report.stream_id,
                session_id=session_id,
                position=left.position,
            ),
        )
